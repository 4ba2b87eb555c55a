"""Which document of one version is which of the next, and so which a path means: what a purge takes, and no other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from chatbot_mvp.knowledge_base.versions import KbDocument, Version

_Now = dict[str, tuple[int, str]]
"""Path -> (line, SHA-256 of its text) in one version."""


@dataclass(frozen=True)
class Doomed:
    """The documents that a purge is about, in all versions."""

    found: frozenset[tuple[str, str]]
    """(path, SHA-256 of the text) of each."""
    equal: tuple[str, ...]
    """Paths of other documents that have one of these texts, sorted."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that they have had, sorted."""
        return tuple(sorted({path for path, _ in self.found}))

    def has(self, document: KbDocument) -> bool:
        """Return whether a document is one of them."""
        return (document.path, document.sha256) in self.found


class Lines:
    """The documents of a knowledge base through its versions, each a line of (path, text).

    A document is the one that was under its path in the version before. If there was none, or it had another text, it
    is the one that had path and text earlier, which is how documents are restored, unless that one is elsewhere still.
    Or else it is one with its text that has left its path, which is how documents move, or else the last one that was
    removed from its path.
    """

    def __init__(self, history: Iterable[Version]) -> None:
        """
        Args:
            history: versions in the order in which they were current; the last one still is.
        """
        self._pairs: list[set[tuple[str, str]]] = []
        self._last: list[str] = []
        """The path of each line in the last version that has it."""
        self._ended: dict[str, int] = {}
        """Path -> the last line that had it."""
        self._had: dict[tuple[str, str], int] = {}
        """(path, text) -> the last line that had it."""
        self._now: _Now = {}
        self._at: dict[str, _Now] = {}
        for version in history:
            self._now = self._at[version.version_id] = self._after(version.documents, self._now)
            for path, (line, text) in self._now.items():
                self._last[line] = path
                self._ended[path] = self._had[path, text] = line
        self._drafts: list[_Now] = []

    def add_draft(self, version: Version, base: str) -> None:
        """Add a version that was not current, made from the one of the id ``base``, or else from the current one."""
        self._drafts.append(self._after(version.documents, self._at.get(base, self._now)))

    def paths(self) -> set[str]:
        """Return what documents are called now, or were when they were removed."""
        alive = {line for path, (line, _) in self._alive()}
        return {path for path, _ in self._alive()} | {path for line, path in enumerate(self._last) if line not in alive}

    def named(self, path: str) -> set[int]:
        """Return the lines that a path means, or a path of a folder, which ends with "/"."""
        alive = {line for _, (line, _) in self._alive()}
        found = {line for one, (line, _) in self._alive() if _means(path, one)}
        return found | {line for line, one in enumerate(self._last) if line not in alive and _means(path, one)}

    def doomed(self, paths: Collection[str], begun: Collection[tuple[str, str]] = ()) -> Doomed:
        """Return all that the lines had that some paths mean, and what a purge that was not finished is about."""
        lines = {line for path in paths for line in self.named(path)}
        found = frozenset((*begun, *(pair for line in lines for pair in self._pairs[line])))
        texts = {text for _, text in found}
        equal = {pair[0] for pairs in self._pairs for pair in pairs if pair not in found and pair[1] in texts}
        return Doomed(found, tuple(sorted(equal)))

    def _alive(self) -> list[tuple[str, tuple[int, str]]]:
        return [item for version in (self._now, *self._drafts) for item in version.items()]

    def _after(self, documents: Sequence[KbDocument], base: _Now) -> _Now:
        """Return what the documents of the version after ``base`` are, and note them in their lines."""
        here, left = {one.path: one.sha256 for one in documents}, dict[str, list[int]]()
        stay = {-1, *(line for path, (line, text) in base.items() if here.get(path) == text)}
        back = {
            path: line
            for path, text in here.items()
            if base.get(path, (0, ""))[1] != text and (line := self._had.get((path, text), -1)) not in stay
        }
        # A line is once in a version, and leaves its path where another one comes back to it.
        taken = {line for path, (line, _) in base.items() if path in here and path not in back}
        for path, (line, text) in sorted(base.items(), reverse=True):
            if path not in here:
                left.setdefault(text, []).append(line)
        found: _Now = {}
        for one in documents:
            before, had = base.get(one.path), back.get(one.path)
            if had is not None and had not in taken:
                line = had
            elif before is not None and (had is None or before[0] not in taken):
                line = before[0]
            elif left.get(one.sha256):
                line = left[one.sha256].pop()
            else:
                line = self._again(one.path, taken)
            taken.add(line)
            self._pairs[line].add((one.path, one.sha256))
            found[one.path] = (line, one.sha256)
        return found

    def _again(self, path: str, taken: Collection[int]) -> int:
        """Return the line that ended under a path, or a new one if there is none or it is ``taken``."""
        line = self._ended.get(path)
        if line is None or self._last[line] != path or line in taken:
            line = len(self._pairs)
            self._pairs.append(set())
            self._last.append(path)
        return line


def _means(path: str, one: str) -> bool:
    return one == path or (path.endswith("/") and one.startswith(path))
