"""Small knowledge bases and corpora for the tests of the KB chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, last
from tests.fakes import FakeEmbedder

Piece = tuple[str, str]
"""(heading path, text)"""

PRESET = SYSTEMS["kb_chat"].changes


def kb_chunks(pieces: Sequence[Piece]) -> list[Chunk]:
    """Chunks ``d:<n>`` of one document, with a gap of two characters between them."""
    chunks, at = [], 0
    for number, (section, text) in enumerate(pieces):
        chunks.append(Chunk(f"d:{number:02d}", "d", section, text, at, at + len(text)))
        at += len(text) + 2
    return chunks


def passages(pieces: Sequence[Piece]) -> list[Chunk]:
    """The same texts as the whole passages of a corpus."""
    return [Chunk(f"p{n:02d}", f"p{n:02d}", title, text, 0, len(text)) for n, (title, text) in enumerate(pieces)]


def pipeline_over(chunks: Sequence[Chunk], settings: Settings, **changes: Any) -> Pipeline:
    """The pipeline with the settings of ``PRESET``, unless ``changes`` say otherwise."""
    changed = settings.with_changes(**{**PRESET, **changes})
    return last(growing_pipeline(chunks, "es", changed, FakeEmbedder))
