"""Postings of texts: rows, counts and scores of features, against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.bm25 import bm25, idf, idfs, length_norm, term_weight, term_weights
from chatbot_mvp.retrieval.postings import Postings

texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=6), max_size=8)


@given(texts)
def test_rows_and_counts_are_those_of_the_texts(found: list[list[str]]) -> None:
    postings = Postings.of(found, counted=True)
    for feature in "abcde":
        rows = [row for row, text in enumerate(found) if feature in text]
        assert postings.rows(feature).tolist() == rows
        assert postings.counts(feature).tolist() == [found[row].count(feature) for row in rows]
        assert (feature in postings) == bool(rows)
        assert postings.idf(feature) == idf(len(found), len(rows))
    assert postings.having("abbe").tolist() == [len({"a", "b"} & {*text}) for text in found]


def test_without_counts_every_count_is_one() -> None:
    assert Postings.of(["aab"]).counts("a").tolist() == [1.0]


def test_bm25_by_hand() -> None:
    """k1 = 1.2, b = 0.75; lengths 3 and 1, mean 2: norms 1.2 (0.25 + 0.75 x 1.5) = 1.65 and 1.2 x 0.625 = 0.75."""
    norm = length_norm(np.array([3, 1]), 2.0)
    assert norm.tolist() == pytest.approx([1.65, 0.75])
    assert idf(2, 1) == pytest.approx(math.log(2))
    scores = Postings.of(["aab", "c"], counted=True).bm25({"a": 0.5, "c": 1.0, "z": 1.0}, norm)
    assert scores.tolist() == pytest.approx([0.5 * math.log(2) * 2 * 2.2 / 3.65, math.log(2) * 2.2 / 1.75])
    assert bm25(2.0, np.array([1.0]), np.array([0.5]), k1=1.5).tolist() == pytest.approx([2 * 2.5 / 1.5])


def test_weights_of_several_terms_are_those_of_each() -> None:
    containing = np.arange(20)
    assert idfs(19, containing).tolist() == pytest.approx([idf(19, n) for n in range(20)])
    assert term_weights(containing, 19).tolist() == [term_weight(n, 19) for n in range(20)]
