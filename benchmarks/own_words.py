"""Measure whether questions in people's own words find the passage: typing errors and synonyms.

python -m benchmarks own_words [--strategy LEXICAL,BRIDGE] [--missed]
python -m benchmarks own_words --kb ../shared/datasets/xquad_es/kb.md ../shared/datasets/xquad_es/questions.jsonl

Without ``--kb`` the questions are those of ``own_words.jsonl``, over documents of this project. The rows with odd ids
are *dev*, on which spelling and expansion were tuned, and the even ones *test*. A row is found at k if one of the first
k chunks covers at least half of one of its ``paragraphs`` (named by their first words).

With ``--kb`` the questions of a file are asked twice, as written and with one misspelt word. A word of at least five
letters has one letter left out, doubled, replaced, or swapped with the next; the first letter stays. ``corrections``
counts the words of the questions as written that were taken for misspelt ones; ``--missed`` prints some of them.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.kb_measure import ask, evaluate_kb
from benchmarks.script import ROOT, add_keep, data_folder, head, parser, row
from chatbot_mvp.app import App, build_app
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.expansion import CORRECTIONS
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document

QUESTIONS = ROOT / "benchmarks" / "own_words.jsonl"
STRATEGIES = "LEXICAL,BRIDGE,HYBRID,BRIDGE_HYBRID"
LETTERS = "abcdefghijlmnopqrstuvz"
SHOWN_CORRECTIONS = 40
SHARES = ("dev hit@1", "dev hit@3", "test hit@1", "test hit@3")


@dataclass(frozen=True)
class Row:
    """A question of ``own_words.jsonl``."""

    id: str
    kind: str
    """typo or synonym."""
    language: str
    kb: str
    """Path of the document, from the root of the project."""
    question: str
    paragraphs: tuple[str, ...]
    """First words of the paragraphs that answer, verbatim."""

    @property
    def half(self) -> str:
        return "dev" if int(self.id[1:]) % 2 else "test"


def load_rows() -> list[Row]:
    lines = QUESTIONS.read_text("utf-8").splitlines()
    values = [json.loads(line) for line in lines]
    return [Row(**{**value, "paragraphs": tuple(value["paragraphs"])}) for value in values]


def pipeline_of(app: App, file: Path) -> tuple[Pipeline, Document]:
    record = app.kbs.add(file.name, file.read_bytes())
    return app.kbs.pipeline(record.kb_id), app.kbs.document(record.kb_id)


def rank_of(row: Row, pipeline: Pipeline, document: Document) -> int | None:
    """Return the rank from 1 of the first chunk that has one of the row's paragraphs; None if none has."""
    questions = []
    for number, start in enumerate(row.paragraphs):
        begin = document.text.index(start)
        paragraph = document.text[begin:].partition("\n\n")[0]
        questions.append(KbQuestion(f"{row.id}-{number}", row.question, paragraph=paragraph))
    ranks = [ask(pipeline, document, question).rank for question in questions]
    return min((rank for rank in ranks if rank), default=None)


def shares(ranks: Mapping[Row, int | None]) -> list[str]:
    """Return the figures of ``SHARES``."""
    cells = []
    for half in ("dev", "test"):
        found = [rank or 99 for one, rank in ranks.items() if one.half == half]
        cells += [f"{sum(rank <= k for rank in found) / len(found):.2f}" for k in (1, 3)]
    return cells


def print_table(folder: Path, strategies: Sequence[str], missed: bool) -> None:
    rows = load_rows()
    print(head(["strategy", "kind", "language", *SHARES], 3))
    notes = []
    for strategy in strategies:
        app = build_app(load_settings(data_dir=folder, retrieval_strategy=strategy))
        pipelines = {kb: pipeline_of(app, ROOT / kb) for kb in dict.fromkeys(one.kb for one in rows)}
        ranks = {one: rank_of(one, *pipelines[one.kb]) for one in rows}
        groups = defaultdict(list)
        for one in rows:
            for language in (one.language, "both"):
                groups[one.kind, language].append(one)
        for (kind, language), members in sorted(groups.items(), reverse=True):
            print(row([strategy, kind, language, *shares({one: ranks[one] for one in members})]), flush=True)
        for one in rows:
            if missed and one.half == "dev" and (ranks[one] or 99) > 1:
                [trace] = pipelines[one.kb][0].retrieve([one.question])
                notes.append(f"{strategy} {one.id} {one.half} {one.question!r}: {ranks[one]} {trace.expansion_notes}")
    print("\n".join(notes))


def misspell(question: str, rng: random.Random) -> str:
    """Return the question with one word misspelt; unchanged if it has no long enough word."""
    words = list(re.finditer(r"[^\W\d_]{5,}", question))
    if not words:
        return question
    match = rng.choice(words)
    word, at = match.group(), rng.randrange(1, len(match.group()) - 1)
    changed = rng.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + rng.choice(LETTERS.replace(word[at].lower(), "")) + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )
    return question[: match.start()] + changed + question[match.end() :]


def print_misspelt(folder: Path, strategies: Sequence[str], kb: Path, asked: Path, missed: bool) -> None:
    rng = random.Random(0)
    questions = [question for question in load_questions(asked) if question.paragraph]
    misspelt = [replace(question, question=misspell(question.question, rng)) for question in questions]
    for strategy in strategies:
        app = build_app(load_settings(data_dir=folder, retrieval_strategy=strategy))
        pipeline, source = pipeline_of(app, kb)
        for name, of_name in (("as written", questions), ("misspelt", misspelt)):
            found = evaluate_kb(pipeline, source, of_name, app.settings.kb_min_evidence)
            kept = {key: found[key] for key in ("hit@1", "hit@3", "scored", "accepted", "seconds_per_question_p95")}
            print(json.dumps({"strategy": strategy, "questions": name, **kept}), flush=True)
    corrections = [
        f"{note} <- {question.question}"
        for question in questions
        for note in pipeline.retrieve([question.question])[0].expansion_notes
        if note.partition(": ")[0] in CORRECTIONS
    ]
    print(json.dumps({"questions": len(questions), "corrections": len(corrections)}))
    if missed:
        print("\n".join(rng.sample(corrections, min(SHOWN_CORRECTIONS, len(corrections)))))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--strategy", default=STRATEGIES)
    options.add_argument("--kb", nargs=2, type=Path, metavar=("FILE.md", "QUESTIONS.jsonl"))
    options.add_argument("--missed", action="store_true")
    add_keep(options)
    arguments = options.parse_args()
    with data_folder(arguments.keep) as folder:
        strategies = arguments.strategy.split(",")
        if arguments.kb:
            kb, asked = arguments.kb
            print_misspelt(folder, strategies, kb, asked, arguments.missed)
        else:
            print_table(folder, strategies, arguments.missed)
