"""What makes a knowledge base equal to a folder: documents that come, change, move and go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.knowledge_base.changes import Change, Move, Remove
from chatbot_mvp.knowledge_base.versions import KbDocument, NewDocument


@dataclass(frozen=True)
class SyncPlan:
    """How the documents of a knowledge base become those of a folder. Documents elsewhere are not part of it."""

    count: int
    """Documents before."""
    unchanged: tuple[str, ...]
    """Paths whose file is the one that is kept."""
    moves: tuple[Move, ...]
    """Documents whose file is under another path now."""
    removed: tuple[str, ...]
    """Paths that have no file any more."""
    read: tuple[str, ...]
    """Paths whose file is new or has changed."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """What is done before files come."""
        return (*self.moves, *(Remove(path) for path in self.removed))

    def require_most_stay(self, kb_id: str) -> None:
        """Check that at most half of the documents go: a folder that is not mounted looks as one that was emptied.

        Raises:
            KbChangeError (kb_sync_removes_most)
        """
        removed = len(self.removed)
        if removed > self.count / 2:
            raise KbChangeError("kb_sync_removes_most", kb_id=kb_id, removed=removed, count=self.count)


def sync_plan(
    documents: Sequence[KbDocument], files: Mapping[str, str], ignored: Collection[str], failed: Collection[str]
) -> SyncPlan:
    """Return what makes documents equal to files.

    Args:
        documents: those that the folder stands for.
        files: path -> SHA-256 of each file that can be read, in hex.
        ignored: paths of other files in the folder; documents under them stay as they are.
        failed: paths of what cannot be used. Documents under them and below them stay: one may be a link to a folder.
    """
    stay, below = {*ignored, *failed}, tuple(f"{path}/" for path in failed)
    here = {document.path: document for document in documents}
    gone = {path: one for path, one in here.items() if path not in {*files, *stay} and not path.startswith(below)}
    same = [path for path, sha256 in files.items() if path in here and here[path].original == sha256]
    moves = []
    for path, sha256 in files.items():
        was = next((one.path for one in gone.values() if one.original == sha256), "") if path not in here else ""
        if was:
            moves.append(Move(was, path))
            del gone[was]
    known = {*same, *(move.to for move in moves)}
    return SyncPlan(
        len(here), tuple(same), tuple(moves), tuple(gone), tuple(path for path in files if path not in known)
    )


def with_moves_of_texts(plan: SyncPlan, documents: Sequence[KbDocument], found: Sequence[NewDocument]) -> SyncPlan:
    """Return the plan with the moves that only the texts of the new files show, where no original was kept."""
    here = {document.path: document for document in documents}
    gone = {here[path].sha256: path for path in plan.removed if not here[path].original}
    moves = []
    for one in found:
        if one.path not in here and (was := gone.pop(text_hash(one.parsed.text), "")):
            moves.append(Move(was, one.path))
    moved = {move.path for move in moves}
    return replace(plan, moves=(*plan.moves, *moves), removed=tuple(path for path in plan.removed if path not in moved))


def without_purged(
    plan: SyncPlan, documents: Sequence[KbDocument], require: Callable[[str, str], None]
) -> tuple[SyncPlan, dict[str, KbChangeError]]:
    """Return (the plan without moves to where their text was purged, path -> error). What would move stays.

    Args:
        require: raises KbChangeError for path and hash of a text that were purged.
    """
    texts, moves, refused = {one.path: one.sha256 for one in documents}, [], {}
    for move in plan.moves:
        try:
            require(move.to, texts[move.path])
            moves.append(move)
        except KbChangeError as error:
            refused[move.to] = error
    return replace(plan, moves=tuple(moves)), refused
