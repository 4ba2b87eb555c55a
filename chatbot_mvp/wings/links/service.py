"""Make, find, open and withdraw links to answers, kept in ``answer_links/<name>.json`` of the data folder.

A file names the conversation and the turn, and has no text of them: a text that is purged, or a conversation that is
deleted, is gone for every link as well. The name of a file follows from the turn that it is for, so that a turn has at
most one link; what opens it is a secret in the file.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from chatbot_mvp.api import Turn
from chatbot_mvp.app import App
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.storage.clock import now
from chatbot_mvp.storage.files import make_folder, naming, write_json
from chatbot_mvp.storage.formats import ANSWER_LINK, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.links.errors import LinkError
from chatbot_mvp.wings.links.settings import LinkSettings

_TOKEN = re.compile(r"([0-9a-f]{32})([0-9a-f]{32})")
"""Name of the file, then its secret (128 bits)."""


@dataclass(frozen=True, slots=True)
class AnswerLink:
    """A link to an answer."""

    token: str
    """What its address has: 64 hexadecimal digits."""
    ends_at: str
    """ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class SharedAnswer:
    """What a link opens: one question with its answer, and nothing else of the conversation."""

    turn: Turn
    kb_names: tuple[str, ...]
    ends_at: str
    """ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The content of a file."""

    secret: str
    session: str
    conversation_id: str
    turn_id: str
    ends_at: str


class AnswerLinks:
    """The links of all visitors. Safe to share between sessions."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._folder = app.settings.data_dir / "answer_links"

    @classmethod
    def of(cls, app: App) -> Self:
        """Make the links over an App."""
        return cls(app)

    @property
    def days(self) -> int:
        """How long a new link opens its answer, in days; 0 if none can be made."""
        return self._app.settings.of(LinkSettings).answer_link_days

    @performs(Action.SHARE)
    def make(self, session: str, conversation_id: str, turn_id: str) -> AnswerLink:
        """Make a link to an answered turn of the session. An earlier link to it ends.

        Raises:
            ConversationNotFound: the session has no such conversation or turn, or the turn has no answer.
            LinkError (answer_links_off), FileNotWritten
        """
        if not self.days:
            raise LinkError("answer_links_off", turn_id=turn_id)
        if self._app.chat.conversation(session, conversation_id).turn(turn_id).answer is None:
            raise ConversationNotFound(conversation_id=f"{conversation_id}/{turn_id}")
        self._tidy()
        ends_at = (now() + timedelta(days=self.days)).isoformat(timespec="seconds")
        kept = _Kept(secrets.token_hex(16), session, conversation_id, turn_id, ends_at)
        path = self._path(_name(session, conversation_id, turn_id))
        with naming(path):
            make_folder(self._folder)
            write_json(path, {VERSION: ANSWER_LINK, **asdict(kept)})
        return _link(kept)

    @performs(Action.SHARE)
    def link_to(self, session: str, conversation_id: str, turn_id: str) -> AnswerLink | None:
        """Return the link to a turn of the session; None if there is none that opens it."""
        kept = self._read(_name(session, conversation_id, turn_id))
        return _link(kept) if kept else None

    @performs(Action.SHARE)
    def withdraw(self, session: str, conversation_id: str, turn_id: str) -> None:
        """End the link to a turn of the session at once. Without a link nothing happens.

        Raises:
            FileNotWritten: the file could not be removed, so that the link still opens the answer.
        """
        path = self._path(_name(session, conversation_id, turn_id))
        with naming(path):
            path.unlink(missing_ok=True)

    @performs(Action.READ)
    def shared_by(self, token: str) -> SharedAnswer:
        """Return what a link opens, for whoever has it.

        Raises:
            LinkError (answer_link_unknown): nothing, for one of the reasons that its text names; which one it is, is
                not told.
        """
        parts = _TOKEN.fullmatch(token)
        kept = self._read(parts[1]) if parts else None
        if parts is None or kept is None or not hmac.compare_digest(kept.secret, parts[2]):
            raise LinkError("answer_link_unknown", shown=token[:8])
        try:
            conversation = self._app.chat.conversation(kept.session, kept.conversation_id)
            turn = conversation.turn(kept.turn_id)
        except ConversationNotFound as error:
            raise LinkError("answer_link_unknown", shown=token[:8]) from error
        return SharedAnswer(turn, tuple(conversation.kb_names.values()), kept.ends_at)

    def _read(self, name: str) -> _Kept | None:
        """Return the content of a file; None if there is none, if it is damaged, or if its link has ended."""
        path = self._path(name)
        try:
            kept = _Kept(**known_version(parse_json(path.read_bytes()), path, ANSWER_LINK))
            ended = datetime.fromisoformat(kept.ends_at) <= now()
        except (OSError, ValueError, TypeError):
            return None
        return None if ended else kept

    def _tidy(self) -> None:
        """Remove the files of links that have ended."""
        for path in self._folder.glob("*.json"):
            if self._read(path.stem) is None:
                with suppress(OSError):
                    path.unlink()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _name(session: str, conversation_id: str, turn_id: str) -> str:
    """Return the name of the file of a turn: it does not tell the session's name, which opens its conversations."""
    return hashlib.sha256("/".join((session, conversation_id, turn_id)).encode()).hexdigest()[:32]


def _link(kept: _Kept) -> AnswerLink:
    return AnswerLink(_name(kept.session, kept.conversation_id, kept.turn_id) + kept.secret, kept.ends_at)
