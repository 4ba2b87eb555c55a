"""Decides who may do what on the pages: the actions, and signing in as an administrator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from chatbot_mvp.settings.kinds import names_of
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.settings.password import PasswordGate


class Who(Enum):
    """Who may perform an action if ADMIN_PASSWORD or ADMIN_EMAILS protect the server. The value is for people."""

    EVERYONE = "everyone"
    OWNER = "the session that began it, and administrators"
    ADMIN = "administrators"


class Action(Enum):
    """What a visitor can do on the pages: a sentence for people, and who may do it on a server with a password.

    Without a password, every visitor may do everything.
    """

    READ = ("Read results, data sets, settings and the session's own conversations; export them", Who.EVERYONE)
    ASK = ("Ask questions in Chat", Who.EVERYONE)
    UPLOAD = ("Upload documents as a new knowledge base, or add the sample", Who.EVERYONE)
    RATE = ("Rate an answer, and add its question to those of the knowledge base", Who.OWNER)
    STOP_ANSWER = ("Stop an answer", Who.OWNER)
    STOP_UPLOAD = ("Stop an upload", Who.OWNER)
    ARRANGE_CONVERSATIONS = ("Rename or pin a conversation", Who.OWNER)
    SHARE = ("Make or withdraw a link to an answer", Who.OWNER)
    DELETE_CONVERSATION = ("Delete a conversation", Who.ADMIN)
    CHANGE_KB = ("Change, rename, index again or delete a knowledge base; confirm or undo shared deletions", Who.ADMIN)
    CHANGE_QUESTIONS = ("Create, import, copy, change, rename or delete a question set", Who.ADMIN)
    REVIEW = ("Read and judge the answers that the chat gave to everyone", Who.ADMIN)
    PROPOSE = ("Propose questions with a model", Who.ADMIN)
    MEASURE = (
        "Estimate, start, resume, repeat or stop a run, an evaluation or a tune; make and watch a promise",
        Who.ADMIN,
    )
    NOTE = ("Change the tags and the note of a run", Who.ADMIN)
    CHANGE_DATASETS = ("Add, download, share or delete a data set; stop its jobs", Who.ADMIN)
    CHANGE_PRESETS = ("Save or delete a preset", Who.ADMIN)
    CHANGE_SETTINGS = ("Change settings, apply or undo a tune, choose a provider, delete cached replies", Who.ADMIN)
    CHECK = ("Check connections to providers", Who.ADMIN)

    def __init__(self, sentence: str, who: Who) -> None:
        self.sentence = sentence
        self.who = who


_Method = TypeVar("_Method", bound=Callable[..., Any])


def performs(action: Action) -> Callable[[_Method], _Method]:
    """Mark a method of a part of the App with the action that a call of it performs.

    Pages may call a method without a mark only for administrators.
    """

    def mark(method: _Method) -> _Method:
        method.performs = action  # type: ignore[attr-defined]
        return method

    return mark


def who_may(method: Callable[..., Any]) -> Who:
    """Return who may call a method of a part of the App."""
    action: Action | None = getattr(method, "performs", None)
    return Who.ADMIN if action is None else action.who


class AdminAccess:
    """Checks passwords and e-mails. Safe to share between sessions; does not track who has signed in."""

    def __init__(self, settings: Settings) -> None:
        self._gate = PasswordGate(settings.admin_password.get_secret_value())
        self._identities = frozenset(names_of(settings.admin_emails))
        self._addresses = frozenset(map(_ascii_lower, self._identities))

    @property
    def has_password(self) -> bool:
        """Whether ADMIN_PASSWORD is set."""
        return self._gate.configured

    @property
    def has_emails(self) -> bool:
        """Whether ADMIN_EMAILS names anybody."""
        return bool(self._identities)

    def check_password(self, given: str, asker: str) -> None:
        """Return if ``given`` is the password. ``asker`` identifies the client, such as its address.

        Raises:
            SignInError (password_wrong): it is not the password.
            SignInError (password_tries_exhausted): too many wrong tries from this asker; the password was not compared.
        """
        self._gate.check(given, asker)

    def allows(self, claims: Mapping[str, Any]) -> bool:
        """Return whether a person who signed in with an identity provider may use Admin.

        Args:
            claims: what the provider says of the person. An address counts only if ``email_verified`` is true: whoever
                can write any address into a profile could be anybody. Otherwise ``identity_of`` must be named.
        """
        email, verified = claims.get("email"), claims.get("email_verified")
        vouched = verified is True or verified == "true"
        if isinstance(email, str) and vouched and _ascii_lower(email.strip()) in self._addresses:
            return True
        return bool(identity := identity_of(claims)) and identity in self._identities


def identity_of(claims: Mapping[str, Any]) -> str:
    """Return ``issuer#subject``, which names a person for good (OpenID Connect Core 1.0, 5.7); "" without both."""
    issuer, subject = claims.get("iss"), claims.get("sub")
    return f"{issuer}#{subject}" if isinstance(issuer, str) and isinstance(subject, str) and issuer and subject else ""


def _ascii_lower(text: str) -> str:
    """Lower the letters A to Z alone: other case rules make one address of two ("ß" and "ss", "ſ" and "s")."""
    return "".join(char.lower() if char.isascii() else char for char in text)
