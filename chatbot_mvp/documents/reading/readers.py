"""The readers of formats: the program's own, and those that are added."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from chatbot_mvp.documents.reading.reader import PageReader, Reader, refusal
from chatbot_mvp.plugins.registry import Names, Registry

TEXT_SUFFIXES = (".txt", ".md")
"""Files that need no reader."""

_READING = "chatbot_mvp.documents.reading"
_OWN = (
    Reader("pdf", (".pdf",), f"{_READING}.pdf:read", has_pages=True),
    Reader("mammoth", (".docx", ".docm"), f"{_READING}.docx:read"),
    Reader("html", (".html", ".htm"), f"{_READING}.html:read"),
    Reader("calamine", (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"), f"{_READING}.sheets:read"),
    Reader("csv", (".csv", ".tsv"), f"{_READING}.sheets:read_csv"),
    Reader("python-pptx", (".pptx",), f"{_READING}.slides:read"),
    Reader("opendocument", (".odt", ".odp"), f"{_READING}.opendocument:read"),
    Reader("eml", (".eml",), f"{_READING}.mail:read_eml"),
    Reader("epub", (".epub",), f"{_READING}.mail:read_epub"),
    Reader("striprtf", (".rtf",), f"{_READING}.texts:read_rtf"),
    Reader("vtt", (".vtt",), f"{_READING}.texts:read_vtt"),
    Reader("ipynb", (".ipynb",), f"{_READING}.texts:read_ipynb"),
    Reader("xml", (".xml",), f"{_READING}.texts:read_xml"),
)
_TAKEN = (*TEXT_SUFFIXES, *(suffix for reader in _OWN for suffix in reader.suffixes))

READERS: Mapping[str, Reader] = Registry("reader", Reader, _OWN, lambda reader: refusal(reader, _TAKEN))
"""Name -> reader."""
PAGE_READERS: Mapping[str, PageReader] = Registry("page_reader", PageReader, ())
"""Name -> reader of pages without text. The program has none of its own."""


def reader_of(suffix: str) -> Reader | None:
    """Return the reader of files with a suffix; the first, if several are added for it. None if there is none."""
    return next((reader for reader in READERS.values() if suffix in reader.suffixes), None)


def page_readers_of(suffix: str) -> list[PageReader]:
    """Return what reads pages without text in files with a suffix. What one leaves unread, the next one reads."""
    found = (reader for reader in PAGE_READERS.values() if reader.suffix == suffix)
    return [reader for reader in found if not reader.package or find_spec(reader.package)]


def reading_key(suffix: str) -> str:
    """Return what, beside the program's version, decides what is read of a file; "" without anything added."""
    readers = page_readers_of(suffix)
    return " ".join(f"{reader.name} {json.dumps(dict(reader.options()), sort_keys=True)}" for reader in readers)


def is_own(reader: Reader) -> bool:
    """Return whether a reader is the program's own."""
    return reader in _OWN


SUFFIXES: Sequence[str] = Names(
    lambda: (*TEXT_SUFFIXES, *(suffix for reader in READERS.values() for suffix in reader.suffixes))
)
"""Suffixes of the files that can be uploaded."""
