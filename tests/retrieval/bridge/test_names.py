"""What a document is called, and what counts as calling it so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.bridge.names import collect_names, names_of, without_parenthesis
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


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("Turin (city)", "Turin"),
        ("Turin (city) ", "Turin"),
        ("Turin (a) (b)", "Turin (a)"),
        ("Turin (a (b))", "Turin (a (b))"),
        ("(x)", ""),
        ("a) b", "a) b"),
        ("a)", "a)"),
        (") (x)", ")"),
        ("Turin (city", "Turin (city"),
        ("", ""),
    ],
)
def test_only_a_parenthesis_at_the_end_is_dropped(title: str, plain: str) -> None:
    assert without_parenthesis(title) == plain


@pytest.mark.parametrize(
    ("title", "sentence", "names"),
    [
        ("Beethoven", "Ludwig van Beethoven was a composer.", {"beethoven", "ludwig van beethoven"}),
        ("Oxford", "The University of Oxford is old.", {"oxford", "university of oxford"}),
        ("The Beatles", "The Beatles were a band.", {"the beatles"}),
        ("Apollo", "Apollo 11 landed on the Moon.", {"apollo", "apollo 11"}),
        ("Nixon", "Richard, called Nixon, was a president.", {"nixon"}),
        ("Nixon", "Richard Nixon: a president", {"nixon", "richard nixon"}),
        ("Ada", "Ada B C D E F Vidarte", {"ada", "ada b c d e f vidarte"}),
        ("Ada", "Ada B C D E F G Vidarte", {"ada"}),
        ("Vidarte", "Sauceda Orzama is near.", {"vidarte"}),
        ("It", "", set()),
        ("Ab", "", set()),
        ("Abc", "", {"abc"}),
        ("Vidarte, Ada (engineer)", "", {"vidarte ada", "vidarte", "vidarte ada engineer"}),
        ("one two three four five six seven eight nine ten eleven gamma", "",
         {"one two three four five six seven eight nine ten eleven gamma"}),
        ("one two three four five six seven eight nine ten eleven gamma delta", "", set()),
    ],
)  # fmt: skip
def test_a_lead_is_the_capitalised_words_of_the_subject(title: str, sentence: str, names: set[str]) -> None:
    assert called(title, sentence) == names


@pytest.mark.parametrize(
    ("text", "strengths"),
    [
        ("she met Ada Vidarte", {"Ada Vidarte": 1.0}),
        ("she met ada vidarte", {"Ada Vidarte": 0.6}),
        ("she met Ada vidarte", {"Ada Vidarte": 0.6}),
        ("the ada", {}),
        ("in Lisbon", {"Lisbon": 1.0}),
        ("in Lisbons", {"Lisbon": 0.8}),
        ("in 1950", {}),
        ("Sauceda 1950", {"Sauceda 1950": 1.0}),
        ("sauceda 1950", {"Sauceda 1950": 0.6}),
    ],
)
def test_case_and_form_decide_how_surely_a_name_is_meant(text: str, strengths: dict[str, float]) -> None:
    assert dict(mentioned(text, "Ada Vidarte", "Lisbon", "1950", "Sauceda 1950")) == strengths


def test_without_case_every_name_is_meant_in_full() -> None:
    names = collect_names([names_of(title, "", ENGLISH) for title in ("Ada Vidarte", "Lisbon")], [set()] * 2, range(2))
    found = list(names.mentions(ENGLISH.words("is ada vidarte from lisbon"), cased=False))
    assert [(mention.form, mention.fit, mention.start, mention.end) for mention in found] == [
        (("ada", "vidarte"), 1.0, 1, 3),
        (("lisbon",), 1.0, 4, 5),
    ]


def test_a_name_of_the_first_sentence_is_weaker_than_a_title() -> None:
    described = [names_of("Oxford", "The University of Oxford is old.", ENGLISH)]
    names = collect_names(described, [set()], range(1))
    [mention, inside] = names.mentions(ENGLISH.words("She left the University of Oxford"))
    assert names.meant(mention) == [(0, 0.8)]
    assert names.meant(inside) == [(0, 0.5)]


def test_a_title_counts_as_one_even_if_the_first_sentence_has_it_in_another_form() -> None:
    described = names_of("Ada Vidarte", "Ada Vidartes was an engineer.", ENGLISH)
    assert list(described.values()) == [(0, ("ada", "vidarte"))]


def test_passages_of_one_title_do_not_compete_for_it() -> None:
    names = collect_names([names_of("Orzama", "", ENGLISH)] * 3, [set()] * 3, [0, 0, 1])
    [mention] = names.mentions(ENGLISH.words("near Orzama"))
    assert names.meant(mention) == [(row, pytest.approx(1 / 2**0.5)) for row in range(3)]
