"""What a document is called, and what counts as calling it so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.mentions import Words
from chatbot_mvp.retrieval.bridge.names import names_of
from chatbot_mvp.retrieval.bridge.question import numbered
from chatbot_mvp.text import Analyzer, Word
from chatbot_mvp.types import Chunk

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
    bearers: dict[tuple[str, ...], list[tuple[int, int, tuple[str, ...]]]] = {}
    for row, title in enumerate(titles):
        for name, (kind, form) in names_of(title, "", ENGLISH).items():
            bearers.setdefault(name, []).append((row, kind, form))
    words, taken, meant = ENGLISH.words(text), 0, []
    for start in range(len(words)):
        for end in range(min(len(words), start + 12), start, -1):
            found = words[start:end]
            name = tuple(word.stem for word in found)
            one = found[0]
            if name not in bearers or (
                end - start == 1 and (one.is_stop or len(one.text) < 3 or one.text[0].isdigit())
            ):
                continue
            fit = 1.0
            if any(not (w.text[0].isupper() or w.text[0].isdigit()) for w in found if not w.is_stop):
                usual = all(stem in lower for stem in name)
                fit = 0.7 if usual else 0.0 if end - start == 1 else 0.6
            if not fit:
                continue
            fit *= 0.5 if end <= taken else 1.0
            taken = max(taken, end)
            rivals = len({titles[row] for row, _, _ in bearers[name]})
            said = tuple(word.text.lower() for word in found)
            meant += [
                (row, fit * (1.0, 0.8)[kind] / rivals**0.5 * (1.0 if form == said else 0.8))
                for row, kind, form in bearers[name]
            ]
            break
    return meant


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
