"""The arrays of the walk: who mentions whom; equal however they are built, and never half built."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.bridge import key_tables, linking, mentions, postings
from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.bridge.corpus import GRAPH_VERSION, Corpus
from chatbot_mvp.retrieval.bridge.key_tables import FirstUses
from chatbot_mvp.retrieval.indexes.corpus import growing_index
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.storage import arrays
from chatbot_mvp.storage.arrays import ArrayFiles
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, last
from tests.file_sizes import files_of_at_most

TEXTS = {
    "Kestrel Bridge": "The Kestrel Bridge was designed by Ada Vidarte in 1931. It crosses the Orzama.",
    "Ada Vidarte": "Ada Vidarte was an engineer born in Sauceda.",
    "Orzama": "The Orzama is a river. It passes Sauceda and the Kestrel Bridge.",
    "Sauceda": "Sauceda is a village of nine hundred people.",
}
TITLES = list(TEXTS)
ENGLISH = Analyzer("en")


def chunks_of(texts: dict[str, str]) -> list[Chunk]:
    return [Chunk(f"d{n}", f"d{n}", title, text, 0, len(text)) for n, (title, text) in enumerate(texts.items())]


def built(chunks: list[Chunk], **arguments: object) -> Corpus:
    return build_corpus(chunks, len(chunks), ENGLISH, **arguments)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return built(chunks_of(TEXTS))


def arrays_of(corpus: Corpus) -> dict[str, np.ndarray]:
    """All arrays of a corpus, those of its parts too."""
    found: dict[str, np.ndarray] = {}
    for field in fields(corpus):
        value = getattr(corpus, field.name)
        if isinstance(value, tuple):
            found |= {f"{field.name}.{name}": array for name, array in value._asdict().items()}  # type: ignore[attr-defined]
        elif isinstance(value, np.ndarray):
            found[field.name] = value
    return found | {"vocabulary": corpus.vocabulary._keys, "numbers": corpus.vocabulary._numbers}


def assert_equal(one: Corpus, other: Corpus) -> None:
    first, second = arrays_of(one), arrays_of(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values.dtype == second[name].dtype, name
        np.testing.assert_array_equal(values, second[name], err_msg=name)
    assert (one.documents, one.unseen_idf) == (other.documents, other.unseen_idf)


@pytest.mark.parametrize(
    ("title", "mentions", "mentioned_by"),
    [
        ("Kestrel Bridge", {"Ada Vidarte", "Orzama"}, {"Orzama"}),
        ("Ada Vidarte", {"Sauceda"}, {"Kestrel Bridge"}),
        ("Sauceda", set(), {"Ada Vidarte", "Orzama"}),
    ],
)
def test_mentions_run_both_ways_and_none_to_oneself(
    corpus: Corpus, title: str, mentions: set[str], mentioned_by: set[str]
) -> None:
    row, edges = TITLES.index(title), corpus.mentions
    holder = np.arange(len(TITLES)).repeat(np.diff(edges.start))
    assert {TITLES[other] for other in edges.other[edges.start[row] : edges.start[row + 1]]} == mentions
    assert {TITLES[other] for other in holder[edges.other == row]} == mentioned_by
    near = corpus.neighbours[corpus.neighbours_start[row] : corpus.neighbours_start[row + 1]]
    assert {TITLES[other] for other in near} == mentions | mentioned_by


def test_a_mention_stands_in_the_sentence_and_at_the_word_it_says(corpus: Corpus) -> None:
    row, edges = TITLES.index("Kestrel Bridge"), corpus.mentions
    for edge in range(edges.start[row], edges.start[row + 1]):
        begin, width = corpus.mention_begin[edge], edges.width[edge]
        named = ENGLISH.terms(TITLES[edges.other[edge]])
        assert corpus.words[begin : begin + width].tolist() == [corpus.vocabulary.number(term) for term in named]
    assert sorted(edges.sentence[edges.start[row] : edges.start[row + 1]].tolist()) == [0, 1]


def test_passages_of_one_title_do_not_mention_each_other() -> None:
    twice = [*chunks_of({"Orzama": "The Orzama is a river."}), *chunks_of({"Orzama": "The Orzama floods."})]
    assert len(built(twice).mentions.other) == 0


def test_a_document_that_many_mention_is_less_rare(corpus: Corpus) -> None:
    rarity = dict(zip(TITLES, corpus.rarity.tolist(), strict=True))
    assert rarity["Sauceda"] < rarity["Ada Vidarte"] <= 1.0


@pytest.mark.parametrize(
    "texts", [{}, {"": ""}, {"A": "", "": "word"}], ids=["none", "one empty", "no text or no title"]
)
def test_a_corpus_of_next_to_nothing_has_arrays(texts: dict[str, str], tmp_path: Path) -> None:
    assert_equal(built(chunks_of(texts), folder=tmp_path), built(chunks_of(texts)))


WORDS = "Ada ada Vidarte the The of Kestrel Bridge bridges Orzama other Others 1931 was, (river) is. A".split()
documents = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
        st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join),
    ),
    max_size=12,
)


@pytest.mark.slow
@hypothesis_settings(max_examples=60, deadline=None)
@given(texts=documents, part_words=st.integers(0, 30))
def test_the_arrays_do_not_depend_on_how_the_corpus_is_cut_into_parts(
    texts: list[tuple[str, str]], part_words: int
) -> None:
    chunks = [Chunk(str(n), str(n), title, text, 0, len(text)) for n, (title, text) in enumerate(texts)]
    assert_equal(built(chunks, part_words=part_words), built(chunks))


def test_progress_rises_document_by_document_and_then_part_by_part() -> None:
    """A part per document, and an empty one at the end."""
    seen: list[Progress] = []
    built(chunks_of(TEXTS), part_words=0, progress=seen.append)
    assert [(p.phase, p.done, p.total) for p in seen] == [("link", done, 8) for done in (0, 5, 6, 7, 8, 8)]


def test_parts_of_a_real_corpus_in_files_give_the_arrays_of_one_part_in_memory(tmp_path: Path) -> None:
    dataset = load_dataset(PROJECT_ROOT / "data" / "samples" / "valle_multihop")
    chunks = [passage_chunk(document) for document in dataset.documents]
    in_files = built(chunks, folder=tmp_path, part_words=500)
    assert_equal(in_files, built(chunks))
    assert_equal(Corpus.open(tmp_path), in_files)
    assert not list(tmp_path.glob("part-*"))


@pytest.mark.parametrize("in_files", [False, True])
def test_the_arrays_do_not_depend_on_how_keys_and_rows_are_divided(
    in_files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real corpus, with some hundred ranges of keys, buckets of postings and buckets of documents."""
    dataset = load_dataset(PROJECT_ROOT / "data" / "samples" / "valle_multihop")
    chunks = [passage_chunk(document) for document in dataset.documents]
    whole = built(chunks)
    divide(monkeypatch, rows=50, bucket=100, documents=7, piece=13)
    assert_equal(built(chunks, folder=tmp_path if in_files else None, part_words=500), whole)


def divide(
    monkeypatch: pytest.MonkeyPatch, rows: int, bucket: int, documents: int, piece: int, sieve_bits: int = 26
) -> None:
    """Set what is in memory at a time to less, as if the corpus were a thousand times larger."""
    for module, name, value in (
        (key_tables, "_TOGETHER", rows),
        (postings, "_BUCKET", bucket),
        (linking, "_BUCKET_ROWS", documents),
        (arrays, "_PIECE", piece),
        (mentions, "_TOGETHER", piece),
        (mentions, "_SIEVE_BITS", sieve_bits),
    ):
        monkeypatch.setattr(module, name, value)


@hypothesis_settings(max_examples=60, deadline=None)
@given(pieces=st.lists(st.lists(st.sampled_from([0, 3, 1 << 60, 1 << 63, (1 << 64) - 1])), min_size=1))
def test_keys_get_numbers_in_the_order_of_their_first_use(pieces: list[list[int]]) -> None:
    keys = FirstUses(ArrayFiles(None), "keys")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(key_tables, "_TOGETHER", 3)
        for piece in pieces:
            keys.add(np.array(piece, np.uint64))
        keys.finish()
    numbers = {key: number for number, key in enumerate(dict.fromkeys(chain.from_iterable(pieces)))}
    assert [keys.numbers(n).tolist() for n in range(len(pieces))] == [[numbers[k] for k in piece] for piece in pieces]
    assert keys.total == len(numbers)


@pytest.mark.slow
def test_memory_does_not_grow_with_names_and_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each document brings five new words and a new name. With tables in memory, it took 490 bytes."""

    def documents(count: int) -> Iterator[Chunk]:
        for row in range(count):
            one, two, *others = (f"{chr(97 + n)}{row:x}x" for n in range(5))
            yield Chunk(f"d{row}", f"d{row}", f"{one} {two}".title(), " ".join(others), 0, 9)

    def peak(count: int, folder: str) -> int:
        (tmp_path / folder).mkdir()
        tracemalloc.reset_peak()
        build_corpus(documents(count), count, ENGLISH, folder=tmp_path / folder, part_words=1_000)
        return tracemalloc.get_traced_memory()[1]

    divide(monkeypatch, rows=2_000, bucket=4_000, documents=500, piece=1_000, sieve_bits=10)
    small, large = 1_000, 3_000
    for chunk in documents(large):  # fills the analyzer's cache of words, which has a limit of its own
        ENGLISH.words(f"{chunk.section} {chunk.text}")
    tracemalloc.start()
    try:
        growth = (peak(large, "large") - peak(small, "small")) / (large - small)
    finally:
        tracemalloc.stop()
    assert growth < 150, f"{growth:.0f} bytes per document"


def links_of(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*links-*") if path.is_dir()]


def test_a_build_that_died_leaves_nothing_that_is_used(tmp_path: Path) -> None:
    """The process ends in the middle of the second pass, without any cleaning up."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    chunks = chunks_of(TEXTS)

    def die(progress: Progress) -> None:
        if progress.phase == "link" and progress.done > len(chunks):
            os._exit(9)

    if (child := os.fork()) == 0:
        last(growing_index(chunks, "en", tmp_path, None, die, with_links=True))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    [remains] = links_of(tmp_path)
    assert remains.name.startswith(".")
    again = last(growing_index(chunks, "en", tmp_path, None, with_links=True))
    assert again.graph is not None
    assert_equal(again.graph, built(chunks))
    [links] = links_of(tmp_path)
    assert links.name == f"links-{GRAPH_VERSION}"


@pytest.mark.parametrize("damage", ["shorter", "missing", "no list"])
def test_damaged_arrays_are_built_again(tmp_path: Path, damage: str) -> None:
    chunks = chunks_of(TEXTS)
    last(growing_index(chunks, "en", tmp_path, None, with_links=True))
    [links] = links_of(tmp_path)
    if damage == "shorter":
        (links / "marks").write_bytes((links / "marks").read_bytes()[:-4])
    elif damage == "missing":
        (links / "words").unlink()
    else:
        (links / "arrays.json").write_text("{")
    again = last(growing_index(chunks, "en", tmp_path, None, with_links=True)).graph
    assert again is not None
    assert_equal(again, built(chunks))


def test_a_full_disk_is_reported_and_leaves_no_links(tmp_path: Path) -> None:
    chunks = chunks_of({f"Title {n}": "word " * 50 for n in range(60)})
    work = tmp_path / "work"
    last(growing_index(chunks, "en", work, None))
    with files_of_at_most(8_000), pytest.raises(OSError, match=f"File too large: .*links-{GRAPH_VERSION}"):
        last(growing_index(chunks, "en", work, None, with_links=True))
    assert links_of(work) == []
