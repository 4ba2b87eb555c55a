"""Measure what questions that a model writes for passages add to CONTEXTUAL_HYBRID (RETRIEVAL_CONTEXT_QUESTIONS).

python -m benchmarks passage_questions [--keep FOLDER]

The model is scripted: it replies with the questions of ``passage_questions.jsonl``, 2 to 5 for each passage of the
documents of ``own_words.jsonl``. They were written from the passages alone, with the prompt of the application. The
model writes no contexts, so that without questions the strategy ranks as HYBRID.

The first table counts which questions the filter keeps: those of the passage itself, those of another passage of the
same document, and those of other documents in the same language. The second one has the share of the questions of
``own_words.jsonl`` whose passage is the first, or among the first three. The third one has the questions of people in
the question sets of these documents: how many find their passage, and which share of each kind strict mode accepts.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence

from benchmarks.kb_measure import evaluate_kb
from benchmarks.own_words import SHARES, Row, load_rows, rank_of, shares
from benchmarks.script import ROOT, SAMPLES, add_keep, data_folder, head, parser, row
from chatbot_mvp.app import App, build_app
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.indexes import questions
from chatbot_mvp.retrieval.indexes.questions import found_within, question_prompts
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Chunk, Document, last

MOST = 5
LIMITS = (1, 2, 3, 5, 10)
SAMPLE = SAMPLES / "kb" / "preguntas.jsonl"
WRONG = 100
"""Questions of other documents that are tried on each document at most."""


def load_written() -> dict[str, dict[str, list[str]]]:
    """Return document -> section -> the questions of its passage."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for line in (ROOT / "benchmarks" / "passage_questions.jsonl").read_text("utf-8").splitlines():
        read = json.loads(line)
        found[read["kb"]][read["section"]] = read["questions"]
    return found


class Base:
    """A knowledge base and the scripted model that writes questions for its passages."""

    def __init__(self, app: App, kb: str, written: dict[str, list[str]]) -> None:
        file = ROOT / kb
        record = app.kbs.add(file.name, file.read_bytes())
        self._app = app
        self.kb_id, self.language = record.kb_id, record.language
        self.min_evidence = app.settings.kb_min_evidence
        self.document: Document = app.kbs.document(record.kb_id)
        self.chunks: list[Chunk] = list(app.kbs.chunks(record.kb_id))
        self.written = [written[chunk.section] for chunk in self.chunks]

    def pipeline(self, count: int) -> Pipeline:
        """Build the pipeline with up to ``count`` questions for each passage; none for 0."""
        prompts = question_prompts(self.chunks, self.language, count)
        replies = {prompt: "\n".join(asked) for prompt, asked in zip(prompts, self.written, strict=True)}
        # Other questions are another model, because --keep also keeps the cache of replies.
        name = f"scripted/{hashlib.sha256(json.dumps(self.written).encode()).hexdigest()[:8]}"
        model = LanguageModel(name, lambda prompt: replies.get(prompt, ""))
        settings = self._app.settings.with_changes(retrieval_context_questions=count)
        levels = growing_pipeline(
            self.chunks,
            self.language,
            settings,
            lambda: self._app.embedders.of(settings),
            kb_id=self.kb_id,
            language_model=model,
        )
        return last(levels)


def print_filter(bases: dict[str, Base]) -> None:
    """Print the share of right and wrong questions that each limit of the filter keeps."""
    print(head(["document", "passages", "limit", *(f"own / same / other at {k}" for k in LIMITS)]))
    for kb, base in bases.items():
        rng, rows = random.Random(0), range(len(base.chunks))
        find = base.pipeline(0).found
        own = [(at, question) for at, asked in enumerate(base.written) for question in asked]
        same = [(rng.choice([other for other in rows if other != at]), question) for at, question in own]
        others = [other for name, other in bases.items() if name != kb and other.language == base.language]
        foreign = [question for other in others for asked in other.written for question in asked]
        foreign = rng.sample(foreign, min(WRONG, len(foreign)))
        ranks = [_ranks(base, find, pairs) for pairs in (own, same, [(rng.choice(rows), q) for q in foreign])]
        cells = [" / ".join(f"{sum(r <= k for r in found) / len(found):.2f}" for found in ranks) for k in LIMITS]
        print(row([kb, len(rows), found_within(len(rows)), *cells]), flush=True)


def _ranks(base: Base, find: questions.Find, pairs: Sequence[tuple[int, str]]) -> list[float]:
    """Return for each (row of a passage, question) the passage's rank from 1; infinity if it is not found."""
    found = find([question for _, question in pairs])
    ranks = []
    for (at, _), hits in zip(pairs, found, strict=True):
        chunk = base.chunks[at]
        places = (rank for rank, hit in enumerate(hits, 1) if hit.start <= chunk.start and chunk.end <= hit.end)
        ranks.append(next(places, float("inf")))
    return ranks


def print_found(bases: dict[str, Base], rows: Sequence[Row]) -> None:
    """Print how many questions of people find their passage, without and with questions of a model."""
    print("\n" + head(["questions per passage", "written", "kept", "kind", *SHARES], 4))
    ranks: dict[int, dict[Row, int | None]] = {}
    for count in (0, MOST):
        pipelines = {kb: base.pipeline(count) for kb, base in bases.items()}
        counts: Counter[str] = Counter()
        for pipeline in pipelines.values():
            if (told := pipeline.index.questions) is not None:
                counts.update(written=told.written, kept=told.kept)
        ranks[count] = {one: rank_of(one, pipelines[one.kb], bases[one.kb].document) for one in rows}
        for kind in ("typo", "synonym"):
            of_kind = {one: rank for one, rank in ranks[count].items() if one.kind == kind}
            print(row([count, counts["written"], counts["kept"], kind, *shares(of_kind)]), flush=True)
    for one in rows:
        before, after = (ranks[count][one] for count in (0, MOST))
        if before != after:
            print(f"{one.id} {one.half} {one.question!r}: {before} -> {after}")


def print_sets(bases: dict[str, Base]) -> None:
    """Print the figures of the question sets, without and with questions of a model."""
    print("\n" + head(["questions", "per passage", "scored", "hit@1", "hit@3", "accepted"]))
    for kb, base in bases.items():
        path = SAMPLE if kb.startswith("data/") else (ROOT / kb).with_suffix(".jsonl")
        asked = load_questions(path) if path.is_file() else []
        for count in (0, MOST) if asked else ():
            found = evaluate_kb(base.pipeline(count), base.document, asked, base.min_evidence)
            accepted = ", ".join(f"{kind} {share:.2f}" for kind, share in found["accepted"].items())
            hits = (f"{found[name]:.2f}" for name in ("hit@1", "hit@3"))
            print(row([path.name, count, found["scored"], *hits, accepted]), flush=True)


def main() -> None:
    options = parser(__doc__)
    add_keep(options)
    arguments = options.parse_args()
    with data_folder(arguments.keep) as folder:
        app = build_app(load_settings(data_dir=folder, retrieval_strategy="CONTEXTUAL_HYBRID"))
        written = load_written()
        bases = {kb: Base(app, kb, written[kb]) for kb in written}
        print_filter(bases)
        print_found(bases, load_rows())
        print_sets(bases)
