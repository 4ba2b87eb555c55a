"""Store conversations on disk, each as an append-only JSONL file ``<root>/<session>/<conversation>.jsonl``.

``conversation_lines`` says what the lines are.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from chatbot_mvp.chat import limits
from chatbot_mvp.chat.conversation import Conversation
from chatbot_mvp.chat.conversation_lines import read_lines, whole, without_answers
from chatbot_mvp.errors import ConversationNotFound, FileNotWritten, FileOfLaterVersion, LimitError
from chatbot_mvp.storage.aside import move_file
from chatbot_mvp.storage.clock import now, utc_now
from chatbot_mvp.storage.files import make_folder, naming, write_atomically
from chatbot_mvp.storage.formats import CONVERSATION, VERSION
from chatbot_mvp.storage.jsonl import append_lines, parsed_lines
from chatbot_mvp.storage.lru import BoundedCache

_log = logging.getLogger(__name__)
_SESSION = re.compile(r"[0-9a-z]{16,64}")
_CONVERSATION = re.compile(r"[0-9a-z-]{8,64}")
_HEADS_KEPT = 5_000
_HELD = 64
"""Conversations of which lines stay in memory because the disk did not take them."""
NO_OTHERS: Mapping[str, str] = {}


def new_session() -> str:
    """Create a session name. It is random (128 bits), because knowing it gives access to the conversations."""
    return secrets.token_hex(16)


def is_session(name: str) -> bool:
    """Return whether ``name`` has the form of a session name. Only such names are used in paths."""
    return bool(_SESSION.fullmatch(name))


class ConversationStore:
    """Reads and appends conversations. Safe for several threads and processes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: BoundedCache[Path, tuple[tuple[int, int, int], Conversation]] = BoundedCache(256)
        """Cache: path -> (time of the last change and size of the file and number of lines held, conversation). A page
        reads its conversation on every rerun."""
        self._heads: BoundedCache[Path, tuple[tuple[int, int, int], Conversation]] = BoundedCache(_HEADS_KEPT)
        """The same for ``heads``, …"""
        self._texts: BoundedCache[Path, tuple[tuple[int, int, int], Conversation]] = BoundedCache(_HEADS_KEPT)
        """… and for those with the texts of answers."""
        self._held: dict[Path, tuple[dict[str, Any], ...]] = {}
        """Path -> lines that the disk did not take, and that are read as if they were in the file."""
        self._holding = threading.Lock()

    def start(self, session: str, kb_id: str, kb_name: str, others: Mapping[str, str] = NO_OTHERS) -> str:
        """Start a conversation and return its id. Ids sort by time.

        Args:
            others: id -> name of further knowledge bases to ask.

        Raises:
            ConversationNotFound: ``session`` is not a session name.
            LimitError (too_many_conversations): the session has as many as it may keep.
        """
        self._require_place(session)
        at = now(timedelta(milliseconds=1))
        conversation_id = f"{at:%Y%m%d-%H%M%S}-{at.microsecond // 1_000:03d}-{secrets.token_hex(3)}"
        entry = {"type": "conversation", VERSION: CONVERSATION, "kb_id": kb_id, "kb_name": kb_name, "at": utc_now()}
        if others:
            entry["others"] = [{"kb_id": other, "kb_name": name} for other, name in others.items()]
        self.append(session, conversation_id, entry, hold=True)
        return conversation_id

    def append(
        self, session: str, conversation_id: str, entry: Mapping[str, Any], durable: bool = False, hold: bool = False
    ) -> None:
        """Append a line. If ``durable``, it is on disk (fsync) before this returns.

        Args:
            hold: a line that the disk does not take stays in memory, and is written with the next one that it takes.

        Raises:
            ConversationNotFound: a name has an illegal form.
            FileNotWritten: the disk is full or not writable; earlier lines stay.
        """
        path = self._path(session, conversation_id)
        if path not in self._held:
            try:
                return _append(path, [entry], durable)
            except FileNotWritten:
                if not hold:
                    raise
        with self._holding:
            lines = (*self._held.get(path, ()), json.loads(json.dumps(entry)))
            try:
                _append(path, lines, durable)
                self._held.pop(path, None)
            except FileNotWritten as error:
                if not hold:
                    raise
                _log.warning("%s", error)
                self._held[path] = lines
                while len(self._held) > _HELD:
                    del self._held[next(iter(self._held))]

    def forget_held(self) -> None:
        """Forget the lines that the disk did not take."""
        with self._holding:
            self._held.clear()

    def load(self, session: str, conversation_id: str) -> Conversation:
        """Read a conversation.

        Raises:
            ConversationNotFound: there is no such conversation.
            FileOfLaterVersion
        """
        return self._kept(self._path(session, conversation_id), self._read, whole)

    def _kept(
        self,
        path: Path,
        cache: BoundedCache[Path, tuple[tuple[int, int, int], Conversation]],
        choose: Callable[[bytes], bytes],
        texts: bool = False,
    ) -> Conversation:
        """Return a conversation from the cache, or from those lines of its file that ``choose`` returns."""
        held, content, stamp = self._held.get(path, ()), b"", (0, 0, 0)
        try:
            if path.exists() or not held:
                found = path.stat()
                stamp = (found.st_mtime_ns, found.st_size, len(held))
                kept = cache.get(path)
                if kept and kept[0] == stamp:
                    return kept[1]
                content = path.read_bytes()[: found.st_size]
        except OSError as error:
            raise ConversationNotFound(conversation_id=path.stem) from error
        rows, damaged = parsed_lines(choose(content))
        empty = Conversation(path.parent.name, path.stem, "", "", "", damaged=damaged, held=bool(held))
        conversation = read_lines(empty, [*rows, *held], path, texts)
        cache.put(path, (stamp, conversation))
        return conversation

    def heads(self, session: str, texts: bool = False) -> list[Conversation]:
        """List a session's conversations without the answers of their turns, the one that was last asked first.

        Quick for hundreds: answers are not parsed. Files that a later version wrote are left out; an illegal session
        name has none. A conversation whose first line is damaged has "" as its knowledge base.

        Args:
            texts: whether turns have the texts of their answers, in place of a fixed reply the passage open below it.
        """
        found: list[Conversation] = []
        if not is_session(session):
            return found
        folder = self._root / session
        how = (self._texts, whole, True) if texts else (self._heads, without_answers, False)
        for path in {*folder.glob("*.jsonl"), *(one for one in list(self._held) if one.parent == folder)}:
            try:
                found.append(self._kept(path, *how))
            except (ConversationNotFound, FileOfLaterVersion) as error:
                _log.warning("%s", error)
        return sorted(found, key=lambda head: (head.last_at, head.conversation_id), reverse=True)

    def list(self, session: str, kb_id: str) -> list[Conversation]:
        """List a session's conversations that ask a knowledge base, as ``heads`` does, with all that they say."""
        return [self.load(session, head.conversation_id) for head in self.heads(session) if kb_id in head.kb_ids]

    def delete(self, session: str, conversation_id: str, aside: Path | None = None) -> None:
        """Delete a conversation. Does nothing if it does not exist.

        Args:
            aside: root of the store that gets its file instead; on the same disk.

        Raises:
            ConversationNotFound: a name has an illegal form.
            FileNotWritten: it cannot be moved there.
        """
        path = self._path(session, conversation_id)
        self._held.pop(path, None)
        if aside is not None and path.exists():
            move_file(path, self._root, aside)
        path.unlink(missing_ok=True)
        for cache in (self._read, self._heads, self._texts):
            cache.drop(lambda kept: kept == path)

    def take_back(self, session: str, conversation_id: str, aside: Path) -> None:
        """Bring back a conversation whose file was moved to ``aside``.

        Raises:
            ConversationNotFound, FileNotWritten
            LimitError (too_many_conversations)
        """
        path, there = (ConversationStore(root)._path(session, conversation_id) for root in (aside, self._root))
        if not path.is_file():
            raise ConversationNotFound(conversation_id=conversation_id)
        if there.exists():  # an answer ended after the deletion
            with naming(path):
                write_atomically(path, path.read_bytes() + there.read_bytes())
        else:
            self._require_place(session)
        move_file(path, aside, self._root)

    def _require_place(self, session: str) -> None:
        if is_session(session) and sum(1 for _ in (self._root / session).glob("*.jsonl")) >= limits.MOST_CONVERSATIONS:
            raise LimitError("too_many_conversations", limit=limits.MOST_CONVERSATIONS)

    def _path(self, session: str, conversation_id: str) -> Path:
        if not is_session(session) or not _CONVERSATION.fullmatch(conversation_id):
            raise ConversationNotFound(conversation_id=conversation_id)
        return self._root / session / f"{conversation_id}.jsonl"


def _append(path: Path, entries: Iterable[Mapping[str, Any]], durable: bool) -> None:
    with naming(path):
        make_folder(path.parent)
        append_lines(path, entries, sync=durable)
