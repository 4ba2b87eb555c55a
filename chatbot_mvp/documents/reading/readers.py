"""The readers of formats: the program's own, and those that are added."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from chatbot_mvp.documents.reading.reader import PageReader, Reader, refusal
from chatbot_mvp.plugins.registry import Names, Registry

TEXT_SUFFIXES = (".txt", ".md")
"""Files that need no reader."""
MARKDOWN = ".md"
"""What a reader is asked for to take comments, tables of HTML and what is struck out from a Markdown file."""

_READING = "chatbot_mvp.documents.reading"
_OWN = (
    Reader("liteparse", (".pdf",), f"{_READING}.pdf:read", True, "liteparse", ("pypdfium2",)),
    Reader("mammoth", (".docx", ".docm"), f"{_READING}.docx:read", package="mammoth"),
    Reader("html", (".html", ".htm", ".xhtml"), f"{_READING}.html:read", package="beautifulsoup4"),
    Reader(
        "calamine", (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"), f"{_READING}.sheets:read", package="python-calamine"
    ),
    Reader("csv", (".csv", ".tsv"), f"{_READING}.sheets:read_csv"),
    Reader("python-pptx", (".pptx",), f"{_READING}.slides:read", True, "python-pptx"),
    Reader("opendocument", (".odt", ".odp"), f"{_READING}.opendocument:read"),
    Reader("eml", (".eml",), f"{_READING}.mail:read_eml"),
    Reader("epub", (".epub",), f"{_READING}.mail:read_epub"),
    Reader("striprtf", (".rtf",), f"{_READING}.texts:read_rtf", package="striprtf"),
    Reader("vtt", (".vtt", ".srt"), f"{_READING}.texts:read_vtt"),
    Reader("ipynb", (".ipynb",), f"{_READING}.texts:read_ipynb"),
    Reader("xml", (".xml",), f"{_READING}.texts:read_xml"),
)
_MARKDOWN = Reader("markdown", (MARKDOWN,), f"{_READING}.texts:read_md")
_TAKEN = (*TEXT_SUFFIXES, *(suffix for reader in _OWN for suffix in reader.suffixes))

READERS: Mapping[str, Reader] = Registry("reader", Reader, _OWN, lambda reader: refusal(reader, _TAKEN))
"""Name -> reader."""
PAGE_READERS: Mapping[str, PageReader] = Registry("page_reader", PageReader, ())
"""Name -> reader of pages without text. The program has none of its own."""


def reader_of(suffix: str) -> Reader | None:
    """Return the reader of files with a suffix; the first, if several are added for it. None if there is none."""
    if suffix == MARKDOWN:
        return None
    return next((found for found in READERS.values() if suffix in found.suffixes), None)


def reading_of(suffix: str, name: str = "") -> Reader:
    """Return what the confined process reads a file with.

    Args:
        name: of a reader; it is taken if it reads such files. "" for the usual one.

    Raises:
        KeyError: nothing does.
    """
    named = READERS.get(name)
    if named is not None and suffix in named.suffixes:
        return named
    found = _MARKDOWN if suffix == MARKDOWN else reader_of(suffix)
    if found is None:
        raise KeyError(suffix)
    return found


def reading_name(suffix: str, name: str = "") -> str:
    """Return name, and version if it is found, of what ``reading_of`` returns; "" for text files."""
    if suffix in TEXT_SUFFIXES or reader_of(suffix) is None:
        return ""
    reader = reading_of(suffix, name)
    try:
        return f"{reader.name} {_version_of(reader.package or 'chatbot-mvp')}" if is_own(reader) else reader.name
    except PackageNotFoundError:  # a reader that is there reads, whatever its metadata say
        return reader.name


_version_of = cache(version)
"""Found once, for it is looked for in the folders of all packages; what is not found is looked for again."""


def page_readers_of(suffix: str) -> list[PageReader]:
    """Return what reads pages without text in files with a suffix. What one leaves unread, the next one reads."""
    found = (reader for reader in PAGE_READERS.values() if reader.suffix == suffix)
    return [reader for reader in found if not reader.package or find_spec(reader.package)]


def reading_key(suffix: str, name: str = "") -> str:
    """Return what, beside the program's version, decides what is read of a file.

    Args:
        name: as in ``reading_of``.
    """
    pages = (
        f"{reader.name} {json.dumps(dict(reader.options()), sort_keys=True)}" for reader in page_readers_of(suffix)
    )
    return " ".join([reading_name(suffix, name), *pages])


def is_own(reader: Reader) -> bool:
    """Return whether a reader is the program's own."""
    return reader in _OWN


SUFFIXES: Sequence[str] = Names(
    lambda: tuple(dict.fromkeys((*TEXT_SUFFIXES, *(suffix for found in READERS.values() for suffix in found.suffixes))))
)
"""Suffixes of the files that can be uploaded."""
