"""Put the texts of pages that were read later into a document."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from chatbot_mvp.documents.reading.extracted import Extracted, clean_text


def empty_pages(found: Extracted) -> list[int]:
    """Return the numbers, from 1, of the pages without text."""
    return [number for number, text in enumerate(_pages(found), 1) if not text.strip()]


def with_pages(found: Extracted, texts: Mapping[int, str]) -> Extracted:
    """Return a document in which pages without text have a text of their own, each as paragraphs of its own.

    Args:
        texts: page number from 1 -> its text, which is cleaned; numbers of pages with text are ignored.
    """
    whole, left = "", 0
    starts: list[int] = []
    apart = False  # whether the next text must begin a paragraph
    for number, text in enumerate(_pages(found), 1):
        given = "" if text.strip() else clean_text(texts.get(number, ""))
        piece = given or text
        if piece.strip() and whole.strip() and (given or apart):
            whole = whole.rstrip() + "\n\n"
        if piece.strip():  # a page without text begins where the next one with text does
            starts.extend([len(whole)] * (number - len(starts)))
        whole += piece
        left += not piece.strip()
        apart = bool(given) or (apart and not piece.strip())
    starts.extend([len(whole)] * (len(found.page_starts) - len(starts)))
    return Extracted(whole, tuple(starts), left)


def _pages(found: Extracted) -> list[str]:
    bounds = [*found.page_starts, len(found.text)]
    return [found.text[start:end] for start, end in itertools.pairwise(bounds)]
