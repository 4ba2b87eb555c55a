"""Two heads of one knowledge base become one, after two machines changed it without seeing each other's change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.knowledge_base.changes import merged
from chatbot_mvp.knowledge_base.versions import RENAMED, Entry, Head, KbDocument, Staged, Version

Read = Callable[[str], Version | None]
"""Gives a version by its id; None if it is not kept."""
Write = Callable[[Sequence[KbDocument], int], Version]
"""Writes a version of these documents with this limit of characters."""


def joined_heads(mine: Head, theirs: Head, read: Read, write: Write) -> Head:
    """Return the head that has the steps of both, in the order of their times. The later name counts.

    - If one of them has all steps of the other, its version is the current one.
    - Otherwise the documents are merged as ``merged`` does: both changes are there, in a step of its own.
    - If both changed one document, theirs is the current version, and mine waits as the draft, if none waits yet.

    Whichever machine does it first, the other one comes to the same head when it sees the result.
    """
    same = _common(mine.history, theirs.history)
    left, right = mine.history[same:], theirs.history[same:]
    steps = _joined(mine.history[:same], left, right)
    name = next((step.note for step in reversed(steps) if step.what == RENAMED), theirs.kb_name)
    added_at = max(mine.added_at, theirs.added_at)
    purged = tuple(sorted({*mine.purged, *theirs.purged}))
    head = Head(mine.kb_id, name, added_at, steps, theirs.staged or mine.staged, purged)
    if _keys(left) <= _keys(right):
        return replace(head, history=theirs.history)
    if _keys(right) <= _keys(left):
        return replace(head, history=mine.history)
    my, their = read(mine.current.version_id), read(theirs.current.version_id)
    if my is None or their is None:  # the files of the one here are damaged
        return replace(head, history=theirs.history)
    base = read(mine.history[same - 1].version_id) if same else None
    now = their
    try:
        documents = merged(mine.kb_id, base.documents if base else (), my.documents, their.documents)
        now = write(documents, their.max_chars)
    except KbChangeError:
        waits = Staged(my.version_id, base.version_id if base else their.version_id, mine.current.at)
        head = replace(head, staged=head.staged or waits)
    return head if head.current.version_id == now.version_id else head.moved(now, their, added_at, "merged")


def _common(one: Sequence[Entry], other: Sequence[Entry]) -> int:
    """Return how many first steps two histories share."""
    pairs = zip(one, other, strict=False)
    return next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(one), len(other)))


def _keys(steps: Sequence[Entry]) -> set[Entry]:
    return {replace(step, number=0) for step in steps}


def _joined(common: Sequence[Entry], left: Sequence[Entry], right: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return all steps once, those that are not common by their times, with numbers that rise."""
    later = sorted(_keys(left) | _keys(right), key=lambda step: (step.at, step.version_id, step.what, step.note))
    return (*common, *(replace(step, number=number) for number, step in enumerate(later, len(common) + 1)))
