"""Where a citation stands in a version of a knowledge base, and where a passage of an earlier version stands now."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
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
_RAREST = 8
"""Words of a passage by which paragraphs that may be like it are looked up in a whole knowledge base."""
_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?![ \t]*(?:\n|\Z)))*")
_WORD = re.compile(r"\w+")
_Row = tuple[int, int, Counter[str]]
"""(start, end, words) of a paragraph."""


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


class PassageFinder:
    """Looks for passages of earlier versions in one version. What it reads of the text, it reads once."""

    def __init__(self, text: str, places: Places) -> None:
        self._text = text
        self._places = places
        self._own = {file.name: file for file in places.files}

    def find(self, passage: str, path: str = "") -> Whereabouts:
        """Look for a passage.

        Args:
            passage: some words, sentences or paragraphs, verbatim.
            path: the document that it stood in; "" if it is not known.
        """
        if day := purged_on(passage):
            return Whereabouts("purged", purged_on=day)
        own = self._own.get(path)
        span = _find(self._text, passage, own.start, own.end) if own else None
        state: State = "same"
        if span is None and (span := _find(self._text, passage, 0, len(self._text))) is not None:
            state = "moved" if path else "same"
        if span is None:
            state = "changed"
            span = self._nearest_of(own, passage) if own else None
            if span is None and len(self._text) <= _MOST_READ:
                span = self._nearest(passage)
        if span is None:
            return Whereabouts("gone")
        start, end = span
        return Whereabouts(state, start, end, self._text[start:end], self._places.at(start))

    def _nearest_of(self, file: KbFile, passage: str) -> tuple[int, int] | None:
        """Return the paragraphs of a file that are most like a passage."""
        rows = _rows(self._text, file.start, file.end)
        return _best(rows, range(len(rows)), passage, LIKE)

    def _nearest(self, passage: str) -> tuple[int, int] | None:
        """Return the paragraphs of the whole text that are most like a passage."""
        size = _size(passage)
        found: set[int] = set()
        rarest = sorted(_words(passage), key=lambda word: (len(self._rows_with.get(word, ())), word))
        for word in [one for one in rarest if one in self._rows_with][:_RAREST]:
            for row in self._rows_with[word]:
                found.update(range(max(0, row - size + 1), row + 1))
        return _best(self._rows, sorted(found), passage, _LIKE_ELSEWHERE)

    @cached_property
    def _rows(self) -> list[_Row]:
        return _rows(self._text, 0, len(self._text))

    @cached_property
    def _rows_with(self) -> dict[str, list[int]]:
        """Word -> the paragraphs that have it."""
        found: dict[str, list[int]] = {}
        for row, (_, _, words) in enumerate(self._rows):
            for word in words:
                found.setdefault(word, []).append(row)
        return found


def whereabouts(text: str, places: Places, passage: str, path: str = "") -> Whereabouts:
    """Look for one passage, as ``PassageFinder``."""
    return PassageFinder(text, places).find(passage, path)


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


def _rows(text: str, start: int, end: int) -> list[_Row]:
    return [(*one.span(), _words(one.group())) for one in _PARAGRAPH.finditer(text, start, end)]


def _best(rows: Sequence[_Row], firsts: Iterable[int], passage: str, least: float) -> tuple[int, int] | None:
    """Return the span of as many paragraphs as the passage has that share most words with it.

    None if they share less than ``least``: twice the common words over all words of both, counted as often as they
    occur.

    Args:
        firsts: the paragraphs that may be the first of them, in order.
    """
    wanted, size = _words(passage), _size(passage)
    best, span = least, None
    for first in firsts:
        window = rows[first : first + size]
        said = window[0][2] if size == 1 else sum((words for _, _, words in window), Counter[str]())
        share = 2 * (wanted & said).total() / max(1, wanted.total() + said.total())
        if share > best or (share == best and span is None):
            best, span = share, (window[0][0], window[-1][1])
    return span


def _size(passage: str) -> int:
    return max(1, len(_PARAGRAPH.findall(passage)))


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(fold(text)))
