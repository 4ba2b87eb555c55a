"""The indexes of a knowledge base give what their formulas give for one paragraph after the other."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
import pytest

from chatbot_mvp.retrieval.arrays import best_rows
from chatbot_mvp.retrieval.kb import frequent
from chatbot_mvp.retrieval.kb.matching import PassageMatcher
from chatbot_mvp.retrieval.kb.passages import ChunkParagraphs, Passage, join_contexts
from chatbot_mvp.retrieval.kb.vocabulary import build_bm25_index
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk
from tests.retrieval.kb import reference
from tests.retrieval.kb.reference import Paragraphs

SPANISH = Analyzer("es")
WORDS = (
    "hoja ruta firma archivo dieta completa euros taller mañana energía garantía 48 lunes el de la se guarda".split()
)
HEADINGS = ["Dietas", "Manual > Hoja de ruta", "Taller", "Energía", ""]


class Case(NamedTuple):
    passages: list[Passage]
    matcher: PassageMatcher
    paragraphs: Paragraphs
    questions: list[str]


def text(draw: random.Random, most: int) -> str:
    said = [" ".join(draw.choices(WORDS, k=draw.randint(1, 9))).capitalize() for _ in range(draw.randint(1, most))]
    return ". ".join(said) + "."


def made(seed: int, count: int, enriched: bool) -> Case:
    draw = random.Random(seed)
    passages = []
    for row in range(count):
        written = text(draw, 5)
        spans = sentences(written)
        windows = tuple((start, spans[min(n + 1, len(spans) - 1)][1]) for n, (start, _) in enumerate(spans))
        context, asked = (text(draw, 1), text(draw, 2)) if enriched and draw.random() < 0.7 else ("", "")
        passages.append(Passage(draw.choice(HEADINGS), written, 0, (row,), windows, context, asked))
    questions = [
        " ".join(draw.choices([*WORDS, "submarino", "tallercito", "día"], k=draw.randint(1, 8))) for _ in range(5)
    ]
    return Case(passages, PassageMatcher(passages, SPANISH), Paragraphs(passages, SPANISH), questions)


@pytest.fixture(
    scope="module",
    params=[(1, 1, False), (2, 9, False), (3, 9, True), (4, 40, True)],
    ids=["one paragraph", "9", "9 with contexts and questions", "40 with both"],
)
def case(request: pytest.FixtureRequest) -> Case:
    return made(*request.param)


def test_bm25_is_the_formula_over_heading_context_and_text(case: Case) -> None:
    for question in case.questions:
        weights = {term: 1 / (n + 1) for n, term in enumerate(SPANISH.terms(question))}
        assert case.matcher.bm25(weights).tolist() == pytest.approx(case.paragraphs.bm25(weights))


def test_a_search_counts_the_words_of_the_questions_as_well(case: Case) -> None:
    for question in case.questions:
        weights = dict.fromkeys(SPANISH.terms(question), 1.0)
        found = case.matcher.bm25(weights, with_questions=True).tolist()
        assert found == pytest.approx(case.paragraphs.bm25(weights, searched=True))


def test_coverage_and_letters_are_those_of_the_best_window(case: Case) -> None:
    for question in case.questions:
        weights = {term: 1 / (n + 1) for n, term in enumerate(SPANISH.terms(question))}
        assert case.matcher.window_coverage(weights).tolist() == pytest.approx(case.paragraphs.coverage(weights))
        assert case.matcher.letters(question).tolist() == pytest.approx(case.paragraphs.letters(question))


def test_letters_are_the_same_however_many_windows_are_indexed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made(4, 40, True)
    monkeypatch.setattr("chatbot_mvp.retrieval.kb.matching._BLOCK", 7)
    parts = PassageMatcher(whole.passages, SPANISH)
    for question in whole.questions:
        assert parts.letters(question).tolist() == whole.matcher.letters(question).tolist()


def test_pairs_and_headings_are_counted_paragraph_by_paragraph(case: Case) -> None:
    for question in case.questions:
        terms = SPANISH.terms(question)
        assert case.matcher.pair_share(terms).tolist() == pytest.approx(case.paragraphs.pairs(terms))
        assert case.matcher.heading_counts(terms).tolist() == case.paragraphs.heading(terms)


def test_texts_of_windows_have_heading_and_context_and_those_of_sentences_have_not(case: Case) -> None:
    windows, alone, owner = [], [], []
    for row, p in enumerate(case.passages):
        beside = [part for part in (p.context, p.section) if part]
        windows += ["\n".join([*beside, p.text[start:end]]) for start, end in p.windows]
        alone += case.paragraphs.sentences[row]
        owner += [row] * len(p.windows)
    assert [case.matcher.window_text(row) for row in range(len(owner))] == windows
    assert [case.matcher.sentence_text(row) for row in range(len(owner))] == alone
    assert case.matcher.window_passage.tolist() == owner


def test_paragraphs_of_one_heading_belong_to_one_section(case: Case) -> None:
    for row, passage in enumerate(case.passages):
        others = [n for n, p in enumerate(case.passages) if p.section == passage.section and n != row]
        assert case.matcher.same_section(row).tolist() == others


def test_the_best_of_windows_is_that_of_each_paragraph(case: Case) -> None:
    scores = np.array([random.Random(n).uniform(-1, 1) for n in range(len(case.matcher.window_passage))])
    best = [max(scores[case.matcher.window_passage == row]) for row in range(len(case.passages))]
    assert case.matcher.best_of_windows(scores).tolist() == best


@pytest.mark.parametrize("most", [5_000, 12])
def test_the_vocabulary_has_the_most_frequent_phrases_and_the_most_bound_terms(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(frequent, "MAX_PHRASES", most)
    draw = random.Random(5)
    paragraphs = [text(draw, 4) for _ in range(30)]
    chunks = [Chunk(f"c{n}", f"d{n}", f"T{n}", said, 0, len(said)) for n, said in enumerate(paragraphs)]
    index = build_bm25_index(chunks, "es")
    terms = [SPANISH.terms(said) for said in paragraphs]
    assert list(index.vocab_terms.items()) == list(reference.frequent(terms, most).items())
    assert dict(index.cooc_map) == reference.neighbours(terms)


@pytest.mark.parametrize("seed", range(4))
def test_chunks_are_ranked_by_their_best_paragraph_then_by_all_then_by_id(seed: int) -> None:
    draw = random.Random(seed)
    ids = [f"c{n}" for n in range(12)]
    draw.shuffle(ids)
    positions = [sorted(draw.sample(range(11), draw.randint(0, 3))) for _ in range(20)]  # the last chunk has none
    scores = np.array([draw.choice([0.0, -0.5, 0.25, 0.5, 0.5, 1.0]) for _ in positions])
    chunks = ChunkParagraphs(positions, ids)
    found, best = chunks.ranked(scores, 1e-3)
    assert list(zip(found.tolist(), best.tolist(), strict=True)) == reference.ranked(scores.tolist(), positions, ids)
    for position in range(len(ids)):
        assert chunks.of(position).tolist() == [row for row, of in enumerate(positions) if position in of]


@pytest.mark.parametrize("limit", [0, 1, 3, 8, 20])
def test_the_best_rows_are_those_of_a_stable_sort(limit: int) -> None:
    scores = [0.5, 0.25, 0.5, 1.0, 0.25, 0.0, -1.0, 0.5]
    assert best_rows(np.array(scores), limit).tolist() == sorted(range(8), key=lambda row: -scores[row])[:limit]


def test_a_joined_chunk_has_the_contexts_of_its_pieces_in_order() -> None:
    def piece(name: str, doc_id: str, start: int, end: int) -> Chunk:
        return Chunk(name, doc_id, "S", "x" * (end - start), start, end)

    chunks = [piece("a", "d", 0, 5), piece("b", "d", 3, 9), piece("c", "d", 9, 12), piece("d", "e", 3, 9)]
    joined = [piece("a-b", "d", 0, 9), chunks[2], chunks[3]]
    assert join_contexts(joined, chunks, ["uno", "dos", "tres", "otro"]) == ["uno dos", "tres", "otro"]
    assert join_contexts(joined, chunks, ["", "dos", "", "otro"]) == ["dos", "", "otro"]
