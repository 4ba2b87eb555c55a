"""Questions of several kinds, with the evidence that the search found and whether an answer would be wrong.

For ``drift``. Everything is measured once by the application itself: a knowledge base is added, the questions are
evaluated, and the promise's own code judges them. The figures are kept in a file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.own_words import misspell
from chatbot_mvp.app import App, build_app
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.wings.promise.service import Promises

ARTICLES = ("Oxígeno", "Varsovia", "Dinastía Yuan", "Sistema inmune", "Parlamento escocés", "Guerra franco-india")
"""Articles of ``squad_es`` that are the documents. Each has questions that it does not answer."""
OTHERS = ("Kenia", "Nikola Tesla", "Cloroplasto")
"""Articles whose questions are about something else."""
COUNTS = {"answerable": 500, "almost": 250, "far": 200}
KINDS = {"answerable": "answerable", "almost": "near", "far": "far"}
ENGLISH = 150
"""Number of questions of ``hotpotqa``."""


@dataclass(frozen=True)
class Pool:
    """Questions of one kind."""

    evidence: npt.NDArray[np.float64]
    """Evidence score of each question, 0-1."""
    wrong: npt.NDArray[np.bool_]
    """Whether an answer to it would be wrong."""
    kinds: tuple[str, ...]


def pools(shared: Path, folder: Path) -> dict[str, Pool]:
    """Return name -> questions; measure them if ``folder`` does not have the figures yet.

    answerable, far: about the articles, and about other ones. near, removed: answerable ones after their paragraph was
    taken out, one half each. almost: written so that a paragraph seems to answer. misspelt: answerable ones with two
    words misspelt. outdated: answerable ones whose answer is no longer true, although the paragraph still says so. own
    words: about two manuals, by people who had not read them. english: about Wikipedia articles, each needing two.

    Args:
        shared: folder with ``squad_es``, ``manuales_es`` and ``hotpotqa``.
    """
    file = folder / "pools.json"
    if not file.is_file():
        file.write_text(json.dumps(dict(_measured(shared, folder))), "utf-8")
    read: Mapping[str, list[list[Any]]] = json.loads(file.read_text("utf-8"))
    found = {name: _pool(rows) for name, rows in read.items() if name != "removed"}
    asked = found["answerable"]
    return {
        **found,
        "near": _pool(read["removed"][::2]),
        "removed": _pool(read["removed"][1::2]),
        "outdated": Pool(asked.evidence, np.ones_like(asked.wrong), asked.kinds),
    }


def _pool(rows: Sequence[Sequence[Any]]) -> Pool:
    evidence, wrong, kinds = zip(*rows, strict=True)
    return Pool(np.array(evidence, float), np.array(wrong, bool), kinds)


def _measured(shared: Path, folder: Path) -> Iterator[tuple[str, list[tuple[float, bool, str]]]]:
    rows = [json.loads(line) for line in (shared / "squad_es" / "questions.jsonl").read_text("utf-8").splitlines()]
    contexts = list(dict.fromkeys((row["article"], row["context"]) for row in rows if row["article"] in ARTICLES))
    rng = random.Random(0)
    rng.shuffle(rows)
    chosen: dict[str, list[KbQuestion]] = {}
    wanted: Mapping[str, Callable[[dict[str, Any]], bool]] = {
        "answerable": lambda row: row["article"] in ARTICLES and not row["is_impossible"],
        "almost": lambda row: row["article"] in ARTICLES and row["is_impossible"],
        "far": lambda row: row["article"] in OTHERS,
    }
    for kind, wants in wanted.items():
        of_kind = islice((row for row in rows if wants(row)), COUNTS[kind])
        chosen[kind] = [
            KbQuestion(row["id"], row["question"], KINDS[kind], row["context"] if kind == "answerable" else None)
            for row in of_kind
        ]
    app = build_app(load_settings(data_dir=folder / "data", vector_store="exact", provider="demo"))
    asked = chosen["answerable"]
    chosen["misspelt"] = [replace(one, question=misspell(misspell(one.question, rng), rng)) for one in asked]
    text = _text(contexts)
    for name, questions in chosen.items():
        yield name, _judged(app, "articles.md", text, questions, folder)
    gone = set(rng.sample([context for _, context in contexts], len(contexts) // 2))
    text = _text(pair for pair in contexts if pair[1] not in gone)
    lost = [KbQuestion(one.question_id, one.question, "near") for one in asked if one.paragraph in gone]
    yield "removed", _judged(app, "shorter.md", text, lost, folder)
    manuals = shared / "manuales_es"
    own = []
    for name in ("aptitude", "debian_reference"):
        lines = (manuals / f"{name}.questions.jsonl").read_text("utf-8").splitlines()
        read = [
            KbQuestion(row["id"], row["question"], row["kind"], row.get("paragraph")) for row in map(json.loads, lines)
        ]
        own += _judged(app, f"{name}.md", (manuals / f"{name}.md").read_text("utf-8"), read, folder)
    yield "own words", own
    yield "english", _judged(app, "english.md", *_english(shared / "hotpotqa"), folder)


def _text(contexts: Iterable[tuple[str, str]]) -> str:
    """Return the contexts as a text with a heading for each article."""
    parts, last = [], ""
    for article, context in contexts:
        parts += [f"# {article}"] if article != last else []
        parts.append(context)
        last = article
    return "\n\n".join(parts) + "\n"


def _english(folder: Path) -> tuple[str, list[KbQuestion]]:
    """Return a text of the passages that answer, and the questions. The first passage named is the expected one."""
    texts = {row["doc_id"]: row for row in pq.read_table(folder / "corpus.parquet").to_pylist()}
    gold: dict[str, list[str]] = {}
    for row in pq.read_table(folder / "qrels.parquet").to_pylist():
        gold.setdefault(row["query_id"], []).append(row["doc_id"])
    queries = [row for row in pq.read_table(folder / "queries.parquet").to_pylist() if row["answer_type"] != "label"]
    asked = []
    for row in queries[:ENGLISH]:
        holds = [each for each in gold[row["query_id"]] if row["answer"].lower() in texts[each]["text"].lower()]
        if holds:
            asked.append(KbQuestion(row["query_id"], row["text"], "answerable", texts[holds[0]]["text"]))
    named = list(dict.fromkeys(each for documents in gold.values() for each in documents))
    return "\n\n".join(f"# {texts[each]['title']}\n\n{texts[each]['text']}" for each in named), asked


def _judged(
    app: App, name: str, text: str, questions: Sequence[KbQuestion], folder: Path
) -> list[tuple[float, bool, str]]:
    kb_id = app.kbs.add(name, text.encode()).kb_id
    file = folder / "questions.jsonl"
    file.write_text("".join(one.as_line() + "\n" for one in questions), "utf-8")
    run = app.kb_evaluation.evaluate(kb_id, file)
    result = app.kb_evaluation.result(kb_id, run["run_id"])
    judged = app.get(Promises).judged(result, result.rows)
    return [(one.evidence, one.wrong, one.question.kind or "") for one in judged]
