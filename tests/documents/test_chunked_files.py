"""Chunks file by file are those of the whole text, and files that stay give theirs again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.documents.chunked_files import ChunkedFiles, chunk_files
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.kb_files import join_sources
from chatbot_mvp.documents.languages import languages_of
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.types import Document
from tests.retrieval.changes import chunks_of, document

LINES = st.sampled_from(
    [
        "# Uno",
        "## Dos",
        "    # indented",
        "1.2 Tres",
        "CUATRO",
        "",
        "",
        "texto " * 30 + ".",
        "Una frase. Otra frase.",
        "- punto",
        "| a | b |",
        "palabra" * 300,
    ]
)
FILES = st.lists(st.lists(LINES, min_size=1, max_size=30).map("\n".join).filter(str.strip), max_size=5)


def joined(texts: list[str]) -> tuple[Document, ChunkedFiles]:
    files = [(f"fichero {n}.md", ParsedText(text, "utf-8", len(text), False)) for n, text in enumerate(texts)]
    text, kept = join_sources(files, 10**9)
    whole = Document("kb", "Título", text)
    return whole, chunk_files(whole, kept)


@given(FILES)
def test_without_open_fences_the_chunks_are_those_of_the_whole_text(texts: list[str]) -> None:
    whole, chunks = joined(texts)
    assert chunks == chunk_document(whole)


def test_a_file_that_leaves_a_fence_open_does_not_hide_where_the_next_begins() -> None:
    whole, chunks = joined(["```\ncode", "# Avería\n\nEl motor no arranca."])
    assert [chunk.section for chunk in chunks] == ["fichero 0", "fichero 1 > Avería"]
    assert [chunk.section for chunk in chunk_document(whole)] == ["fichero 0", "Avería"]


@given(st.lists(st.integers(0, 20), max_size=5), st.lists(st.integers(0, 20), max_size=5))
def test_chunks_and_languages_are_the_same_whether_files_are_known(before: list[int], after: list[int]) -> None:
    known, now = ([(f"{seed}.md", document(seed)) for seed in seeds] for seeds in (before, after))
    chunks = chunks_of(now, chunks_of(known))
    at_once = chunks_of(now)
    assert (chunks, chunks.files) == (at_once, at_once.files)
    assert chunks.languages("es") == languages_of(at_once, "es")


def test_a_file_that_stays_is_neither_chunked_nor_read_for_its_languages_again() -> None:
    known = chunks_of([("a.md", document(5)), ("b.md", document(11)), ("c.md", document(14))])
    known.languages("es")
    now = chunks_of([("x.md", "Otro texto."), ("b.md", document(11)), ("c.md", document(14))], known)
    [same] = [file for file in now.files if file.key == known.files[1].key]
    assert same.told is known.files[1].told and "es" in same.told
    texts = {id(chunk.text) for chunk in known}
    assert all(id(chunk.text) in texts for chunk in now[same.first : same.end])


@pytest.mark.parametrize(("doc_id", "chars"), [("other", 1_100), ("kb", 600)])
def test_chunks_of_another_text_or_length_are_not_used_again(doc_id: str, chars: int) -> None:
    draw = random.Random(3)
    texts = [" ".join(draw.choices(["uno", "dos."], k=900)) for _ in range(2)]
    whole, known = joined(texts)
    _, files = join_sources([(f"f{n}.md", ParsedText(t, "utf-8", len(t), False)) for n, t in enumerate(texts)], 10**9)
    other = Document(doc_id, whole.title, whole.text)
    assert chunk_files(other, files, chars, known) == chunk_files(other, files, chars)
