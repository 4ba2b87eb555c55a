"""Measure what a new user sees: everyday questions about everyday documents, asked as the Chat asks them.

python -m benchmarks everyday                 the half that the engine is developed on
python -m benchmarks everyday --half test     the half that was looked at only at the end
python -m benchmarks everyday --half third    52 more, written when the engine was as it is, before their first look
python -m benchmarks everyday --half fourth   52 whose documents, questions and answers were never read
python -m benchmarks everyday --half fifth    52 more, written before a change and first looked at after it
python -m benchmarks everyday --half more     167 about documents of the first three: 73 answered ones, 94 *traps*
python -m benchmarks everyday --shown         each answer, too
python -m benchmarks everyday --kb FILE.md QUESTIONS.jsonl      questions in the format of ``kb evaluate``

``everyday/`` has 14 documents and 260 questions of 52 kinds: one of each kind about the documents of each half. *Traps*
ask for what a document does not say of a thing that it treats. All are asked in strict mode, of ``demo``, with the
default strategy and the local embedding model. ``before`` of a row is the question that was asked before it, and
``accept`` has alternatives: lists of strings that the answer has to have, all of one list, as whole words. None of
``reject`` may be in it. Without alternatives the documents have no answer, and the question has to be declined.

*right* is an answer that is accepted, *wrong* any other answer: each has a tick. *declined rightly* and *wrongly* are
questions without an answer. *nearest has it* counts those of the latter whose nearest passages have the answer.

With ``--kb`` an answer is right if it quotes the question's ``paragraph``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.script import ROOT, add_keep, data_folder, head, parser, row
from chatbot_mvp.api import PastTurn
from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import fold

FOLDER = ROOT / "benchmarks" / "everyday"
HALVES = {
    "dev": ("gimnasio", "lavavajillas", "acta", "fernlog_en"),
    "test": ("hotel", "contrato", "campamento", "allotments_en"),
    "third": ("piscina", "clinica"),
    "fourth": ("furgonetas", "biblioteca"),
    "fifth": ("comedor", "cestas"),
}
MORE = "more"
"""Name of a set over the documents of the first three halves."""
VERDICTS = ("right", "wrong with tick", "declined wrongly", "declined rightly")


@dataclass(frozen=True)
class Question:
    """A row of a file of ``everyday/``."""

    id: str
    kind: str
    question: str
    accept: tuple[tuple[str, ...], ...]
    reject: tuple[str, ...] = ()
    before: str = ""
    document: str = ""
    """The document that is asked; "" if the file is one document's."""

    def accepts(self, text: str) -> bool:
        """Return whether a text has the answer, and nothing that it must not have."""
        return any(all(has(text, part) for part in parts) for parts in self.accept) and not any(
            has(text, part) for part in self.reject
        )


def questions_of(document: str) -> list[Question]:
    lines = (FOLDER / f"{document}.jsonl").read_text("utf-8").splitlines()
    return [Question(**json.loads(line)) for line in lines]


def has(text: str, part: str) -> bool:
    plain = fold(re.sub(r"[*`]", "", text))
    return bool(re.search(rf"(?<![\w.,:]){re.escape(fold(part))}(?!\w)", plain))


def verdict_of(question: Question, answer: Answer) -> str:
    if answer.abstained:
        return f"declined {'wrongly' if question.accept else 'rightly'}"
    return "right" if question.accepts(answer.text) else "wrong with tick"


def near(question: Question, answer: Answer) -> bool:
    """Return whether the nearest passages of a declined question have its answer."""
    texts = [source.chunk.text for source in answer.nearest.passages] if answer.nearest else []
    return any(question.accepts(text) for text in texts)


def asked(app: App, document: str, questions: Sequence[Question]) -> Iterator[tuple[Question, Answer]]:
    """Ask questions about a document, each in a conversation of its own."""
    file = FOLDER / f"{document}.md"
    record = app.kbs.add(file.name, file.read_bytes())
    app.kbs.pipeline(record.kb_id)  # with all its vectors: the Chat asks with those that there are
    for question in questions:
        history = []
        if question.before:
            first = app.answering.ask(record.kb_id, question.before)
            query = first.search.query if first.search.how else ""
            history.append(PastTurn(question.before, first.text, query))
        yield question, app.answering.ask(record.kb_id, question.question, history=history)


def print_kb(app: App, kb: Path, asked_for: Path, shown: bool) -> None:
    record = app.kbs.add(kb.name, kb.read_bytes())
    app.kbs.pipeline(record.kb_id)
    sums = Counter[str]()
    for question in load_questions(asked_for):
        answer = app.answering.ask(record.kb_id, question.question)
        expected = question.kind in (None, "answerable")
        quoted = [" ".join(answer.text[one.start : one.end].split()) for one in answer.statements]
        paragraph = " ".join((question.paragraph or "").split())
        right = expected and any(text in paragraph for text in quoted)
        verdict = "right" if right else "wrong with tick"
        if answer.abstained:
            verdict = f"declined {'wrongly' if expected else 'rightly'}"
        sums[verdict] += 1
        sums[f"{verdict}: {question.kind}"] += not expected
        if shown:
            print(
                row([question.kind, verdict, f"{answer.decision.evidence:.2f}", question.question, " / ".join(quoted)])
            )
    print(
        json.dumps({"file": kb.name, **{name: number for name, number in sorted(sums.items()) if number}}), flush=True
    )


def questions_by_document(half: str) -> dict[str, list[Question]]:
    if half != MORE:
        return {document: questions_of(document) for document in HALVES[half]}
    found: dict[str, list[Question]] = {}
    for question in questions_of(MORE):
        found.setdefault(question.document, []).append(question)
    return found


def print_table(app: App, half: str, shown: bool) -> None:
    kinds, sums = [], Counter[str]()
    for document, questions in questions_by_document(half).items():
        for question, answer in asked(app, document, questions):
            verdict = verdict_of(question, answer)
            sums[verdict] += 1
            sums["sentences"] += len(answer.statements)
            if verdict == "declined wrongly":
                sums["nearest has it"] += near(question, answer)
            kinds.append([question.kind, question.id, verdict, f"{answer.decision.evidence:.2f}", question.question])
            if shown:
                print(row(kinds[-1]), f"[{answer.search.query}]" if answer.search.how else "", answer.why or "")
                print("      " + answer.text.replace("\n", "\n      ") if not answer.abstained else "", flush=True)
    print(head(["kind", "question", "outcome", "evidence"], 3))
    for cells in sorted(kinds):
        print(row(cells[:4]))
    answers = sums["right"] + sums["wrong with tick"]
    figures = {name: sums[name] for name in (*VERDICTS, "nearest has it")}
    print(json.dumps({**figures, "sentences per answer": round(sums["sentences"] / max(1, answers), 2)}))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--half", choices=(*HALVES, MORE), default="dev")
    options.add_argument("--shown", action="store_true")
    options.add_argument("--kb", nargs=2, type=Path, metavar=("FILE.md", "QUESTIONS.jsonl"))
    add_keep(options)
    arguments = options.parse_args()
    with data_folder(arguments.keep) as folder:
        settings = load_settings(data_dir=Path(folder), llm_provider="demo")
        app = build_app(settings)
        if arguments.kb:
            kb, asked_for = arguments.kb
            print_kb(app, kb, asked_for, arguments.shown)
        else:
            print_table(app, arguments.half, arguments.shown)
