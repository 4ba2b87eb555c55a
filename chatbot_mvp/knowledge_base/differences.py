"""What changed between two versions of a knowledge base: by document, and within a document by paragraph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from chatbot_mvp.documents.languages import split_paragraphs
from chatbot_mvp.knowledge_base.changes import ABOUT
from chatbot_mvp.knowledge_base.versions import KbDocument

What = Literal["added", "removed", "changed", "moved", "described"]
_MOST_COMPARED = 4_000_000
"""Pairs of paragraphs up to which a text is compared paragraph by paragraph; beyond, all of it counts as replaced."""


@dataclass(frozen=True)
class ParagraphDifference:
    """Paragraphs that one version has where the other has ``before``; one of both may be empty."""

    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class DocumentDifference:
    """What happened to one document."""

    path: str
    what: What
    """"described": only its metadata changed."""
    before: str = ""
    """The path that it had, if it moved."""
    paragraphs: tuple[ParagraphDifference, ...] = ()
    """What changed in its text; empty for one that came or went."""


def differences(
    old: Sequence[KbDocument], now: Sequence[KbDocument], text_of: Callable[[KbDocument], str]
) -> list[DocumentDifference]:
    """Return what changed from ``old`` to ``now``, in the order of the paths.

    A document that went from one path and came unchanged under another one moved.
    """
    was, are = {one.path: one for one in old}, {one.path: one for one in now}
    gone = {one.sha256: one.path for one in old if one.path not in are}
    found, moved = [], set()
    for path, document in are.items():
        before = was.get(path)
        if before is None:
            if (from_path := gone.get(document.sha256, "")) and from_path not in moved:
                moved.add(from_path)
                found.append(DocumentDifference(path, "moved", from_path))
            else:
                found.append(DocumentDifference(path, "added"))
        elif before.sha256 != document.sha256:
            changed = paragraph_differences(text_of(before), text_of(document))
            found.append(DocumentDifference(path, "changed", paragraphs=tuple(changed)))
        elif any(getattr(before, name) != getattr(document, name) for name in ABOUT):
            found.append(DocumentDifference(path, "described"))
    found += [DocumentDifference(path, "removed") for path in was if path not in are and path not in moved]
    return sorted(found, key=lambda one: one.path)


def paragraph_differences(old: str, now: str) -> list[ParagraphDifference]:
    """Return what changed from one text to another, in the order of the text."""
    before, after = _paragraphs(old), _paragraphs(now)
    first = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), None)
    start = min(len(before), len(after)) if first is None else first
    before, after = before[start:], after[start:]
    if len(before) * len(after) > _MOST_COMPARED:
        return [ParagraphDifference(tuple(before), tuple(after))]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        ParagraphDifference(tuple(before[a:b]), tuple(after[c:d]))
        for what, a, b, c, d in matcher.get_opcodes()
        if what != "equal"
    ]


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in split_paragraphs(text) if part.strip()]
