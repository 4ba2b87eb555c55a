"""Count right and wrong ticks without a model, by kind of document, with each part of the proof taken away.

python -m benchmarks ticks ../shared/datasets --rows ROWS.jsonl [--only everyday,manuals]   ask, and print the table
python -m benchmarks ticks --rows ROWS.jsonl                                                print the table again

*right*: the quote has the answer, and of encyclopaedias and manuals stands in the paragraph that has it; *partly*: it
stands there without the answer as it was labelled. *wrong* is every other tick on an answerable question. *near*, *far*
and *misleading* (a word, name or negation exchanged) are questions that the documents do not answer.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.everyday import FOLDER, HALVES, MORE, Question, questions_of
from benchmarks.script import ROOT, SAMPLES, data_folder, head, parser, row
from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.grounding import grounding_of, rest_of_tables
from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive import choice, proof
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import fold
from chatbot_mvp.types import PastTurn

Rows = list[dict[str, Any]]
OWN = ROOT / "benchmarks" / "ticks" / "refugio.md"
"""Written for this table alone, with twenty questions, before the proof was first asked."""


def _yes(*_: object) -> bool:
    return True


PARTS: dict[str, Mapping[str, Any]] = {
    "the proof": {},
    "margin 0": {"MARGIN": 1e-9},
    "margin .05": {"MARGIN": 0.05},
    "margin .1": {"MARGIN": 0.1},
    "margin .2": {"MARGIN": 0.2},
    "near 0": {"NEAR": 1e-9},
    "near .4": {"NEAR": 0.4},
    "near .6": {"NEAR": 0.6},
    "near 1: each word as it is": {"NEAR": 1.0},
    "without kinds of values": {"gives": _yes},
    "without kinds of things": {"KINDS": ()},
    "without either": {"gives": _yes, "KINDS": ()},
    "without what the passage says": {"FAINT": 9.0},
    "any kind of thing competes": {"OTHER_KIND": 0.0},
    "without negations": {"_denies_alike": _yes},
    "without what must be exact": {"_LITERAL": re.compile(r"(?!)")},
    "without a limit of length": {"MAX_CHARS": 10**9},
    "without words that say little": {"LIGHT_WORDS": frozenset()},
    "words alone, no vectors": {"": True},
}
"""Part that is taken away, or changed -> names of ``proof`` and their values."""


def _lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sets(shared: Path) -> Iterator[tuple[str, str, Callable[[], tuple[str, Rows]]]]:
    """Yield (kind of document, name, a function that gives its text and questions)."""
    xquad, manuals, handbook = shared / "xquad_es", shared / "manuales_es", SAMPLES / "kb"
    yield "encyclopaedic", "xquad", partial(_read, xquad / "kb.md", xquad / "questions.jsonl")
    for name in ("aptitude", "debian_reference"):
        yield "manuals", name, partial(_read, manuals / f"{name}.md", manuals / f"{name}.questions.jsonl")
    yield "manuals", "handbook", partial(_read, handbook / "politica_empresa.md", handbook / "preguntas.jsonl")
    for half, documents in HALVES.items():
        for name in documents:
            asked = [*questions_of(name), *(one for one in questions_of(MORE) if one.document == name)]
            yield "everyday", f"{half} {name}", partial(_everyday, FOLDER / f"{name}.md", asked)
    own = [Question(**one) for one in _lines(OWN.with_suffix(".jsonl"))]
    yield "everyday", "own refugio", partial(_everyday, OWN, own)
    for part in range(2):
        yield "encyclopaedic, a quarter removed", f"squad {part}", partial(_squad, shared / "squad_es", part)


def _read(text: Path, questions: Path) -> tuple[str, Rows]:
    return text.read_text("utf-8"), _lines(questions)


def _everyday(text: Path, asked: Sequence[Question]) -> tuple[str, Rows]:
    return text.read_text("utf-8"), [
        {"question": one.question, "before": one.before, "kind": "answerable" if one.accept else "near", "set": one}
        for one in asked
    ]


def _squad(folder: Path, part: int) -> tuple[str, Rows]:
    """Return six articles of which a quarter of the paragraphs is removed, and questions about both and others."""
    rows, draw = _lines(folder / "questions.jsonl"), random.Random(7)
    articles = sorted({one["article"] for one in rows})
    draw.shuffle(articles)
    own, draw = articles[6 * part : 6 * part + 6], random.Random(part)
    contexts = sorted({one["context"] for one in rows if one["article"] in own})
    gone = set(draw.sample(contexts, len(contexts) // 4))
    text = ""
    for article in own:
        kept = dict.fromkeys(one["context"] for one in rows if one["article"] == article)
        text += f"# {article}\n\n" + "\n\n".join(one for one in kept if one not in gone) + "\n\n"

    def some(kind: str, most: int, found: Rows) -> Rows:
        return [
            {
                "question": one["question"],
                "kind": kind,
                "paragraph": one["context"],
                "answers": [answer["text"] for answer in one["answers"]],
            }
            for one in draw.sample(found, min(most, len(found)))
        ]

    here = [one for one in rows if one["article"] in own]
    return text, [
        *some("answerable", 160, [one for one in here if one["context"] not in gone and not one["is_impossible"]]),
        *some("near", 60, [one for one in here if one["context"] in gone and not one["is_impossible"]]),
        *some("misleading", 60, [one for one in here if one["context"] not in gone and one["is_impossible"]]),
        *some("far", 40, [one for one in rows if one["article"] in articles[20:28] and not one["is_impossible"]]),
    ]


def label(question: Mapping[str, Any], quote: str) -> str:
    if question["kind"] != "answerable":
        return str(question["kind"])
    if "set" in question:
        return "right" if question["set"].accepts(quote) else "wrong"
    whole, gold = f" {_tight(quote)} ", _tight(question.get("paragraph") or "")
    inside = any(len(_tight(part)) > 20 and _tight(part) in gold for part in quote.split("\n"))
    answers = [_tight(answer) for answer in question.get("answers") or ()]
    has = any(answer and f" {answer} " in whole and (inside or len(answer) >= 8) for answer in answers)
    return "right" if has else "partly" if inside else "wrong"


def _tight(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", fold(text)).strip()


def proofs(grounding: Grounding) -> dict[str, str]:
    """Return part -> the quote that is proven without it; parts without a tick are left out."""
    found, near = {}, grounding.near
    seen: dict[str, tuple[float, Mapping[str, float]]] = {}

    def remembered(texts: Sequence[str]) -> list[tuple[float, Mapping[str, float]]]:
        assert near is not None
        if new := [text for text in texts if text not in seen]:
            seen.update(zip(new, near(new), strict=True))
        return [seen[text] for text in texts]

    for name, changes in PARTS.items():
        before = {part: getattr(proof, part) for part in changes if part}
        for part in before:
            setattr(proof, part, changes[part])
        try:
            chosen = choice.choose(replace(grounding, near=None if "" in changes else near and remembered))
        finally:
            for part, value in before.items():
                setattr(proof, part, value)
        if units := chosen.units:
            quotes = (grounding.quotable[unit.passage].text[slice(*span)] for unit in units for span in unit.spans)
            found[name] = "\n".join([chosen.said, *quotes])
    return found


def ask(app: App, kind: str, name: str, text: str, questions: Rows) -> Iterator[dict[str, Any]]:
    kb = app.kbs.add(f"{name}.md", text.encode()).kb_id
    index = app.kbs.pipeline(kb).index
    if index.dense is not None and index.dense.tokens is not None:
        index.dense.tokens.of = _remembering(index.dense.tokens.of)  # type: ignore[method-assign]  # units come again
    for question in questions:
        history = [PastTurn(question["before"], "")] if question.get("before") else []
        answer = app.answering.ask(kb, question["question"], UserContext("strict"), history)
        trace = answer.trace
        quoted: dict[str, str] = {}
        if answer.decision.reason == "quotes" or answer.outcome in ("nearest", "answered"):
            found, follows = [hit.chunk for hit in trace.chunks_final], answer.search.how == "previous"
            tables = rest_of_tables(index, found)
            quoted = proofs(grounding_of(trace, index, found, 1.0, follows, tables))
        first = answer.nearest.passages[0].chunk.text if answer.nearest and answer.nearest.passages else ""
        yield {
            "documents": kind,
            "set": name,
            "kind": question["kind"],
            "question": question["question"],
            "outcome": answer.outcome,
            "proof": answer.completion.proof if answer.completion else None,
            "evidence": answer.decision.evidence,
            "topic": trace.topic,
            "first": label(question, first) if first else "",
            "labels": {part: label(question, quote) for part, quote in quoted.items()},
            "quote": quoted.get("the proof", ""),
        }


def _remembering(read: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return ``PassageTokens.of`` that computes each sentence once, however many questions meet it."""
    seen: dict[str, Any] = {}

    def of(texts: Sequence[str], keep: bool = False) -> list[Any]:
        if new := [text for text in dict.fromkeys(texts) if text not in seen]:
            seen.update(zip(new, read(new, keep), strict=True))
        return [seen[text] for text in texts]

    return of


def print_table(rows: Rows) -> None:
    print(
        head(
            ["part", "documents", "right", "partly", "wrong", "near", "far", "misleading", "share", "right of ticks"], 2
        )
    )
    for part in PARTS:
        for kind in [*dict.fromkeys(one["documents"] for one in rows), "together"]:
            own = [one for one in rows if kind in ("together", one["documents"])]
            found = Counter(one["labels"].get(part) for one in own)
            asked = sum(one["kind"] == "answerable" for one in own)
            good, bad = found["right"] + found["partly"], found["wrong"] + found["near"] + found["far"]
            share = Share(good, good + bad)
            low, high = share.interval or (0.0, 1.0)
            interval = f"{share.value:.3f} [{low:.3f}–{high:.3f}]" if share.total else "–"
            cells = [found[name] for name in ("right", "partly", "wrong", "near", "far", "misleading")]
            print(row([part, kind, *cells, f"{good / max(1, asked):.2f}", interval]))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("shared", nargs="?", type=Path)
    options.add_argument("--rows", type=Path, required=True)
    options.add_argument("--only", default="", help="kinds of documents, or names of sets, separated by commas")
    arguments = options.parse_args()
    wanted = [one for one in arguments.only.split(",") if one]
    if arguments.shared:
        with data_folder(None) as folder, arguments.rows.open("a", encoding="utf-8") as file:
            app = build_app(load_settings(data_dir=folder, llm_provider="demo"))
            for kind, name, load in sets(arguments.shared):
                if not wanted or kind in wanted or name in wanted:
                    for one in ask(app, kind, name, *load()):
                        file.write(json.dumps(one, ensure_ascii=False) + "\n")
                    file.flush()
    print_table(_lines(arguments.rows))


if __name__ == "__main__":
    main()
