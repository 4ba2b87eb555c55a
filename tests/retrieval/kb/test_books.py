"""The arrays of a knowledge base's index hold what counting its words one by one gives."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.arrays import best_rows
from chatbot_mvp.retrieval.kb.frequent import COOC_WINDOW, MIN_COUNT
from chatbot_mvp.retrieval.kb.links import SectionLinks
from chatbot_mvp.retrieval.kb.matching import GRAM
from chatbot_mvp.retrieval.kb.passages import ChunkParagraphs, Passage, join_contexts, join_pieces
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex, build_bm25_index
from chatbot_mvp.text import Analyzer, fold
from chatbot_mvp.types import Chunk, Document

WORDS = """gasto gastos viaje viajes dieta hotel límite limite papá papa Papá euro euros parte turno seguridad U.S.
    firma persona responsable cada día semana oficina manual norma plazo pago factura España año años niño ñandú café
    cafés""".split()


def book(seed: int) -> str:
    """A text with headings that repeat, mentions of headings, lists, and paragraphs of several sentences."""
    rng = random.Random(seed)
    parts = ["# Libro"]
    for _ in range(40):
        if rng.random() < 0.4:
            parts.append(f"{'#' * rng.choice((2, 3))} {' '.join(rng.choices(WORDS, k=rng.randint(1, 3))).capitalize()}")
        lines = [
            " ".join(rng.choices([*WORDS, "de", "la", "es"], k=rng.randint(2, 9))) for _ in range(rng.randint(1, 5))
        ]
        parts.append(rng.choice((". ", ".\n", "\n- ")).join(line.capitalize() for line in lines) + ".")
    return "\n\n".join(parts)


@pytest.fixture(params=[0, 1, 2])
def chunks(request: pytest.FixtureRequest) -> list[Chunk]:
    return chunk_document(Document("kb", "kb", book(request.param)))


@pytest.fixture(params=[False, True], ids=["plain", "enriched"])
def index(request: pytest.FixtureRequest, chunks: list[Chunk]) -> KbIndex:
    contexts = [f"Fragmento {row} sobre las dietas y páginas." if row % 3 else "" for row in range(len(chunks))]
    return build_bm25_index(chunks, "es", contexts if request.param else [])


def whole(passage: Passage) -> str:
    return f"{passage.section}\n{passage.context}\n{passage.text}"


def windows(index: KbIndex) -> Iterator[tuple[int, str, str]]:
    """(paragraph, text of the window, text below its heading) in order."""
    for row, passage in enumerate(index.matcher.passages):
        for start, end in passage.windows:
            text = passage.text[start:end]
            yield row, text, f"{passage.section}\n{text}" if passage.section else text


def grams(index: KbIndex, text: str) -> set[str]:
    found = set()
    for word, _ in index.analyzer.content_words(text):
        padded = f" {fold(word)} "
        found |= {padded[at : at + GRAM] for at in range(max(1, len(padded) - GRAM + 1))}
    return found


def test_term_postings_hold_the_counts_of_each_paragraph(index: KbIndex) -> None:
    expected: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, passage in enumerate(index.matcher.passages):
        for term, count in Counter(index.analyzer.terms(whole(passage))).items():
            expected[term].append((row, count))
    terms = index.matcher.terms
    assert expected
    for term, pairs in expected.items():
        assert list(zip(terms.rows(term).tolist(), terms.counts(term).tolist(), strict=True)) == pairs
    assert "submarin" not in terms
    assert len(terms.rows("submarin")) == 0


def test_window_postings_hold_the_terms_and_letters_of_each_window(index: KbIndex) -> None:
    by_term, by_gram = defaultdict(list), defaultdict(list)
    for row, (passage, text, headed) in enumerate(windows(index)):
        assert index.matcher.window_passage[row] == passage
        for term in set(index.analyzer.terms(text)):
            by_term[term].append(row)
        for gram in grams(index, headed):
            by_gram[gram].append(row)
    for term, rows in by_term.items():
        assert index.matcher.window_terms.rows(term).tolist() == rows
    for gram, rows in by_gram.items():
        assert index.matcher.grams.rows(gram).tolist() == rows
    assert index.matcher.grams.idf("zzzz") == index.matcher.grams.idf(" sub")


def test_pairs_are_terms_at_most_one_term_apart(index: KbIndex) -> None:
    expected: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, passage in enumerate(index.matcher.passages):
        unit = index.analyzer.terms(whole(passage))
        for pair in dict.fromkeys([*pairwise(unit), *zip(unit, unit[2:], strict=False)]):
            expected[pair].append(row)
    for pair, rows in expected.items():
        assert index.matcher.pairs.rows(pair).tolist() == rows
    absent = next((a, b) for a in index.words.values() for b in index.words.values() if (a, b) not in expected)
    assert absent not in index.matcher.pairs
    assert ("gast", "submarin") not in index.matcher.pairs


def test_texts_of_windows_and_sentences_are_those_that_are_embedded(index: KbIndex) -> None:
    headed = [
        f"{index.matcher.passages[row].context}\n{text}" if index.matcher.passages[row].context else text
        for row, _, text in windows(index)
    ]
    sentences = [p.text[start:end] for p in index.matcher.passages for start, end in p.sentences]
    assert [index.matcher.window_text(row) for row in range(len(headed))] == headed
    assert [index.matcher.sentence_text(row) for row in range(len(sentences))] == sentences
    assert len(index.matcher.window_passage) == len(headed) == len(sentences)


def test_words_have_the_term_of_their_last_spelling_in_the_text(index: KbIndex) -> None:
    expected: dict[str, str] = {}
    texts = [passage.text for passage in index.matcher.passages]
    texts += dict.fromkeys(passage.section for passage in index.matcher.passages)
    texts += dict.fromkeys(index.contexts)
    for text in texts:
        expected.update((fold(word), term) for word, term in index.analyzer.content_words(text))
    assert list(index.words.items()) == list(expected.items())


def test_frequent_phrases_and_near_terms_are_counted_within_paragraphs(index: KbIndex) -> None:
    counts: Counter[str] = Counter()
    near: Counter[frozenset[str]] = Counter()
    alone: Counter[str] = Counter()
    for passage in index.matcher.passages:
        terms = index.analyzer.terms(passage.text)
        alone.update(terms)
        for size in (1, 2, 3):
            counts.update(" ".join(terms[at : at + size]) for at in range(len(terms) - size + 1))
        for distance in range(1, COOC_WINDOW + 1):
            near.update(frozenset(pair) for pair in zip(terms, terms[distance:], strict=False) if pair[0] != pair[1])
    frequent = sorted(((-count, term) for term, count in counts.items() if count >= MIN_COUNT))
    assert list(index.vocab_terms.items()) == [(term, -count) for count, term in frequent]
    bound = defaultdict(list)
    for pair, together in near.items():
        if together >= MIN_COUNT:
            one, other = sorted(pair)
            value = -2 * together / (alone[one] + alone[other])
            bound[one].append((value, other))
            bound[other].append((value, one))
    assert index.cooc_map == {term: tuple(other for _, other in sorted(found)[:5]) for term, found in bound.items()}


def test_links_are_those_of_a_search_for_each_heading_in_each_text(index: KbIndex) -> None:
    def plain(text: str) -> str:
        return " ".join("".join(char if char.isalnum() or char == "_" else " " for char in fold(text)).split())

    passages = index.matcher.passages
    names = {p.section: plain(p.section.rpartition(" > ")[2]) for p in passages}
    links = SectionLinks(passages, Analyzer("es"))
    for row, passage in enumerate(passages):
        expected = [
            other
            for section, name in names.items()
            if section != passage.section and len(name) >= 4 and index.analyzer.terms(name)
            if f" {name} " in f" {plain(passage.text)} "
            for other, each in enumerate(passages)
            if each.section == section
        ]
        assert list(links[row]) == expected
    assert any(links[row] for row in range(len(passages)))


def test_contexts_of_joined_chunks_are_those_of_their_pieces() -> None:
    text = "# Uno\n\n" + "Una frase cualquiera de un párrafo muy largo. " * 80 + "\n\n# Dos\n\nOtra cosa."
    chunks = chunk_document(Document("kb", "kb", text))
    joined = join_pieces(chunks)
    contexts = [f"contexto {row}" for row in range(len(chunks))]
    assert len(joined) < len(chunks)
    assert join_contexts(joined, chunks, contexts) == [" ".join(contexts[:-1]), contexts[-1]]


def test_chunks_are_ranked_by_their_best_paragraph_then_the_others_then_their_id() -> None:
    paragraphs = ChunkParagraphs([(0,), (0, 1), (1,), (2,), (3,)], ["b", "a", "c", "d", "e"])
    positions, rows = paragraphs.ranked(np.array([0.2, 0.9, 0.5, 0.9, 0.0]), 1e-3)
    assert positions.tolist() == [1, 0, 2]
    assert rows.tolist() == [1, 1, 3]
    assert paragraphs.of(0).tolist() == [0, 1]
    positions, _ = ChunkParagraphs([(0,), (1,)], ["b", "a"]).ranked(np.array([0.5, 0.5]), 1e-3)
    assert positions.tolist() == [1, 0]


@pytest.mark.parametrize(("limit", "expected"), [(3, [1, 3, 0]), (9, [1, 3, 0, 2]), (0, [])])
def test_the_best_rows_are_in_the_order_of_their_scores_and_ties_in_that_of_the_rows(
    limit: int, expected: list[int]
) -> None:
    assert best_rows(np.array([0.1, 0.5, 0.1, 0.5]), limit).tolist() == expected
