"""Paragraphs are found again in chunks, and the pieces of one split paragraph are one chunk again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.documents.chunking import LIMIT_CHARS, chunk_document
from chatbot_mvp.retrieval.kb.passages import MAX_JOINED_CHARS, join_pieces, passages_of
from chatbot_mvp.types import Document

SENTENCES = st.integers(1, 110)


def paragraph(name: str, count: int) -> str:
    return " ".join(f"Frase {number} del párrafo {name}, con sus palabras." for number in range(count))


@given(st.lists(SENTENCES, min_size=1, max_size=6))
def test_joined_chunks_are_slices_of_the_source_with_every_paragraph_that_fits_whole(counts: list[int]) -> None:
    parts = [paragraph(f"p{row}", count) for row, count in enumerate(counts)]
    text = "# Uno\n\n" + "\n\n".join(parts)
    chunks = chunk_document(Document("kb", "kb", text))
    joined = join_pieces(chunks)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in joined)
    assert len({chunk.chunk_id for chunk in joined}) == len(joined)
    for part in parts:
        if len(part) + 2 * LIMIT_CHARS <= MAX_JOINED_CHARS:
            assert any(part in chunk.text for chunk in joined)


def test_whole_paragraphs_of_one_section_are_not_joined() -> None:
    text = "# Uno\n\n" + "\n\n".join(paragraph(f"p{row}", 20) for row in range(5))
    chunks = chunk_document(Document("kb", "kb", text))
    assert len(chunks) > 2
    assert join_pieces(chunks) == chunks


def test_a_paragraph_longer_than_a_context_stays_in_pieces() -> None:
    chunks = chunk_document(Document("kb", "kb", paragraph("largo", 400)))
    assert join_pieces(chunks) == chunks


def test_each_paragraph_is_one_passage_however_many_chunks_repeat_it() -> None:
    parts = [paragraph(f"p{row}", count) for row, count in enumerate([20, 3, 20, 60, 20])]
    text = "# Uno\n\n" + "\n\n".join(parts)
    passages = passages_of(join_pieces(chunk_document(Document("kb", "kb", text))))
    assert [passage.text for passage in passages] == parts
    assert [text[p.start : p.start + len(p.text)] for p in passages] == parts


def test_a_heading_alone_is_no_passage_unless_headings_are_all_there_is() -> None:
    body = passages_of(
        chunk_document(Document("kb", "kb", "# Uno\n\nTexto del primero.\n\n# Dos\n\nTexto del segundo."))
    )
    assert [passage.text for passage in body] == ["Texto del primero.", "Texto del segundo."]
    assert passages_of(chunk_document(Document("kb", "kb", "# Uno\n\n# Dos")))
