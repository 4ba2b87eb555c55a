"""The walk's first search gives what the formula gives, document by document."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval import postings
from chatbot_mvp.retrieval.arrays import offsets
from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk

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


@pytest.mark.parametrize("few", [postings._FEW, 0], ids=["all added up", "frequent terms looked up"])
@given(corpus=documents, question=st.sets(st.integers(0, TERMS - 1)).map(sorted), limit=st.integers(1, 15))
def test_search_is_the_formula_sorted(
    few: int, corpus: list[tuple[list[int], list[int]]], question: list[int], limit: int
) -> None:
    words = [["kestrel", "bridge", "river", "village", "bread", "designer"][term] for term in range(TERMS)]
    chunks = [
        Chunk(str(n), str(n), " ".join(words[t] for t in title), " ".join(words[t] for t in text), 0, 0)
        for n, (title, text) in enumerate(corpus)
    ]
    made = build_corpus(chunks, len(chunks), Analyzer("en"))
    stems = [made.vocabulary.number(Analyzer("en").terms(words[term])[0]) for term in question]
    total = np.zeros(len(corpus), np.float32)
    with mock.patch.object(postings, "_FEW", few):
        terms = np.array([number for number in stems if number >= 0], np.int64)
        rows, scores = postings.search(made.postings, terms, limit, total)
    wanted = expected(question, corpus)
    best = sorted(wanted.values(), reverse=True)[:limit]
    assert scores.tolist() == pytest.approx(best, rel=1e-5)
    assert scores.tolist() == pytest.approx([wanted[row] for row in rows.tolist()], rel=1e-5)
    assert sorted(zip(-scores, rows, strict=True)) == list(zip(-scores, rows, strict=True))
    assert not total.any()


def test_looking_up_frequent_terms_finds_what_adding_up_finds_to_the_bit() -> None:
    """30,000 documents with terms of any frequency, rounded scores with ties among them."""
    random = np.random.default_rng(0)
    count = 30_000
    holders = [3, 40, 200, 2_000, 9_000, 20_000, count]
    rows = [np.sort(random.choice(count, held, replace=False)).astype(np.int32) for held in holders]
    for digits in (1, 6):
        scores = [(random.random(len(r)) * np.log(count / len(r) + 1) + 0.1).round(digits) for r in rows]
        impacts = [of_term.astype(np.float32) for of_term in scores]
        highest = np.array([of_term.max() for of_term in impacts], np.float32)
        made = postings.Impacts(offsets(np.array(holders)), np.concatenate(rows), np.concatenate(impacts), highest)
        total = np.zeros(count, np.float32)
        for terms in ([6, 0, 4], [5, 3, 2, 1], [0, 1, 2, 3, 4, 5, 6], [6], [6, 5]):
            found = []
            for few in (10**9, 0):
                with mock.patch.object(postings, "_FEW", few):
                    found.append([v.tolist() for v in postings.search(made, np.array(terms), 80, total)])
            assert found[0] == found[1]
            assert not total.any()
