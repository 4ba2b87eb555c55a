"""A citation is found again in its passage, by offset, without any model."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.chat.citations import clean_citations, find_sources
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk

SOURCE = "# Manual\n\nEl perro ladra de noche. El gato duerme de día.\n\nEl puente de piedra cruza el río ancho."
PLACE = SOURCE.index("El perro"), SOURCE.index("\n\nEl puente"), SOURCE.index("El puente")
FIRST = Chunk("a", "d", "Manual", SOURCE[PLACE[0] : PLACE[1]], PLACE[0], PLACE[1])
SECOND = Chunk("b", "d", "Manual", SOURCE[PLACE[2] :], PLACE[2], len(SOURCE))
SPANISH = Analyzer("es")
PASSAGES = (FIRST, SECOND)


def cited(answer: str) -> dict[int, list[str]]:
    """Number -> the highlighted texts, cut out of the source document."""
    return {
        source.number: [SOURCE[start:end] for start, end in source.highlights]
        for source in find_sources(answer, PASSAGES, SPANISH)
    }


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("El perro ladra de noche. [1]", {1: ["El perro ladra de noche."]}),
        ("El gato duerme de día. [1] El puente de piedra cruza el río ancho. [2]",
         {1: ["El gato duerme de día."], 2: ["El puente de piedra cruza el río ancho."]}),
        # A mark before the full stop: the stop is no part of what follows.
        ("El perro ladra de noche [1]. El gato duerme de día [1].",
         {1: ["El perro ladra de noche", "El gato duerme de día"]}),
        # In other words: the sentence that shares most of the statement's terms.
        ("Por la noche los perros ladran [1].", {1: ["El perro ladra de noche."]}),
        ("Hay un río ancho que cruza un puente [2]", {2: ["El puente de piedra cruza el río ancho."]}),
        # Two numbers for one statement.
        ("El perro ladra de noche. [1] [2]", {1: ["El perro ladra de noche."], 2: []}),
        # Nothing of the statement is in the passage: cited, but nothing to highlight.
        ("Los submarinos navegan bajo el hielo. [1]", {1: []}),
        # No citation, no source.
        ("El perro ladra de noche.", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_highlights_give_back_the_cited_sentences_from_the_source(answer: str, expected: dict[int, list[str]]) -> None:
    assert cited(answer) == expected


@pytest.mark.parametrize("number", ["0", "3", "99", "100", "-1", "1a", ""])
def test_a_number_that_names_no_passage_is_dropped(number: str) -> None:
    assert cited(f"El perro ladra de noche. [{number}]") == {}
    assert set(cited(f"El perro ladra de noche. [{number}] El gato duerme de día. [1]")) == {1}


def test_the_same_sentence_cited_twice_is_highlighted_once() -> None:
    assert cited("El perro ladra de noche. [1]\n\nEl perro ladra de noche. [1]") == {1: ["El perro ladra de noche."]}


def test_sources_come_in_the_order_of_their_numbers() -> None:
    sources = find_sources("El puente. [2] El perro. [1]", PASSAGES, SPANISH)
    assert [(source.number, source.chunk) for source in sources] == [(1, FIRST), (2, SECOND)]


@given(st.text(max_size=60) | st.text(alphabet="[]12 .perogatdiu\n", max_size=60))
def test_any_answer_gives_ordered_highlights_inside_its_passages(answer: str) -> None:
    for source in find_sources(answer, PASSAGES, SPANISH):
        behind = source.chunk.start
        for start, end in source.highlights:
            assert behind <= start < end <= source.chunk.end
            behind = end + 1


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("Uno [1]. Dos [3].", 2, "Uno [1]. Dos."),
        ("Uno [1, 2]. Dos [2; 9].", 2, "Uno [1] [2]. Dos [2]."),
        ("Uno [0][1][12][123].", 2, "Uno[1]."),
        ("Use `lista[0]` y\n```\nx[7]\n``` [1] [4]", 1, "Use `lista[0]` y\n```\nx[7]\n``` [1]"),
        ("lista[0] y nada [1].", 0, "lista[0] y nada."),
        ("[1]", 0, ""),
        ("", 3, ""),
    ],
)
def test_citations_of_nothing_are_removed(text: str, count: int, expected: str) -> None:
    assert clean_citations(text, count) == expected


@given(st.text(alphabet="ab [],;0123`\n", max_size=60), st.integers(0, 3))
def test_what_is_left_outside_of_code_cites_passages_only(text: str, count: int) -> None:
    cleaned = clean_citations(text, count)
    if "`" not in text and count:
        assert set(map(int, re.findall(r"\[(\d{1,3})\]", cleaned))) <= set(range(1, count + 1))
    assert clean_citations(cleaned, count) == cleaned or "`" in text
