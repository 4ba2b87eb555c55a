"""The text of documents that are purged, recognised in what was written about it, and a mark put in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.text import fold

_RUN = 4
"""So many words in a row that no other document has are a quotation."""
_NAME_CHARS = 4
"""Shorter names and numbers occur by chance."""
_WORD = re.compile(r"\w+(?:[-.@_/]\w+)*")
_STARTS = re.compile(r"(?:^|[.!?:»\"”]\s+|[\n#>*-]\s*)$")

MADE = frozenset(
    "text answer answers generated generated_answer reply context contexts content withheld paragraph heading section "
    "searched search_query query_expanded expansion_notes did_you_mean missing passages sources documents document "
    "file files name path label statements claims reference rewritten".split()
)
"""Keys of what the program made of documents, on any level below: headings and paths of those documents go too."""
_KEPT = frozenset("kb_id run_id doc_id chunk_id dataset dataset_ref set_id fingerprint settings_masked".split())
"""Keys of what identifies something, which must stay what it is."""


@dataclass(frozen=True)
class Purged:
    """Which text to take out of which knowledge base."""

    kb_id: str
    text: PurgedText
    mark: str
    """What stands in its place."""
    paths: frozenset[str]
    """Every path that one of the documents has had, and no other document."""

    def note(self, text: str) -> str:
        """Return a note that somebody wrote, or the mark if it names or quotes one of the documents."""
        return self.mark if self.text.quoted_in(text) or self.text.named_in(text) else text


class PurgedText:
    """Recognises the text of documents: runs of words, and names and numbers, that the others do not have."""

    def __init__(
        self, gone: Iterable[str], rest: Iterable[str], paths: Iterable[str], other_paths: Iterable[str], mark: str
    ) -> None:
        """
        Args:
            gone: texts of the documents that are purged.
            rest: texts of all others of the knowledge base.
            paths: paths of the documents that are purged; ``other_paths`` those of the others.
        """
        self.mark = mark
        self._runs: set[tuple[str, ...]] = set()
        self._names: set[str] = set()
        headings: set[str] = set()
        for text in gone:
            words = [word for word, _, _ in _words(text)]
            self._runs.update(zip(*(words[row:] for row in range(_RUN)), strict=False))
            self._names |= _names(text)
            headings |= _headings(text)
        for text in rest:
            words = [word for word, _, _ in _words(text)]
            self._runs.difference_update(zip(*(words[row:] for row in range(_RUN)), strict=False))
            self._names.difference_update(words)
            headings -= _headings(text)
        others = {*other_paths, *(PurePosixPath(path).stem for path in other_paths)}
        own = {part for path in paths for part in (path, PurePosixPath(path).name, PurePosixPath(path).stem)}
        self._whole = {fold(text) for text in (headings | own) - others}

    def __bool__(self) -> bool:
        return bool(self._runs or self._names or self._whole)

    def quoted_in(self, text: str) -> bool:
        """Return whether a text quotes the documents, or names what only they name."""
        return next(self._spans(text), None) is not None

    def named_in(self, text: str) -> bool:
        """Return whether a text has a path or the name of a file of the documents, or a heading of theirs."""
        folded = fold(text)
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded) for name in self._whole if name)

    def without(self, text: str, made: bool = True, opaque: str = "") -> str:
        """Return a text with the mark in place of what is quoted in it.

        Args:
            made: whether the program made the text of documents, so that it goes if it is a heading or path of theirs.
            opaque: a text that stays as it is wherever it occurs, such as an id.
        """
        if opaque and opaque in text:
            return opaque.join(self.without(part, made) for part in text.split(opaque))
        if made and (fold(text.strip()) in self._whole or " > " in text):
            return " > ".join(
                self.mark if fold(part.strip()) in self._whole else self._without(part) for part in text.split(" > ")
            )
        return self._without(text)

    def without_in(self, value: Any, opaque: str, made: bool = False) -> Any:
        """Return a JSON value with the mark in place of what is quoted in its texts.

        Args:
            opaque: as in ``without``.
            made: whether the value is below a key of ``MADE``.
        """
        if isinstance(value, str):
            return self._in_text(value, opaque, made)
        if isinstance(value, list):
            return [self.without_in(one, opaque, made) for one in value]
        if not isinstance(value, dict):
            return value
        found = {}
        for key, one in value.items():
            if key in _KEPT:
                found[key] = one
            else:
                found[key] = self.without_in(one, opaque, made or key in MADE)
        return found

    def _in_text(self, text: str, opaque: str, made: bool) -> str:
        if made and text.startswith("{"):  # a line of JSON within a line
            try:
                return json.dumps(self.without_in(parse_json(text), opaque, False), ensure_ascii=False)
            except ValueError:
                pass
        return self.without(text, made, opaque)

    def _without(self, text: str) -> str:
        parts, position = [], 0
        for start, end in self._spans(text):
            parts += [text[position:start], self.mark]
            position = end
        return "".join([*parts, text[position:]]) if parts else text

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans to take out, in order; those that touch are one."""
        words = list(_words(text))
        out = [word in self._names for word, _, _ in words]
        for row in range(len(words) - _RUN + 1):
            if tuple(word for word, _, _ in words[row : row + _RUN]) in self._runs:
                out[row : row + _RUN] = [True] * _RUN
        start: int | None = None
        end = 0
        for (_, first, last), taken in zip(words, out, strict=True):
            if taken:
                start, end = first if start is None else start, last
            elif start is not None:
                yield start, end
                start = None
        if start is not None:
            yield start, end


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    for found in _WORD.finditer(text):
        yield fold(found.group()), found.start(), found.end()


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)


def _names(text: str) -> set[str]:
    """Return the words that are names or identifiers: with a digit, or with a capital wherever they occur.

    A word that occurs only where a sentence begins is no name.
    """
    small: set[str] = set()
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = match.group()
        if len(word) < _NAME_CHARS:
            continue
        if _has_digit(word):
            found.add(fold(word))
        elif not word[0].isupper():
            small.add(fold(word))
        elif not _STARTS.search(text[max(0, match.start() - 4) : match.start()]):
            found.add(fold(word))
    return found - small


def _headings(text: str) -> set[str]:
    return {line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")}
