"""What a document is called, and what counts as calling it so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.names import Words, names_of, without_parenthesis
from chatbot_mvp.retrieval.bridge.question import numbered
from chatbot_mvp.text import Analyzer, Word
from chatbot_mvp.types import Chunk
from tests.retrieval.bridge.reference_corpus import Bearers

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


def corpus_of(titles: Sequence[str], text: str = "") -> Corpus:
    chunks = [Chunk(str(n), str(n), title, text, 0, len(text)) for n, title in enumerate(titles)]
    return build_corpus(chunks, len(chunks), ENGLISH)


def cased(text: str) -> Words:
    """The words of a text whose case counts. A capitalised word at the end, removed again, sees to it."""
    words = numbered([[*ENGLISH.words(text), Word("Zz", "zz", False)]])
    return Words(*(values[:-1] for values in words[:-1]), words.end[:-1] - 1)


def mentioned(text: str, *titles: str, bearers_say: str = "") -> list[tuple[str, float]]:
    names, words = corpus_of(titles, bearers_say).names, cased(text)
    _, rows, strength = names.meant(words, names.mentions(words))
    return [(titles[row], round(value, 3)) for row, value in zip(rows.tolist(), strength.tolist(), strict=True)]


def test_the_longest_name_is_meant_and_one_inside_it_less() -> None:
    found = dict(mentioned("He lived in New York City.", "New York City", "York"))
    assert found == {"New York City": 1.0, "York": 0.5}


def test_a_single_word_in_lower_case_is_no_name() -> None:
    assert mentioned("an apple a day", "Apple") == []
    assert mentioned("He joined Apple.", "Apple") == [("Apple", 1.0)]


def test_unless_its_bearer_writes_it_so() -> None:
    assert mentioned("an apple a day", "Apple", bearers_say="It sells apple pies.") == [("Apple", 0.7)]


def test_two_bearers_of_a_name_share_its_strength() -> None:
    found = mentioned("The Mercury sank.", "Mercury (ship)", "Mercury (planet)")
    assert found == [("Mercury (ship)", 0.707), ("Mercury (planet)", 0.707)]


@given(text=st.text(max_size=200), titles=st.lists(st.text(max_size=30), max_size=5))
def test_any_texts_and_titles_are_read_without_an_error(text: str, titles: list[str]) -> None:
    assert all(0 < strength <= 1 for _, strength in mentioned(text, *titles))


def test_a_text_that_ends_in_the_middle_of_a_longer_name_mentions_the_shorter_one() -> None:
    found = corpus_of(["New York", "New York City"]).names.mentions(cased("He lived in New York"))
    assert (found.start.tolist(), found.end.tolist()) == ([3], [5])


def by_the_rules(text: str, titles: Sequence[str], lower: set[str]) -> list[tuple[int, float]]:
    """(row, strength) of the mentions in a sentence, found word by word."""
    described = [names_of(title, "", ENGLISH) for title in titles]
    names = Bearers(described, [lower] * len(titles), titles)
    return [meant for name in names.found(ENGLISH.words(text)) for meant in names.meant(name)]


WORDS = st.sampled_from(
    "Ada ada Vidarte vidartes the The of Kestrel Bridge bridges Bridge, Orzama 1931 (Orzama)".split()
)


@given(
    text=st.lists(WORDS, max_size=15).map(" ".join),
    titles=st.lists(st.lists(WORDS, max_size=4).map(" ".join), max_size=6),
    lower=st.lists(st.sampled_from(["ada", "bridge", "of", "kestrel", "orzama"])).map(" ".join),
)
def test_names_are_found_by_the_rules_whatever_the_words(text: str, titles: list[str], lower: str) -> None:
    text = text.replace(".", "")
    names, words = corpus_of(titles, lower).names, cased(text)
    for sieve in (None, names.sieve()):
        _, rows, strength = names.meant(words, names.mentions(words, sieve=sieve))
        found = list(zip(rows.tolist(), strength.tolist(), strict=True))
        assert found == by_the_rules(text, titles, {word.stem for word in ENGLISH.words(lower)})


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
    names, words = corpus_of(["Ada Vidarte", "Lisbon"]).names, numbered([ENGLISH.words("is ada vidarte from lisbon")])
    found = names.mentions(words)
    assert (found.start.tolist(), found.end.tolist(), found.fit.tolist()) == ([1, 4], [3, 5], [1.0, 1.0])
    _, rows, strength = names.meant(words, found)
    assert (rows.tolist(), strength.tolist()) == ([0, 1], [1.0, 1.0])


def test_a_name_of_the_first_sentence_is_weaker_than_a_title() -> None:
    found = mentioned("She left the University of Oxford", "Oxford", bearers_say="The University of Oxford is old.")
    assert found == [("Oxford", 0.8), ("Oxford", 0.5)]


def test_a_title_counts_as_one_even_if_the_first_sentence_has_it_in_another_form() -> None:
    described = names_of("Ada Vidarte", "Ada Vidartes was an engineer.", ENGLISH)
    assert list(described.values()) == [(0, ("ada", "vidarte"))]


def test_passages_of_one_title_do_not_compete_for_it() -> None:
    assert mentioned("near Orzama", "Orzama", "Orzama", "Orzama (river)") == [
        ("Orzama", 0.707),
        ("Orzama", 0.707),
        ("Orzama (river)", 0.707),
    ]
