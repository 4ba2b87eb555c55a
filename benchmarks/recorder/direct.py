"""Small functions called with made input, whose values no ranking, answer or page shows to the digit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from benchmarks.recorder.facts import JSON, Fact, Place
from benchmarks.recorder.folder import digest, files_with
from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.verification import verify
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.datasets.row_files import read_judgements, read_text
from chatbot_mvp.datasets.sampling import sample
from chatbot_mvp.knowledge_base.gathering import given_contents
from chatbot_mvp.knowledge_base.purged_text import PurgedText
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import Fusion
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Document

_WORDS = """almendro barandilla cerezo dalia escudo farola granero helecho iglesia jarrón kilómetro limonero molino
naranjo orilla puente quinta ribera sendero tejado""".split()
_MILL = "un molino de agua"
_CACHE = "of_the_recorder.sqlite"


def facts(place: Place) -> Iterator[Fact]:
    app = build_app(load_settings(data_dir=place.work / "data", retrieval_strategy="LEXICAL", provider="demo"))
    yield Fact("direct/shares", [Share(*of).interval for of in ((0, 1), (0, 40), (3, 5), (1, 9), (95, 100), (7, 7))])
    yield Fact("direct/fusion", dict(_fused(app.settings)))
    yield Fact("direct/support by shared words", _supported())
    yield Fact("direct/samples", _samples(app.settings))
    yield Fact("direct/files of judgements", _judgements(place.work))
    yield Fact("direct/purged text", _purged_text())
    yield Fact("direct/purge", _purge(app, app.settings.data_dir))
    yield Fact("direct/questions that name a heading", _headings(app))


def _fused(settings: Settings) -> Iterator[tuple[str, JSON]]:
    """Two rankings of four passages, merged by rank and by score."""
    hits = [Hit(Chunk(f"c{at}", "d", "", word, 0, len(word)), 4.0 - at) for at, word in enumerate(_WORDS[:4])]
    lists = {"bm25": (hits[0], hits[1], hits[3]), "vector": (hits[2], hits[1], hits[0])}
    trace = RetrievalTrace("¿Dónde está el almendro?", candidates=lists)
    for how in ("rrf", "weighted"):
        config = settings.with_changes(retrieval_fusion=how, retrieval_bm25_weight=0.7)
        found, notes = Fusion(cast(CorpusIndex, None), config).apply(trace)
        yield how, [[[hit.chunk.chunk_id, hit.score, dict(hit.signals)] for hit in found.hits], notes]


def _supported() -> list[JSON]:
    """A sentence of twenty words of which the passage has none, one, two and so on to all."""
    text = f"Se ven {' '.join(_WORDS)}."
    passages = [" ".join([*_WORDS[:have], *("otra cosa" for _ in _WORDS[have:])]) for have in range(len(_WORDS) + 1)]
    found = []
    for passage in passages:
        [one] = verify(text, [Chunk("c", "c", "", passage, 0, len(passage))], Analyzer("es"), lambda term: 1.0)
        found.append([one.score, one.supported])
    return found


def _samples(settings: Settings) -> JSON:
    documents = tuple(Document(f"d{at}", word, f"{word} y {word}") for at, word in enumerate(_WORDS))
    queries = tuple(Query(f"q{at}", f"¿{word}?") for at, word in enumerate(_WORDS))
    judged = {query.query_id: {f"d{at}": at % 3} for at, query in enumerate(queries)}
    dataset = Dataset("made", documents, queries, judged, "0")
    found: list[JSON] = []
    changes: tuple[dict[str, Any], ...] = (
        {"dev_mode": True, "dev_queries": 5, "dev_corpus_size": 9},
        {"dev_mode": True, "dev_queries": 5, "dev_corpus_size": 9, "corpus_shuffle_seed": 7},
        {"eval_max_queries": 3, "eval_max_corpus": 6},
    )
    for change in changes:
        cut = sample(dataset, settings.with_changes(**change))
        ids = [[one.query_id for one in cut.dataset.queries], [one.doc_id for one in cut.dataset.documents]]
        counts = [cut.gold, cut.gold_lost, cut.unscored, cut.unjudged, cut.corpus_slice]
        found.append([*ids, counts, cut.dataset.sha256])
    return found


def _judgements(work: Path) -> JSON:
    """Judgements in each format, with the ends of lines of Windows."""
    files = {
        "q.trec": "q1 0 d1 2\r\nq1 Q0 d2 0\r\nq2 0 d3 1\r\n",
        "q.tsv": "query-id\tcorpus-id\tscore\r\nq1\td1\t2\r\nq2\td3\t1\r\n",
        "q.jsonl": '{"query-id": "q1", "corpus-id": "d1", "score": 2}\r\n',
        "q.json": '{"q1": {"d1": 2, "d2": 0}}\r\n',
    }
    found = {}
    for name, text in files.items():
        path = work / name
        path.write_bytes(text.encode())
        found[name] = [list(read_judgements(path)), digest(read_text(path))]
    return found


def _purged_text() -> JSON:
    """What is recognised of a purged text that is quoted in one to sixteen words, named, or shared with another."""
    text = PurgedText([" ".join(_WORDS)], [f"Otra cosa: {' '.join(_WORDS[:6])}."], ["v/actas-2031.md"], ["b.md"], "[…]")
    told = [f"Dijo: {' '.join(_WORDS[2 : 2 + length])} y nada más." for length in range(1, 17)]
    told += ["Está en v/actas-2031.md y en b.md.", "Las actas-2031 dicen almendro.", " ".join(_WORDS[:6])]
    return [[text.quoted_in(one), text.named_in(one), text.without(one)] for one in told]


def _purge(app: App, data: Path) -> JSON:
    """A purge of a document that a cache quotes: the report, and which files still have its words."""
    files = {
        "valle.md": f"# Valle\n\nEl valle tiene {_MILL}.\n",
        "actas.md": f"# Actas\n\n{' '.join(_WORDS)}.\n",
    }
    given = given_contents([(path, text.encode()) for path, text in files.items()])
    record = app.kb_filing.create("Purga", given).record
    app.answering.ask(record.kb_id, "¿Qué tiene el valle?")
    cache = app.settings.cache_dir / _CACHE
    cache.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(cache)) as rows, rows:
        rows.execute("CREATE TABLE answers (question TEXT PRIMARY KEY, answer TEXT)")
        rows.executemany("INSERT INTO answers VALUES (?, ?)", [("a", " ".join(_WORDS[3:12])), ("b", _MILL)])
    report = app.kb_changes.purge(record.kb_id, ["actas.md"])
    with closing(sqlite3.connect(cache)) as rows:
        left = rows.execute("SELECT question FROM answers").fetchall()
    where = files_with(data, ["farola granero helecho", _MILL])
    return [report.versions, report.files, report.cached, left, {word: len(paths) for word, paths in where.items()}]


def _headings(app: App) -> JSON:
    [record] = app.kbs.records()
    asked = ("¿Qué hay sobre el valle?", "¿Qué dice del valle?", "valle", "¿Qué hay sobre los montes?")
    answers = [app.answering.ask(record.kb_id, question) for question in asked]
    return [[one.outcome, one.decision.evidence] for one in answers]
