"""BM25 weights: by hand, and as Tantivy computes them, also for lengths that it stores inexactly."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbot_mvp.retrieval.bm25 import DocumentWeights, in_order, term_weight
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex
from chatbot_mvp.text import Analyzer
from tests.fakes import chunks_of

ANALYZER = Analyzer("en")


def test_weights_by_hand() -> None:
    # Four terms where the average is two: norm = 1.2 (1 - 0.75 + 0.75 x 4 / 2) = 2.1; the term 7 occurs three times.
    assert DocumentWeights(2.0).of([7, 7, 7, 9]) == pytest.approx({7: 3 / (3 + 2.1), 9: 1 / (1 + 2.1)})
    assert term_weight(2, 10) == pytest.approx(2.2 * math.log(1 + 8.5 / 2.5))


@settings(max_examples=20)
@given(st.lists(st.integers(0, 3_000), min_size=2, max_size=8))
def test_the_inner_product_is_the_score_of_tantivy_for_any_lengths(lengths: list[int]) -> None:
    chunks = chunks_of(*("word " + "other " * length for length in lengths))
    terms = [ANALYZER.terms(chunk.index_text) for chunk in chunks]
    weights = DocumentWeights(sum(map(len, terms)) / len(terms))
    [term] = ANALYZER.terms("word")
    found = dict(LexicalIndex.build(chunks, ANALYZER).search("word", 100))
    for row, own in enumerate(terms):
        product = term_weight(len(chunks), len(chunks)) * weights.of([hash(one) for one in own])[hash(term)]
        assert product == pytest.approx(found[row], rel=1e-6)


def test_scores_that_differ_by_rounding_are_ordered_by_row_and_others_by_score() -> None:
    near = 10.0 * (1 + 1e-7)
    assert in_order([(9, 10.0), (3, near), (1, 10.00001), (4, 5.0)], 3) == [(1, 10.00001), (3, near), (9, 10.0)]
    assert in_order([(9, near), (3, 10.0)], 5) == [(3, 10.0), (9, near)]
