"""Decide, for each shared file, what brings this machine and the bucket to the same version. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from chatbot_mvp.wings.sharing.places import Kind, kb_of, place_of, record_of

_FEW = 3
"""So many deletions never wait for a yes."""
_SHARE = 0.2
"""Nor do more of them, up to this share of all knowledge bases."""


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
    sha256: str
    """SHA-256 of the file on this machine, in hex."""


class Action(Enum):
    """What to do with one file."""

    NOTHING = "nothing"
    PUSH = "sent"
    PULL = "fetched"
    MERGE = "joined"
    """Join what the bucket has into the file here; then send it if the bucket lacks something."""
    COMPARE = "compared"
    """Both sides have a version of their own: keep the bucket's, and this machine's beside it if it differs."""
    DELETE_HERE = "deleted here"
    DELETE_THERE = "deleted there"
    FORGET = "forgotten"


class Deletions(Enum):
    """What to do with many deletions at once."""

    WAIT = "wait"
    """Leave them, and carry out everything else."""
    APPLY = "apply"
    UNDO = "undo"
    """Send or fetch the files instead, so that both sides have them again."""


@dataclass(frozen=True)
class Plan:
    """What one exchange has to do."""

    batches: list[list[tuple[str, Action]]]
    """Pairs of path and action. A batch begins when the one before is done."""
    waiting: tuple[str, ...]
    """Paths of the deletions that wait for a yes: the record of each knowledge base, and single files of others."""


OPPOSITE = {Action.DELETE_HERE: Action.PUSH, Action.DELETE_THERE: Action.PULL}
"""Deletion -> what undoes it."""


def plan(
    here: Mapping[str, Stamp],
    there: Mapping[str, str],
    known: Mapping[str, Known],
    dead: Set[str] = frozenset(),
    deletions: Deletions = Deletions.WAIT,
) -> Plan:
    """Return the files that need an action.

    A knowledge base is deleted as a whole. If one of its files was changed on the other side meanwhile, it stays.

    Args:
        here: shared path -> version on this machine.
        there: shared path -> ETag in the bucket.
        known: the versions at the last exchange.
        dead: ids of knowledge bases on this machine that were deleted elsewhere, though ``known`` does not have them.
        deletions: what to do with more than ``_FEW`` deletions that are also more than ``_SHARE`` of all.
    """
    paths = here.keys() | there.keys() | known.keys()
    actions = {path: _action(path, here.get(path), there.get(path), known.get(path)) for path in paths}
    actions |= {path: Action.DELETE_HERE for path in here if kb_of(path) in dead}
    kb_ids = {kb_of(path) for path in paths} - {""}
    for kb_id in kb_ids:
        deletion = actions.get(record_of(kb_id), Action.NOTHING)
        files = {path: action for path, action in actions.items() if kb_of(path) == kb_id}
        if deletion in OPPOSITE and any(action not in (deletion, Action.FORGET) for action in files.values()):
            actions |= {path: OPPOSITE[deletion] for path, action in files.items() if action is deletion}
    deleted = {path: action for path, action in actions.items() if action in OPPOSITE}
    # A version that nothing needs any more, of a knowledge base that stays, is no loss.
    gone = {kb_of(path) for path in deleted if path == record_of(kb_of(path))}
    deleted = {path: action for path, action in deleted.items() if kb_of(path) in gone or not _is_named(path)}
    units = {record_of(kb_of(path)) if record_of(kb_of(path)) in deleted else path for path in deleted}
    waiting: tuple[str, ...] = ()
    if len(units) > max(_FEW, _SHARE * len(kb_ids)) and deletions is not Deletions.APPLY:
        if deletions is Deletions.WAIT:
            waiting = tuple(sorted(units))
            actions |= dict.fromkeys(deleted, Action.NOTHING)
        else:
            actions |= {path: OPPOSITE[action] for path, action in deleted.items()}
    needed = [(path, action) for path, action in actions.items() if action is not Action.NOTHING]
    ordered = sorted(needed, key=lambda item: (_turn(*item), item[0]))
    return Plan([list(batch) for _, batch in groupby(ordered, key=lambda item: _turn(*item))], waiting)


def _action(path: str, here: Stamp | None, there: str | None, known: Known | None) -> Action:
    place = place_of(path)
    if place is None:
        return Action.FORGET
    joined = place.kind in (Kind.LINES, Kind.HEAD)
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
        return Action.MERGE if joined else Action.COMPARE
    changed_here, changed_there = here != known.here, there != known.there
    if changed_there:
        if place.kind is Kind.LINES:
            return Action.MERGE
        return Action.PULL if not changed_here else Action.MERGE if joined else Action.COMPARE
    return Action.PUSH if changed_here else Action.NOTHING


def _is_named(path: str) -> bool:
    place = place_of(path)
    return place is not None and place.kind is Kind.NAMED


def _turn(path: str, action: Action) -> int:
    """Return when a file is handled: what lists others is copied after them, and deleted before them."""
    place = place_of(path)
    turn = place.turn if place else 0
    return -turn if action in OPPOSITE else turn
