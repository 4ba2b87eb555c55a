"""No question of the longest length that is allowed costs more than two seconds of processor."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from itertools import cycle, islice

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.context import MAX_QUESTION_CHARS
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import PastTurn
from tests.processor import reference_seconds
from tests.raising import raises

MOST_S = 2.0
"""Seconds of processor; measured: .1 to .4."""
KB_CHARS = 100_000

_RANDOM = random.Random(3)
_WORDS = ["".join(_RANDOM.choices("bcdfglmnprst", k=1) + _RANDOM.choices("aeiou", k=1)) for _ in range(60)]
VOCABULARY = ["".join(_RANDOM.choices(_WORDS, k=_RANDOM.randint(2, 4))) for _ in range(4_000)]


def _typo(word: str) -> str:
    return f"{word[:3]}x{word[3:]}"


MAKERS: dict[str, Callable[[], str]] = {
    "brackets": lambda: "[",
    "pairs of brackets": lambda: "[]",
    "quotes": lambda: '«"',
    "one word": lambda: "paquete ",
    "one letter": lambda: "a",
    "initials": lambda: "a.",
    "apostrophes": lambda: "a'",
    "dots": lambda: ".",
    "unique words": lambda: "".join(_RANDOM.choices(string.ascii_lowercase, k=7)) + " ",
    "short words": lambda: "".join(_RANDOM.choices(string.ascii_lowercase, k=3)) + " ",
    "words of the text": lambda: _RANDOM.choice(VOCABULARY) + " ",
    "misspelt words of the text": lambda: _typo(_RANDOM.choice(VOCABULARY)) + " ",
    "words written as one": lambda: _RANDOM.choice(VOCABULARY) + _RANDOM.choice(VOCABULARY) + " ",
    "capitals": lambda: _RANDOM.choice(VOCABULARY).upper() + " ",
    "punctuation": lambda: _RANDOM.choice(string.punctuation),
    "chinese": lambda: chr(_RANDOM.randint(0x4E00, 0x9FFF)),
    "chinese with blanks": lambda: chr(_RANDOM.randint(0x4E00, 0x9FFF)) + " ",
    "digits": lambda: _RANDOM.choice(string.digits),
    "numbers": lambda: f"{_RANDOM.randint(0, 9_999)} ",
    "single digits": lambda: f"{_RANDOM.randint(0, 9)} ",
    "combining marks": lambda: "\u0301",
    "ligatures": lambda: "\ufdfa",
    "line feeds": lambda: "a\n",
    "fences": lambda: "```\n",
    "tags": lambda: "<b>",
    "mixed": lambda: _RANDOM.choice(["[", "]", "paquete ", "猫", "12", "¿", "x.y ", "\n"]),
}


def _question(make: Callable[[], str]) -> str:
    text = ""
    while len(text) < MAX_QUESTION_CHARS:
        text += make()
    return text[: MAX_QUESTION_CHARS - 2] + " a"


def _paragraph(number: int) -> str:
    words = _RANDOM.choices(VOCABULARY, k=60)
    return f"{' '.join(words[:30]).capitalize()} {number}. {' '.join(words[30:]).capitalize()} {number * 7}."


def _text(heading_each: bool) -> str:
    """Return a text of KB_CHARS: one long document, or short ones whose headings are mentioned in others."""
    names = islice(cycle(VOCABULARY), 10_000)
    parts, size = [], 0
    for number, name in enumerate(names):
        if size >= KB_CHARS:
            break
        heading = f"# {name.capitalize()} {number}\n\n" if heading_each else ""
        parts.append(f"{heading}{_paragraph(number)}")
        size += len(parts[-1])
    return "\n\n".join(parts)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("strategy", "heading_each"),
    [("LEXICAL", False), ("BRIDGE", False), ("BRIDGE", True), ("KB_CHAT", False)],
    ids=["LEXICAL", "BRIDGE", "BRIDGE over links", "KB_CHAT"],
)
def test_the_worst_questions_cost_little(settings: Settings, strategy: str, heading_each: bool) -> None:
    app = build_app(settings.with_changes(retrieval_strategy=strategy, provider="demo"))
    kb_id = app.kbs.add("texto.md", _text(heading_each).encode()).kb_id
    assert (app.kbs.pipeline(kb_id).index.graph is not None) == heading_each
    app.answering.ask(kb_id, "¿Qué es un paquete?")
    questions = {name: _question(make) for name, make in MAKERS.items()}
    cost = {name: _seconds(app, kb_id, question) for name, question in questions.items()}
    cost |= {
        f"follow-up to {name}": _seconds(app, kb_id, "¿Y eso?", PastTurn(questions[name], "Sí."))
        for name in ("brackets", "short words", "misspelt words of the text", "numbers", "mixed")
    }
    assert {name: round(seconds, 2) for name, seconds in cost.items() if _too_much(seconds)} == {}


def test_a_longer_question_costs_nothing(settings: Settings) -> None:
    app = build_app(settings.with_changes(retrieval_strategy="LEXICAL", provider="demo"))
    kb_id = app.kbs.add("texto.md", _text(False).encode()).kb_id
    started = time.process_time()
    with raises("question_too_long"):
        app.answering.ask(kb_id, "[" * 15_000)
    assert reference_seconds(time.process_time() - started) < 0.5


def _too_much(seconds: float) -> bool:
    return seconds > MOST_S and reference_seconds(seconds) > MOST_S


def _seconds(app: App, kb_id: str, question: str, *history: PastTurn) -> float:
    started = time.process_time()
    app.answering.ask(kb_id, question, history=history)
    return time.process_time() - started
