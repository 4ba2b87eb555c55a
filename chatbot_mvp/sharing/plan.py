"""Decide, for each shared file, what brings this machine and the bucket to the same version. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from chatbot_mvp.sharing.places import Kind, kb_of, place_of, record_of


@dataclass(frozen=True)
class Stamp:
    """Version of a file on this machine. Shared files are replaced or appended to, so that each change has another."""

    size: int
    """Bytes."""
    mtime_ns: int


@dataclass(frozen=True)
class Known:
    """The versions that were equal when a file was last exchanged."""

    here: Stamp
    there: str
    """ETag in the bucket."""


class Action(Enum):
    """What to do with one file."""

    NOTHING = "nothing"
    PUSH = "sent"
    PULL = "fetched"
    MERGE = "joined"
    """Append the lines that are missing here; then send the file if lines are missing there."""
    COMPARE = "compared"
    """Both sides have a version of their own: keep the bucket's, and this machine's beside it if it differs."""
    DELETE_HERE = "deleted here"
    DELETE_THERE = "deleted there"
    FORGET = "forgotten"


_OPPOSITE = {Action.DELETE_HERE: Action.PUSH, Action.DELETE_THERE: Action.PULL}


def plan(
    here: Mapping[str, Stamp], there: Mapping[str, str], known: Mapping[str, Known]
) -> list[list[tuple[str, Action]]]:
    """Return the files that need an action as batches of (path, action). A batch begins when the one before is done.

    A knowledge base is deleted as a whole. If one of its files was changed on the other side meanwhile, it stays.

    Args:
        here: shared path -> version on this machine.
        there: shared path -> ETag in the bucket.
        known: the versions at the last exchange.
    """
    paths = here.keys() | there.keys() | known.keys()
    actions = {path: _action(path, here.get(path), there.get(path), known.get(path)) for path in paths}
    for kb_id in {kb_of(path) for path in paths} - {""}:
        deletion = actions.get(record_of(kb_id), Action.NOTHING)
        files = {path: action for path, action in actions.items() if kb_of(path) == kb_id}
        if deletion in _OPPOSITE and any(action not in (deletion, Action.FORGET) for action in files.values()):
            actions |= {path: _OPPOSITE[deletion] for path, action in files.items() if action is deletion}
    needed = [(path, action) for path, action in actions.items() if action is not Action.NOTHING]
    ordered = sorted(needed, key=lambda item: (_turn(*item), item[0]))
    return [list(batch) for _, batch in groupby(ordered, key=lambda item: _turn(*item))]


def _action(path: str, here: Stamp | None, there: str | None, known: Known | None) -> Action:
    place = place_of(path)
    if place is None:
        return Action.FORGET
    lines = place.kind is Kind.LINES
    if known is not None and here is None and there is None:
        return Action.FORGET
    if here is None or there is None:
        one_sided = Action.PULL if here is None else Action.PUSH
        # Only knowledge bases can be deleted in the application: a run that is missing on one side is copied again.
        if known is None or not kb_of(path):
            return one_sided
        if here is None:
            return Action.DELETE_THERE if there == known.there else Action.PULL
        return Action.DELETE_HERE if here == known.here else Action.PUSH
    if known is None:
        return Action.MERGE if lines else Action.COMPARE
    changed_here, changed_there = here != known.here, there != known.there
    if changed_there:
        return Action.MERGE if lines else Action.COMPARE if changed_here else Action.PULL
    return Action.PUSH if changed_here else Action.NOTHING


def _turn(path: str, action: Action) -> int:
    """Return when a file is handled: what lists others is copied after them, and deleted before them."""
    place = place_of(path)
    turn = place.turn if place else 0
    return -turn if action in _OPPOSITE else turn
