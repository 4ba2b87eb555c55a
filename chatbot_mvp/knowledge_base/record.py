"""The metadata of a stored knowledge base, as its ``kb.json`` has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KbRecord:
    """The metadata of a stored knowledge base."""

    kb_id: str
    kb_name: str
    """Name of the uploaded file, or the name that a user gave it."""
    language: str
    """Detected language of the text, "es" or "en"; of a text in both, that of its beginning."""
    chars: int
    """Number of characters kept."""
    original_chars: int
    """Number of characters of all files before any cut."""
    kb_truncated: bool
    """True if the files exceeded the limit and were cut at a paragraph."""
    encoding: str
    """Encoding of the first file, as in ``ParsedText``."""
    sha256: str
    """SHA-256 of the kept text in UTF-8, in hex."""
    added_at: str
    """Time of the upload, ISO 8601, UTC."""
    files: tuple[str, ...]
    """Names of its files in order."""
    chunks: int
    """Number of chunks of its text."""
    languages: tuple[str, ...]
    """All languages of its files, ``language`` first."""
