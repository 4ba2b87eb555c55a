"""What reads a format of documents. It runs in the confined process of ``reading.sandbox``, like the program's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MEMORY_MB = 500
"""Usual limit of a reader's own memory, on systems that support it."""
CPU_SECONDS_PER_PAGE = 0.5
"""What each page of a PDF adds to the limit of the processor's time, so that one hostile page cannot take that of a
whole book."""


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to read."""

    name: str
    content: bytes
    max_pages: int
    """Limit of its pages."""
    on_pages: Callable[[int], None]
    """To be called with the number of pages read, after each page: it gives the reading the time for the next one."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads a format."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of its files, as in ".html". The first one is the format's name in errors."""
    read: str
    """"module:function", called with a ``GivenFile``; returns ``extracted.Extracted`` or raises an UploadError. The
    module is imported in the confined process: it can open no file but those of installed packages, no connection and
    no program, and finds no settings there."""
    has_pages: bool = False
    """Whether it calls ``GivenFile.on_pages``. If not, all of its reading must end in 15 seconds of processor time."""
    package: str = ""
    """Package on PyPI whose version decides what it reads; "" for this program itself."""
    loads: tuple[str, ...] = ()
    """As in ``PageReader``."""

    @property
    def kind(self) -> str:
        return self.suffixes[0]


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads the pages of a format that its reader found no text on, beside the pages that have some."""

    name: str
    suffix: str
    """Suffix of the files, as in ".pdf"."""
    read: str
    """"module:function", called with a ``GivenFile``, a list of page numbers from 1, and the ``options`` by name.

    It yields (page number, text) for each page as soon as it is read; a text may have Markdown headings. It runs as
    ``Reader.read`` does. When it fails or exceeds a limit, the pages that it has given are kept.
    """
    cpu_seconds_per_page: float = 30
    """Limit of the processor's time for a page, of all threads together."""
    memory_mb: int = MEMORY_MB
    package: str = ""
    """Package that it needs. Where it is not installed, the pages stay unread, as without this reader."""
    loads: tuple[str, ...] = ()
    """Modules that load a library with ``ctypes``. They are imported before that is refused, and must do nothing else
    then."""
    options: Callable[[], Mapping[str, Any]] = dict
    """Called in the server's process for each file; what it returns, as JSON, is given to ``read``. An option may say
    which language to expect."""


def refusal(reader: Reader, taken: tuple[str, ...]) -> str:
    """Return why a reader that is added cannot be used; "" if it can."""
    if not reader.suffixes:
        return "it has no suffixes"
    if wrong := [suffix for suffix in reader.suffixes if not suffix.startswith(".") or suffix != suffix.lower()]:
        return f"{wrong[0]!r} is no suffix in small letters, such as '.html'"
    both = [suffix for suffix in reader.suffixes if suffix in taken]
    return f"{both[0]!r} has a reader already" if both else ""
