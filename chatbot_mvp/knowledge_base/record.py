"""What pages and commands read of a knowledge base: its metadata, its id, and what it consists of."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chatbot_mvp.documents.kb_files import KbFile, text_hash
from chatbot_mvp.knowledge_base.versions import Head, Version
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk

_DIGITS = (24, 64)
"""Digits of the content's hash: the longer id is for content whose short id other content has."""


@dataclass(frozen=True)
class KbRecord:
    """The metadata of a stored knowledge base."""

    kb_id: str
    kb_name: str
    """Name of the uploaded file, or the name that a user gave it."""
    language: str
    """Detected language of the text, "es" or "en"; of a text in both, that of its beginning."""
    chars: int
    """Number of characters kept; of all files, unless the limit cut them."""
    original_chars: int
    """Number of characters of all files before any cut."""
    kb_truncated: bool
    """True if the files exceeded the limit and were cut at a paragraph."""
    encoding: str
    """Encoding of the first file, as in ``ParsedText``."""
    sha256: str
    """SHA-256 of the kept text in UTF-8, in hex."""
    added_at: str
    """Time of the last upload or change, ISO 8601, UTC."""
    files: tuple[str, ...]
    """Names of its files in order."""
    chunks: int
    """Number of chunks of its text."""
    languages: tuple[str, ...]
    """All languages of its files, ``language`` first."""
    version: str
    """Id of the version that these facts are of."""
    number: int
    """Number of that version in the history, from 1; 0 for one that was never current."""

    @staticmethod
    def of(head: Head, version: Version, number: int) -> KbRecord:
        return KbRecord(
            kb_id=head.kb_id,
            kb_name=head.kb_name,
            language=version.language,
            chars=version.chars if version.kb_truncated else sum(one.original_chars for one in version.documents),
            original_chars=version.original_chars,
            kb_truncated=version.kb_truncated,
            encoding=version.documents[0].encoding,
            sha256=version.sha256,
            added_at=head.added_at,
            files=tuple(file.name for file in version.files),
            chunks=version.chunks,
            languages=version.languages,
            version=version.version_id,
            number=number,
        )


def possible_ids(sha256: str, files: Sequence[KbFile]) -> tuple[str, ...]:
    """Return the ids that a knowledge base which begins with this content can have, the usual one first.

    Their hash covers the files' names, places and pages, because citations name them.

    Args:
        sha256: hash of the text, as ``text_hash`` returns it.
        files: at least one; the first one's name begins the id.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", fold(Path(files[0].name).stem)).strip("-")[:40] or "kb"
    digest = text_hash(json.dumps([sha256, *(asdict(file) for file in files)]))
    return tuple(f"{slug}-{digest[:digits]}" for digits in _DIGITS)


@dataclass(frozen=True)
class Repeated:
    """A chunk whose text the knowledge base has more than once."""

    chunk: Chunk
    """The first of the equal chunks."""
    times: int
    """How many there are, from 2."""


@dataclass(frozen=True)
class KbContents:
    """What a knowledge base consists of."""

    files: tuple[KbFile, ...]
    chunks: tuple[Chunk, ...]
    repeated: tuple[Repeated, ...]
    """The most frequent first."""


def contents_of(files: Sequence[KbFile], chunks: Sequence[Chunk]) -> KbContents:
    """Return the contents of a knowledge base. Chunks are equal if they differ in case, accents and blanks only."""
    first: dict[str, Chunk] = {}
    count: Counter[str] = Counter()
    for chunk in chunks:
        key = " ".join(fold(chunk.text).split())
        first.setdefault(key, chunk)
        count[key] += 1
    repeated = tuple(Repeated(first[key], times) for key, times in count.most_common() if times > 1)
    return KbContents(tuple(files), tuple(chunks), repeated)
