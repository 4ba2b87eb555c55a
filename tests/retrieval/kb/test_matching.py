"""Scores of paragraphs, against figures worked out by hand."""

from __future__ import annotations

import math

import pytest

from chatbot_mvp.retrieval.kb.matching import PassageMatcher
from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer

TEXTS = ["gato perro", "gato luna", "sol mar"]


@pytest.fixture
def matcher() -> PassageMatcher:
    passages = [Passage("", text, 0, (row,), ((0, len(text)),)) for row, text in enumerate(TEXTS)]
    return PassageMatcher(passages, Analyzer("es"))


def test_bm25_of_a_term_once_in_a_paragraph_of_mean_length_is_its_idf(matcher: PassageMatcher) -> None:
    """tf = 1, length = mean: (k1 + 1) / (1 + k1) = 1; "gat" in 2 of 3: ln(1 + 1.5/2.5)."""
    assert matcher.bm25({"gat": 1.0}) == pytest.approx([math.log(1.6), math.log(1.6), 0.0])
    assert matcher.bm25({"gat": 0.5}) == pytest.approx([math.log(1.6) / 2, math.log(1.6) / 2, 0.0])


def test_coverage_is_the_idf_weighted_share_and_an_unknown_term_weighs_the_most(matcher: PassageMatcher) -> None:
    """ "gat": ln 1.6, "submarin" nowhere: ln(1 + 3.5/0.5) = ln 8."""
    share = math.log(1.6) / (math.log(1.6) + math.log(8))
    assert matcher.window_coverage({"gat": 1.0, "submarin": 1.0}) == pytest.approx([share, share, 0.0])


def test_letters_find_a_misspelt_word(matcher: PassageMatcher) -> None:
    scores = matcher.letters("perrro")
    assert scores.argmax() == 0
    assert 0 < scores[0] < 1
    assert matcher.letters("perro")[0] == pytest.approx(1.0)


def test_pairs_count_where_their_terms_stand_together(matcher: PassageMatcher) -> None:
    assert matcher.pair_share(["gat", "perr", "lun"]) == pytest.approx([0.5, 0.0, 0.0])


@pytest.mark.parametrize("text", ["", "¿?", "🙂", "de la el"])
def test_a_text_without_terms_matches_nothing(matcher: PassageMatcher, text: str) -> None:
    assert not matcher.letters(text).any()
