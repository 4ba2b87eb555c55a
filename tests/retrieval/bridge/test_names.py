"""What a document is called, and what counts as calling it so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.bridge.names import collect_names, names_of
from chatbot_mvp.text import Analyzer

ENGLISH = Analyzer("en")


def called(title: str, sentence: str = "") -> set[str]:
    return {" ".join(form) for _, form in names_of(title, sentence, ENGLISH).values()}


@pytest.mark.parametrize(
    ("title", "sentence", "names"),
    [
        ("Mercury (planet)", "", {"mercury", "mercury planet"}),
        ("Orzama, Castile", "", {"orzama castile", "orzama"}),
        (
            "Richard Nixon",
            "Richard Milhous Nixon (1913) was a president.",
            {"richard nixon", "richard milhous nixon"},
        ),
        ("Ada Vidarte", "She was an engineer.", {"ada vidarte"}),
        ("The", "", set()),
    ],
    ids=["without the parenthesis", "before the comma", "as it introduces itself", "title alone", "a mere stop word"],
)
def test_a_document_is_called_by_its_title_and_by_how_it_begins(title: str, sentence: str, names: set[str]) -> None:
    assert called(title, sentence) == names


def mentioned(text: str, *titles: str, lower: set[str] = frozenset()) -> list[tuple[str, float]]:  # type: ignore[assignment]
    names = collect_names(
        [names_of(title, "", ENGLISH) for title in titles], [set(lower)] * len(titles), range(len(titles))
    )
    return [
        (titles[row], round(strength, 3))
        for mention in names.mentions(ENGLISH.words(text))
        for row, strength in names.meant(mention)
    ]


def test_the_longest_name_is_meant_and_one_inside_it_less() -> None:
    found = dict(mentioned("He lived in New York City.", "New York City", "York"))
    assert found == {"New York City": 1.0, "York": 0.5}


def test_a_single_word_in_lower_case_is_no_name() -> None:
    assert mentioned("an apple a day", "Apple") == []
    assert mentioned("He joined Apple.", "Apple") == [("Apple", 1.0)]


def test_unless_its_bearer_writes_it_so() -> None:
    stem = ENGLISH.words("apple")[0].stem
    assert mentioned("an apple a day", "Apple", lower={stem}) == [("Apple", 0.7)]


def test_two_bearers_of_a_name_share_its_strength() -> None:
    found = mentioned("The Mercury sank.", "Mercury (ship)", "Mercury (planet)")
    assert found == [("Mercury (ship)", 0.707), ("Mercury (planet)", 0.707)]


@given(text=st.text(max_size=200), titles=st.lists(st.text(max_size=30), max_size=5))
def test_any_texts_and_titles_are_read_without_an_error(text: str, titles: list[str]) -> None:
    assert all(0 < strength <= 1 for _, strength in mentioned(text, *titles))


def test_a_text_that_ends_in_the_middle_of_a_longer_name_mentions_the_shorter_one() -> None:
    names = collect_names(
        [names_of(title, "", ENGLISH) for title in ("New York", "New York City")], [set(), set()], range(2)
    )
    [mention] = names.mentions(ENGLISH.words("He lived in New York"))
    assert (mention.start, mention.end) == (3, 5)
