"""Measure what questions that a model writes for passages add to CONTEXTUAL_HYBRID (RETRIEVAL_CONTEXT_QUESTIONS).

python benchmarks/passage_questions.py [--keep FOLDER]
  --keep FOLDER: keep knowledge bases and vectors there, so that the next call does not embed them again

The model is scripted: it replies with the questions of ``passage_questions.jsonl``, 2 to 5 for each passage of the
documents of ``own_words.jsonl``. They were written from the passages alone, with the prompt of the application. The
model writes no contexts, so that without questions the strategy ranks as HYBRID.

The first table counts which questions the filter keeps: those of the passage itself, those of another passage of the
same document, and those of other documents in the same language. The second one has the share of the questions of
``own_words.jsonl`` whose passage is the first, or among the first three. The third one has the questions of people in
the question sets of these documents: how many find their passage, and which share of each kind strict mode accepts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from kb_measure import evaluate_kb
from own_words import HERE, Row, load_rows, rank_of

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
SAMPLE = HERE.parent / "data" / "samples" / "kb" / "preguntas.jsonl"
WRONG = 100
"""Questions of other documents that are tried on each document at most."""


def load_written() -> dict[str, dict[str, list[str]]]:
    """Return document -> section -> the questions of its passage."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for line in (HERE / "passage_questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        found[row["kb"]][row["section"]] = row["questions"]
    return found


class Base:
    """A knowledge base and the scripted model that writes questions for its passages."""

    def __init__(self, app: App, kb: str, written: dict[str, list[str]]) -> None:
        file = HERE.parent / kb
        record = app.kbs.add(file.name, file.read_bytes())
        self._app = app
        self.kb_id, self.language = record.kb_id, record.language
        self.min_evidence = app.settings.kb_min_evidence
        self.document: Document = app.kbs.document(record.kb_id)
        self.chunks: list[Chunk] = app.kbs.chunks(record.kb_id)
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
    print("| document | passages | limit | " + " | ".join(f"own / same / other at {k}" for k in LIMITS) + " |")
    print("|---|--:|--:|" + "---|" * len(LIMITS))
    for kb, base in bases.items():
        rng, rows = random.Random(0), range(len(base.chunks))
        find = base.pipeline(0).found
        own = [(row, question) for row, asked in enumerate(base.written) for question in asked]
        same = [(rng.choice([other for other in rows if other != row]), question) for row, question in own]
        others = [other for name, other in bases.items() if name != kb and other.language == base.language]
        foreign = [question for other in others for asked in other.written for question in asked]
        foreign = rng.sample(foreign, min(WRONG, len(foreign)))
        ranks = [_ranks(base, find, pairs) for pairs in (own, same, [(rng.choice(rows), q) for q in foreign])]
        cells = [" / ".join(f"{sum(r <= k for r in found) / len(found):.2f}" for found in ranks) for k in LIMITS]
        print(f"| {kb} | {len(rows)} | {found_within(len(rows))} | " + " | ".join(cells) + " |", flush=True)


def _ranks(base: Base, find: questions.Find, pairs: Sequence[tuple[int, str]]) -> list[float]:
    """Return for each (row of a passage, question) the passage's rank from 1; infinity if it is not found."""
    found = find([question for _, question in pairs])
    ranks = []
    for (row, _), hits in zip(pairs, found, strict=True):
        chunk = base.chunks[row]
        places = (rank for rank, hit in enumerate(hits, 1) if hit.start <= chunk.start and chunk.end <= hit.end)
        ranks.append(next(places, float("inf")))
    return ranks


def print_found(bases: dict[str, Base], rows: Sequence[Row]) -> None:
    """Print how many questions of people find their passage, without and with questions of a model."""
    print("\n| questions per passage | written | kept | kind | dev hit@1 | dev hit@3 | test hit@1 | test hit@3 |")
    print("|--:|--:|--:|---|--:|--:|--:|--:|")
    ranks: dict[int, dict[str, int]] = {}
    for count in (0, MOST):
        pipelines = {kb: base.pipeline(count) for kb, base in bases.items()}
        counts: Counter[str] = Counter()
        for pipeline in pipelines.values():
            if (told := pipeline.index.questions) is not None:
                counts.update(written=told.written, kept=told.kept)
        ranks[count] = {row.id: rank_of(row, pipelines[row.kb], bases[row.kb].document) or 99 for row in rows}
        for kind in ("typo", "synonym"):
            cells = []
            for half in ("dev", "test"):
                found = [ranks[count][row.id] for row in rows if (row.kind, row.half) == (kind, half)]
                cells += [f"{sum(rank <= k for rank in found) / len(found):.2f}" for k in (1, 3)]
            shown = f"| {count} | {counts['written']} | {counts['kept']} | {kind} | "
            print(shown + " | ".join(cells) + " |", flush=True)
    for row in rows:
        before, after = (ranks[count][row.id] for count in (0, MOST))
        if before != after:
            print(f"{row.id} {row.half} {row.question!r}: {before} -> {after}")


def print_sets(bases: dict[str, Base]) -> None:
    """Print the figures of the question sets, without and with questions of a model."""
    print("\n| questions | per passage | scored | hit@1 | hit@3 | accepted |")
    print("|---|--:|--:|--:|--:|---|")
    for kb, base in bases.items():
        path = SAMPLE if kb.startswith("data/") else (HERE.parent / kb).with_suffix(".jsonl")
        asked = load_questions(path) if path.is_file() else []
        for count in (0, MOST) if asked else ():
            found = evaluate_kb(base.pipeline(count), base.document, asked, base.min_evidence)
            accepted = ", ".join(f"{kind} {share:.2f}" for kind, share in found["accepted"].items())
            hits = f"{found['hit@1']:.2f} | {found['hit@3']:.2f}"
            print(f"| {path.name} | {count} | {found['scored']} | {hits} | {accepted} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() if arguments.keep is None else nullcontext(arguments.keep) as folder:
        app = build_app(load_settings(data_dir=Path(folder), retrieval_strategy="CONTEXTUAL_HYBRID"))
        written = load_written()
        bases = {kb: Base(app, kb, written[kb]) for kb in written}
        print_filter(bases)
        print_found(bases, load_rows())
        print_sets(bases)


if __name__ == "__main__":
    main()
