"""Measure what the chat finds in conversations: turns that follow on from others, and turns that change the subject.

python -m benchmarks conversations ../shared/datasets/mtrag_en [--keep FOLDER]
python -m benchmarks conversations --kb FILE.md QUESTIONS.jsonl
python -m benchmarks conversations --everyday

The folder has COLLECTION.conversations.jsonl (id, history [{role, text}], question, kind, relevant) and
COLLECTION.passages.jsonl (doc_id, title, text) of each collection. The passages are documents of a data set, searched
with the default strategy and the local embedding model. recall@5 is that of the turns with relevant passages:

- *alone*: the last question is searched by itself;
- *joined*: all questions so far are one query;
- *chat*: what the chat searches, by ``chat.followup.find``;
- *changed*: the same after another conversation of the file, so that the question changes the subject.

Below stands how many turns of each kind the chat asks back.

With ``--kb`` each question with a paragraph is asked alone, after a question about another place (*changed*: the
subject changes), and after another question about the same heading (*same*). The answer before is the paragraph of the
question before. Shown is the share whose paragraph is found first, and among three, and then how many questions of each
kind, asked alone, the chat asks back. ``--everyday`` does the latter with the questions of ``everyday/``.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.everyday import FOLDER, HALVES, questions_of
from benchmarks.kb_measure import rank_in
from benchmarks.own_words import pipeline_of
from benchmarks.script import add_keep, data_folder, head, parser, row
from chatbot_mvp.api import PastTurn
from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.asking_back import ask_back
from chatbot_mvp.chat.followup import find
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last

Asked = tuple[str, str, Sequence[PastTurn]]
"""Kind, question and the turns before it."""
ASKED = ("answerable", "partial")
"""Kinds of turns that have relevant passages."""
BACK = ("name", "kind", "questions", "asked back", "share", "readings", "processor s a question")


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def pipeline_over(app: App, passages: Path) -> Pipeline:
    documents = [Document(one["doc_id"], one["title"], one["text"]) for one in rows_of(passages)]
    chunks = [passage_chunk(document) for document in documents]
    return last(growing_pipeline(chunks, "en", app.settings, lambda: app.embedders.of(app.settings)))


def turns_of(history: Sequence[Mapping[str, str]]) -> list[PastTurn]:
    """Return the questions with their answers."""
    turns: list[PastTurn] = []
    for said in history:
        if said["role"] == "user":
            turns.append(PastTurn(said["text"], ""))
        elif turns:
            turns[-1] = PastTurn(turns[-1].question, said["text"])
    return turns


def recall(trace: RetrievalTrace, relevant: Sequence[str], k: int = 5) -> float:
    found = {hit.chunk.chunk_id for hit in trace.retrieved[:k]}
    return len(found.intersection(relevant)) / len(relevant)


def print_collection(app: App, folder: Path, name: str) -> None:
    pipeline = pipeline_over(app, folder / f"{name}.passages.jsonl")
    recalls, hows, seconds = defaultdict[str, list[float]](list), Counter[str](), 0.0
    turns = [turn for turn in rows_of(folder / f"{name}.conversations.jsonl") if turn["kind"] in ASKED]
    for at, turn in enumerate(turns):
        question, before = turn["question"], turns_of(turn["history"])
        joined = " ".join([*(past.question for past in before), question])
        for way, query in (("alone", question), ("joined", joined)):
            recalls[way].append(recall(pipeline.retrieve([query])[0], turn["relevant"]))
        started = time.process_time()
        found = find(pipeline, question, before)
        seconds += time.process_time() - started
        hows[found.how] += 1
        recalls["chat"].append(recall(found.trace, turn["relevant"]))
        other = turns_of(turns[(at + len(turns) // 2) % len(turns)]["history"])
        recalls["changed"].append(recall(find(pipeline, question, other).trace, turn["relevant"]))
    count = len(recalls["chat"])
    shares = [f"{sum(values) / count:.3f}" for values in recalls.values()]
    print(row([name, count, *shares, hows["previous"], f"{seconds / count:.2f}"]), flush=True)


def print_asked(app: App, folder: Path) -> None:
    print_head()
    for file in sorted(folder.glob("*.conversations.jsonl")):
        name = file.name.partition(".")[0]
        pipeline = pipeline_over(app, folder / f"{name}.passages.jsonl")
        print_kinds(name, pipeline, [(one["kind"], one["question"], turns_of(one["history"])) for one in rows_of(file)])


def print_head() -> None:
    print(head([*BACK], 2))


def print_kinds(name: str, pipeline: Pipeline, asked: Sequence[Asked]) -> None:
    """Print how many questions of each kind are asked back."""
    kinds = defaultdict[str, list[Asked]](list)
    for one in asked:
        kinds[one[0]].append(one)
    for kind, of_kind in sorted(kinds.items()):
        back: list[int] = []
        spent = 0.0
        for _, question, before in of_kind:
            found = find(pipeline, question, before)
            started = time.process_time()
            readings = ask_back(pipeline, question, before, found)
            spent += time.process_time() - started
            back += [len(readings.did_you_mean)] if readings else []
        share, seconds = f"{len(back) / len(of_kind):.3f}", f"{spent / len(of_kind):.3f}"
        print(row([name, kind, len(of_kind), len(back), share, mean(back), seconds]), flush=True)


def mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.1f}" if values else "–"


def print_everyday(app: App) -> None:
    print_head()
    for document in (name for half in HALVES.values() for name in half):
        pipeline, _ = pipeline_of(app, FOLDER / f"{document}.md")
        asked = [
            ("follow-up" if one.before else "alone", one.question, [PastTurn(one.before, "")] if one.before else [])
            for one in questions_of(document)
        ]
        print_kinds(document, pipeline, asked)


def print_collections(app: App, folder: Path) -> None:
    print(head(["collection", "turns", "alone", "joined", "chat", "changed", "joined by the chat", "processor s"]))
    for file in sorted(folder.glob("*.conversations.jsonl")):
        print_collection(app, folder, file.name.partition(".")[0])


def before_each(questions: Sequence[KbQuestion]) -> dict[str, dict[str, KbQuestion]]:
    """Return way -> id of a question -> the question before it, the next one in the file that fits."""
    found: dict[str, dict[str, KbQuestion]] = {"changed": {}, "same": {}}
    for at, question in enumerate(questions):
        for other in (*questions[at + 1 :], *questions[:at]):
            way = "same" if other.heading == question.heading else "changed"
            if other.paragraph != question.paragraph or way == "same":
                found[way].setdefault(question.question_id, other)
    return found


def print_kb(app: App, kb: Path, asked: Path) -> None:
    pipeline, document = pipeline_of(app, kb)
    print_turns(pipeline, document, load_questions(asked))
    print_head()
    print_kinds(kb.stem, pipeline, [(one.kind or "", one.question, ()) for one in load_questions(asked)])


def print_turns(pipeline: Pipeline, document: Document, asked: Sequence[KbQuestion]) -> None:
    questions = [question for question in asked if question.paragraph and question.kind != "near"]
    before = before_each(questions)
    ranks: dict[str, list[int | None]] = {way: [] for way in ("changed alone", "changed", "same alone", "same")}
    for question in questions:
        alone = rank_in(find(pipeline, question.question, []).trace, document, question)
        for way, others in before.items():
            if (other := others.get(question.question_id)) is None:
                continue
            past = PastTurn(other.question, other.paragraph or "")
            ranks[f"{way} alone"].append(alone)
            ranks[way].append(rank_in(find(pipeline, question.question, [past]).trace, document, question))
    print(head(["subject", "questions", "first", "among three"]))
    for way, found in ranks.items():
        shares = [f"{sum((rank or 99) <= k for rank in found) / len(found):.3f}" for k in (1, 3) if found]
        print(row([way, len(found), *shares]), flush=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("--kb", nargs=2, type=Path, metavar=("FILE.md", "QUESTIONS.jsonl"))
    options.add_argument("--everyday", action="store_true")
    add_keep(options)
    arguments = options.parse_args()
    with data_folder(arguments.keep) as folder:
        app = build_app(load_settings(data_dir=folder, llm_provider="demo"))
        if arguments.kb:
            kb, asked = arguments.kb
            print_kb(app, kb, asked)
        elif arguments.everyday:
            print_everyday(app)
        elif arguments.folder:
            print_collections(app, arguments.folder)
            print_asked(app, arguments.folder)
        else:
            options.error("give a folder of conversations, --kb or --everyday")
