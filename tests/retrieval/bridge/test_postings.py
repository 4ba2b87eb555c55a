"""The walk's first search gives what the formula gives, document by document."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.bridge.arrays import offsets
from chatbot_mvp.retrieval.bridge.postings import build_postings, search, work_space

TERMS = 6
documents = st.lists(
    st.tuples(st.lists(st.integers(0, TERMS - 1), max_size=3), st.lists(st.integers(0, TERMS - 1), max_size=8)),
    min_size=1,
    max_size=12,
)
"""(terms of the title, terms of the text) of each document."""


def bm25(term: int, field: list[int], fields: list[list[int]]) -> float:
    holders = sum(term in other for other in fields)
    idf = math.log(1 + (len(fields) - holders + 0.5) / (holders + 0.5))
    mean = sum(map(len, fields)) / len(fields)
    frequency = field.count(term)
    return idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * len(field) / mean)) if frequency else 0.0


def expected(question: list[int], corpus: list[tuple[list[int], list[int]]]) -> dict[int, float]:
    titles, texts = [title for title, _ in corpus], [title + text for title, text in corpus]
    scores = {}
    for row in range(len(corpus)):
        score = 0.0
        for term in question:
            fields = bm25(term, texts[row], texts), 2 * bm25(term, titles[row], titles)
            score += max(fields) + 0.3 * min(fields)
        if score > 0:
            scores[row] = score
    return scores


@given(corpus=documents, question=st.sets(st.integers(0, TERMS - 1)).map(sorted), limit=st.integers(1, 15))
def test_search_is_the_formula_sorted(
    corpus: list[tuple[list[int], list[int]]], question: list[int], limit: int
) -> None:
    titles, texts = [title for title, _ in corpus], [text for _, text in corpus]
    postings = build_postings(
        np.array([term for text in texts for term in text], np.int32),
        offsets(np.array([len(text) for text in texts])),
        np.array([term for title in titles for term in title], np.int32),
        offsets(np.array([len(title) for title in titles])),
        TERMS,
    )
    total = work_space(len(corpus))
    rows, scores = search(postings, np.array(question, np.int64), limit, total)
    wanted = expected(question, corpus)
    best = sorted(wanted.values(), reverse=True)[:limit]
    assert scores.tolist() == pytest.approx(best, rel=1e-5)
    assert scores.tolist() == pytest.approx([wanted[row] for row in rows.tolist()], rel=1e-5)
    assert sorted(zip(-scores, rows, strict=True)) == list(zip(-scores, rows, strict=True))
    assert not total.any()
