"""BM25: the same hits from memory and from disk, and no input that is read as query syntax."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.indexes.corpus import growing_index
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, last
from tests.fakes import chunks_of

ANALYZER = Analyzer("es")
TEXTS = [
    "El perro ladra en la puerta del molino",
    "El gato duerme; el perro no duerme",
    "La vacación anual son 23 días laborables",
    "El puente de piedra cruza el río",
]
QUERIES = [
    "perro",
    "el perro que duerme",
    "vacaciones",
    "¿río o puente?",
    "23",
    "nada de esto existe",
    "perro gato río",
]


def random_chunks(seed: int = 7, count: int = 300) -> list[Chunk]:
    """Many short texts over few words, so that most scores tie with others."""
    rng = random.Random(seed)
    return chunks_of(*(" ".join(rng.choices(["perro", "gato", "luna", "sol"], k=3)) for _ in range(count)))


def test_an_index_in_memory_and_one_on_disk_give_identical_hits(tmp_path: Path) -> None:
    chunks = [*chunks_of(*TEXTS), *random_chunks()]
    memory = LexicalIndex.build(chunks, ANALYZER)
    written = LexicalIndex.build(chunks, ANALYZER, tmp_path / "index")
    opened = LexicalIndex.open(tmp_path / "index", ANALYZER)
    assert opened is not None
    assert memory.count == written.count == opened.count == len(chunks)
    for query in QUERIES:
        for limit in (1, 7, 1_000):
            assert memory.search(query, limit) == written.search(query, limit) == opened.search(query, limit)


def test_two_builds_of_the_same_chunks_give_identical_hits_cuts_through_ties_included() -> None:
    one, other = (LexicalIndex.build(random_chunks(), ANALYZER) for _ in range(2))
    for query in ("perro", "luna sol", "gato perro luna sol"):
        for limit in (3, 50, 299):
            assert one.search(query, limit) == other.search(query, limit)


def test_hits_come_by_score_and_ties_by_row_even_where_the_limit_cuts_a_tie() -> None:
    index = LexicalIndex.build(chunks_of(*["gato perro"] * 20, "gato gato gato", *["gato perro"] * 20), ANALYZER)
    hits = index.search("gato", 10)
    assert [row for row, _ in hits] == [20, *range(9)]
    assert len({score for _, score in hits[1:]}) == 1


def test_the_score_is_bm25() -> None:
    """One match of "gato" in "gato perro" among 2 chunks of 2 terms: idf * (k1 + 1) * tf / (tf + k1), tf = 1, k1 = 1.2.

    idf = ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2; (2.2 * 1) / (1 + 1.2) = 1; score = 0.6931.
    """
    index = LexicalIndex.build(chunks_of("gato perro", "luna sol"), ANALYZER)
    [(row, score)] = index.search("gato", 5)
    assert row == 0
    assert score == pytest.approx(math.log(2), abs=1e-5)
    twice = LexicalIndex.build(chunks_of("gato perro", "gato gato", "luna sol"), ANALYZER).search("gato", 5)
    assert [row for row, _ in twice] == [1, 0], "a word that stands there twice counts more"


def test_forms_of_a_word_find_each_other() -> None:
    index = LexicalIndex.build(chunks_of(*TEXTS), ANALYZER)
    assert [row for row, _ in index.search("VACACIONES", 5)] == [2]


def test_the_sections_name_is_searched_too() -> None:
    chunk = Chunk("c", "d", "Gastos de viaje", "Son 48 euros", 0, 12)
    index = LexicalIndex.build([*chunks_of(*TEXTS), chunk], ANALYZER)
    assert [row for row, _ in index.search("viajes", 5)] == [4]


@pytest.mark.parametrize("query", ["", "   ", "¿?", "el la de", "🙂", '+-&&||!(){}[]^"~*?:\\/'])
def test_a_query_without_terms_finds_nothing(query: str) -> None:
    assert LexicalIndex.build(chunks_of(*TEXTS), ANALYZER).search(query, 5) == []


@pytest.mark.parametrize(
    "query",
    [
        '"perro',
        "perro AND (gato OR",
        "terms:perro",
        "row:1 perro",
        "perro^99",
        "perro~2 *",
        "[a TO perro]",
        "-perro +perro",
        "IN [perro]",
        "perro\\",
        "perro\x00",
        "🙂 perro 🙂",
    ],
)
def test_query_syntax_is_read_as_plain_words(query: str) -> None:
    index = LexicalIndex.build(chunks_of(*TEXTS), ANALYZER)
    assert {0, 1} <= {row for row, _ in index.search(query, 5)}


@given(st.text(max_size=80) | st.text(alphabet="\"'?:+-*()[]{}^~\\/!&| perogat🙂", max_size=60))
def test_any_query_gives_valid_rows_best_first(query: str) -> None:
    index = _index_of_texts()
    hits = index.search(query, 3)
    assert len(hits) <= 3
    assert len({row for row, _ in hits}) == len(hits)
    assert all(0 <= row < len(TEXTS) and score > 0 for row, score in hits)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


_CACHED: list[LexicalIndex] = []


def _index_of_texts() -> LexicalIndex:
    if not _CACHED:
        _CACHED.append(LexicalIndex.build(chunks_of(*TEXTS), ANALYZER))
    return _CACHED[0]


@pytest.mark.parametrize(
    "query",
    [" ".join(f"palabra{n}" for n in range(10_000)) + " molino", "molino " * 10_000, "molino " + "a" * 100_000],
    ids=["10,000 different words", "one word 10,000 times", "a word of 100,000 letters"],
)
def test_a_very_long_query_is_searched_like_any_other(query: str) -> None:
    assert [row for row, _ in _index_of_texts().search(query, 5)] == [0]


def test_an_empty_index_finds_nothing() -> None:
    assert LexicalIndex.build([], ANALYZER).search("perro", 5) == []


@pytest.mark.parametrize(("word", "count"), [("perro", 2), ("puente", 1), ("submarino", 0)])
def test_document_frequency_counts_chunks(word: str, count: int) -> None:
    [term] = ANALYZER.terms(word)
    assert _index_of_texts().document_frequency(term) == count


def test_idf_is_that_of_bm25_and_highest_for_an_unknown_term(tmp_path: Path) -> None:
    """N = 4: n = 2 gives ln(1 + 2.5/2.5) = ln 2; n = 0 gives ln(1 + 4.5/0.5) = ln 10."""
    index = last(growing_index(chunks_of(*TEXTS), "es", tmp_path, None))
    assert index.idf("perr") == pytest.approx(math.log(2))
    assert index.idf("submarin") == pytest.approx(math.log(10))


@pytest.mark.parametrize("damage", ["no mark", "empty folder", "no folder", "damaged meta.json", "missing file"])
def test_an_incomplete_index_is_not_opened_but_built_again(tmp_path: Path, damage: str) -> None:
    chunks = chunks_of(*TEXTS)
    before = last(growing_index(chunks, "es", tmp_path, None)).lexical.search("perro", 5)
    [folder] = [path for path in (tmp_path / "indexes").iterdir() if path.is_dir()]
    if damage == "no mark":
        (folder / "complete").unlink()
    elif damage == "damaged meta.json":
        (folder / "meta.json").write_text("{", "utf-8")
    elif damage == "missing file":
        next(folder.glob("*.term")).unlink()
    else:
        for path in folder.iterdir():
            path.unlink()
        if damage == "no folder":
            folder.rmdir()
    assert LexicalIndex.open(folder, ANALYZER) is None
    assert last(growing_index(chunks, "es", tmp_path, None)).lexical.search("perro", 5) == before
    assert LexicalIndex.open(folder, ANALYZER) is not None


def test_a_second_build_of_the_same_chunks_loads_the_first(tmp_path: Path) -> None:
    seen: list[Progress] = []
    for _ in range(2):
        last(growing_index(chunks_of(*TEXTS), "es", tmp_path, None, seen.append))
    assert [(p.phase, p.done) for p in seen] == [("index", 0), ("index", 4)]


@pytest.mark.parametrize(
    ("texts", "language"), [([*TEXTS[:3], "otro"], "es"), (TEXTS[::-1], "es"), (TEXTS[:3], "es"), (TEXTS, "en")]
)
def test_other_chunks_or_another_language_get_an_index_of_their_own(
    tmp_path: Path, texts: list[str], language: str
) -> None:
    last(growing_index(chunks_of(*TEXTS), "es", tmp_path, None))
    last(growing_index(chunks_of(*texts), language, tmp_path, None))
    assert len([path for path in (tmp_path / "indexes").iterdir() if path.is_dir()]) == 2
