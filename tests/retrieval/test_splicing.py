"""Postings after a change of rows are those that are built at once."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.indexes.array_bm25 import ArrayIndex
from chatbot_mvp.retrieval.postings import PairPostings, Postings
from chatbot_mvp.retrieval.splicing import GONE, matched, rows_between
from chatbot_mvp.text import Analyzer
from tests.fakes import chunks_of

BLOCKS = st.lists(st.integers(0, 8), max_size=9)


def texts_of(block: int) -> list[list[str]]:
    """The rows of a block: up to three texts of terms."""
    draw = random.Random(block)
    return [[str(draw.randint(0, 12)) for _ in range(draw.randint(0, 6))] for _ in range(block % 4)]


def indexed(texts: list[list[str]], numbers: dict[str, int], kind: type[Postings]) -> Postings:
    return kind(
        numbers, *arrays_of(texts, numbers, range(len(texts))), len(texts), *([True] if kind is Postings else [])
    )


def arrays_of(
    texts: list[list[str]], numbers: dict[str, int], rows: range | list[int]
) -> tuple[np.ndarray, np.ndarray]:
    found = [(numbers.setdefault(term, len(numbers)), row) for row in rows for term in texts[row]]
    both = np.array(found, np.int64).reshape(-1, 2)
    return both[:, 0].astype(np.int32), both[:, 1].astype(np.int32)


@given(BLOCKS, BLOCKS)
@pytest.mark.parametrize("kind", [Postings, PairPostings])
def test_postings_after_a_change_have_the_rows_and_counts_of_those_built_at_once(
    kind: type[Postings], before: list[int], after: list[int]
) -> None:
    then, now = ([text for block in blocks for text in texts_of(block)] for blocks in (before, after))
    lengths = [[len(texts_of(block)) for block in blocks] for blocks in (after, before)]
    rows = rows_between(matched(after, before), *lengths)
    numbers: dict[str, int] = {}
    old = indexed(then, numbers, kind)
    numbers = dict(numbers)
    found = old.changed(numbers, rows.placed, *arrays_of(now, numbers, np.flatnonzero(rows.fresh).tolist()), len(now))
    expected = indexed(now, {}, kind)
    terms = [str(number) for number in range(14)]
    features = terms if kind is Postings else [(one, other) for one in terms for other in terms]
    for feature in features:
        assert found.rows(feature).tolist() == expected.rows(feature).tolist(), feature
        assert found.counts(feature).tolist() == expected.counts(feature).tolist(), feature
    if isinstance(found, PairPostings) and isinstance(expected, PairPostings):
        assert [found.numbers_after(term) for term in terms] == [expected.numbers_after(term) for term in terms]


@given(BLOCKS, BLOCKS)
def test_rows_name_equal_ones_and_those_that_stay_in_order_are_as_many_as_can_be(
    before: list[int], after: list[int]
) -> None:
    then, now = ([(block, row) for block in blocks for row in range(block % 4)] for blocks in (before, after))
    places = matched(after, before)
    rows = rows_between(places, *([block % 4 for block in blocks] for blocks in (after, before)))
    for row, origin in enumerate(rows.origin.tolist()):
        assert origin == GONE or then[origin] == now[row]
    placed = [(row, place) for row, place in enumerate(rows.placed.tolist()) if place != GONE]
    assert all(rows.origin[place] == row for row, place in placed)
    assert [place for _, place in placed] == sorted(place for _, place in placed)
    if before == after:
        assert not rows.fresh.any()


@given(BLOCKS, BLOCKS)
def test_words_after_a_change_are_searched_as_those_read_at_once(before: list[int], after: list[int]) -> None:
    english = Analyzer("en")
    then, now = (
        chunks_of(*(" ".join(f"w{term}" for term in text) for block in blocks for text in texts_of(block)))
        for blocks in (before, after)
    )
    rows = rows_between(matched(after, before), *([len(texts_of(b)) for b in blocks] for blocks in (after, before)))
    found = ArrayIndex.in_memory(then, english).changed(now, english, rows)
    at_once = ArrayIndex.in_memory(now, english)
    for question in ("w1 w2 w3", "w0", "w12 w5 w5", "w99", ""):
        assert found.search(question, 4) == at_once.search(question, 4)
    assert [found.document_frequency(f"w{n}") for n in range(13)] == [
        at_once.document_frequency(f"w{n}") for n in range(13)
    ]
