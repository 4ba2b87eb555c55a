"""Where a citation stands in a version of a knowledge base, and where a passage of an earlier version stands now."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from chatbot_mvp.documents.kb_files import FilePlace, KbFile, place_of
from chatbot_mvp.knowledge_base.versions import Version
from chatbot_mvp.text import fold

State = Literal["same", "moved", "changed", "gone", "purged"]
"""same: it stands in its document. moved: it stands in another one. changed: another text stands in its place. gone:
neither it nor anything like it is there. purged: it was removed from everywhere on purpose."""

LIKE = 0.35
"""Least share of words that two paragraphs of one document have in common for the one to be the other, changed."""
_LIKE_ELSEWHERE = 0.6
"""The same of two documents, which have more in common by chance."""
_MOST_READ = 2_000_000
"""Characters up to which a whole knowledge base is read for a paragraph whose document is gone."""
_MARK = re.compile(r"\[(?:retirado|removed) (\d{4}-\d\d-\d\d)\]")
_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?![ \t]*(?:\n|\Z)))*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Places:
    """Where each document of one version is in its text, and how old it is."""

    files: Sequence[KbFile] = ()
    """The files in the order of the text; none if they are not known."""
    number: int = 0
    """Number of the version in the history; 0 for one that was never the current one."""
    version_id: str = ""
    updated: Mapping[str, str] = field(default_factory=dict)
    """Path -> when its content came, ISO 8601, UTC."""

    def at(self, offset: int) -> FilePlace | None:
        """Return the place of the character at ``offset``; None if it is before the first file."""
        found = place_of(self.files, offset)
        if found is None:
            return None
        return replace(
            found,
            version=self.number,
            version_id=self.version_id,
            updated_at=self.updated.get(found.file, ""),
        )


@dataclass(frozen=True)
class Whereabouts:
    """Where a passage of an earlier version stands in another one."""

    state: State
    start: int = 0
    """Its place in the text, in characters; of what stands in its place, if it changed; 0 if it is gone or purged."""
    end: int = 0
    text: str = ""
    """What stands there; "" if it is gone or purged."""
    place: FilePlace | None = None
    purged_on: str = ""
    """Day on which it was purged, ISO 8601; "" otherwise."""


def places_of_version(version: Version, number: int) -> Places:
    """Return the places of a version with this number."""
    updated = {document.path: document.updated_at for document in version.documents}
    return Places(version.files, number, version.version_id, updated)


def purged_mark(language: str, at: str) -> str:
    """Return what stands in the place of a text that was purged.

    Args:
        language: "es" or another one.
        at: when, ISO 8601.
    """
    return f"[{'retirado' if language == 'es' else 'removed'} {at[:10]}]"


def purged_on(text: str) -> str:
    """Return the day on which a text, or a part of it, was purged, ISO 8601; "" if it was not."""
    found = _MARK.search(text)
    return found.group(1) if found else ""


def whereabouts(text: str, places: Places, passage: str, path: str = "") -> Whereabouts:
    """Look for a passage of an earlier version.

    Args:
        text, places: those of the version to look in.
        passage: some words, sentences or paragraphs, verbatim.
        path: the document that it stood in; "" if it is not known.
    """
    if day := purged_on(passage):
        return Whereabouts("purged", purged_on=day)
    own = next((file for file in places.files if file.name == path), None)
    span = _find(text, passage, own.start, own.end) if own else None
    state: State = "same"
    if span is None and (span := _find(text, passage, 0, len(text))) is not None:
        state = "moved" if path else "same"
    if span is None:
        state = "changed"
        span = _nearest(text, passage, own.start, own.end, LIKE) if own else None
        if span is None and len(text) <= _MOST_READ:
            span = _nearest(text, passage, 0, len(text), _LIKE_ELSEWHERE)
    if span is None:
        return Whereabouts("gone")
    start, end = span
    return Whereabouts(state, start, end, text[start:end], places.at(start))


def paragraphs_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the whole paragraphs of ``text`` in which the characters from ``start`` to ``end`` are."""
    touched = [one.span() for one in _PARAGRAPH.finditer(text) if one.start() < end and start < one.end()]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)


def _find(text: str, passage: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the first occurrence of a passage, whose white space may differ."""
    words = passage.split()
    if not words:
        return None
    at = text.find(passage, start, end)
    if at >= 0:
        return at, at + len(passage)
    found = re.compile(r"\s+".join(map(re.escape, words))).search(text, start, end)
    return found.span() if found else None


def _nearest(text: str, passage: str, start: int, end: int, least: float) -> tuple[int, int] | None:
    """Return the span of as many paragraphs as the passage has that share most words with it.

    None if they share less than ``least``: twice the common words over all words of both, counted as often as they
    occur.
    """
    wanted = _words(passage)
    size = max(1, len(_PARAGRAPH.findall(passage)))
    rows = [(*one.span(), _words(one.group())) for one in _PARAGRAPH.finditer(text, start, end)]
    best, span = least, None
    for row in range(max(1, len(rows) - size + 1) if rows else 0):
        window = rows[row : row + size]
        said = sum((words for _, _, words in window), Counter[str]())
        common = (wanted & said).total()
        share = 2 * common / max(1, wanted.total() + said.total())
        if share > best or (share == best and span is None):
            best, span = share, (window[0][0], window[-1][1])
    return span


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(fold(text)))
