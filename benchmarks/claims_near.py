"""Ask whether a question's constraints, held against what is found, tell near questions from answerable ones.

python -m benchmarks claims_near ../shared/datasets

Numbers, dates, names, negations, comparisons and units of each question are held against the first passages that the
default strategy finds, with the checks that hold an answer against its passage. Printed is AUROC, answerable over near:

* evidence: what strict mode decides by today;
* signs: the signs that the first passage says otherwise, with the weights of the check of answers, from 1 downwards;
* best of three: the same, the best of the first three passages;
* words: the share of the question's words in the two sentences of these passages that match best;
* fitted: a logistic regression over words and signs, fitted on questions of ``squad_es`` with the passage given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.claims import regression
from benchmarks.script import add_keep, data_folder, head, parser, row
from chatbot_mvp.app import build_app
from chatbot_mvp.chat.claims.alignment import Idf, align, source_of
from chatbot_mvp.chat.claims.comparison import doubt, features
from chatbot_mvp.chat.claims.reading import read
from chatbot_mvp.chat.claims.signs import signs
from chatbot_mvp.evaluation.kb.questions import auroc, load_questions
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import Analyzer

_FITTED_QUESTIONS = 3_000
_PASSAGES = 3

Found = tuple[float, dict[str, float]]
"""Share of the question's words that a passage has, and the features of its signs."""


def held(question: str, section: str, text: str, analyzer: Analyzer, idf: Idf) -> Found:
    aligned = align(read(question, analyzer), source_of(section, text, analyzer), idf)
    return aligned.share, features(signs(aligned))


def squad(path: Path, analyzer: Analyzer) -> Iterator[tuple[Found, bool]]:
    """Yield what was found for each question with its own passage, and whether the passage answers it."""
    lines = path.read_text("utf-8").splitlines()
    for line in lines[:: max(1, len(lines) // _FITTED_QUESTIONS)]:
        one = json.loads(line)
        yield held(one["question"], "", one["context"], analyzer, lambda _: 1.0), not one["is_impossible"]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("datasets", type=Path)
    add_keep(options)
    given = options.parse_args()
    spanish = Analyzer("es")
    rows = list(squad(given.datasets / "squad_es" / "questions.jsonl", spanish))
    names = sorted({name for (_, values), _ in rows for name in values})
    weight = regression([found for found, _ in rows], [answered for _, answered in rows], names)
    print(head(["text", "answerable", "near", "evidence", "signs", "best of three", "words", "fitted"]))
    with data_folder(given.keep) as folder:
        app = build_app(load_settings(data_dir=folder, llm_provider="demo"))
        for text, questions in (
            ("manuales_es/aptitude.md", "manuales_es/aptitude.questions.jsonl"),
            ("manuales_es/debian_reference.md", "manuales_es/debian_reference.questions.jsonl"),
            ("xquad_es/kb.md", "xquad_es/questions.jsonl"),
        ):
            file = given.datasets / text
            record = app.kbs.add(file.name, file.read_bytes())
            index = app.kbs.pipeline(record.kb_id).index
            scores: dict[str, list[tuple[float, ...]]] = {"answerable": [], "near": []}
            for asked in load_questions(given.datasets / questions):
                if asked.kind not in scores:
                    continue
                trace = app.answering.ask(record.kb_id, asked.question).search.trace
                chunks = [hit.chunk for hit in trace.chunks_final[:_PASSAGES]]
                found = [held(asked.question, one.section, one.text, spanish, index.idf) for one in chunks]
                scores[asked.kind].append((trace.evidence or 0.0, *_scores(found, names, weight)))
            cells = [
                auroc([one[column] for one in scores["answerable"]], [one[column] for one in scores["near"]]) or 0.0
                for column in range(5)
            ]
            counts = [len(members) for members in scores.values()]
            print(row([file.stem, *counts, *(f"{cell:.3f}" for cell in cells)]), flush=True)


def _scores(
    found: Sequence[Found], names: Sequence[str], weight: npt.NDArray[np.float64]
) -> tuple[float, float, float, float]:
    if not found:
        return -9.0, -9.0, 0.0, -9.0
    doubts = [doubt(1.0, values) for _, values in found]
    fitted = [weight @ np.array([1.0, share, *(values.get(name, 0.0) for name in names)]) for share, values in found]
    return -doubts[0], -min(doubts), max(share for share, _ in found), float(max(fitted))
