"""Decides who may do what on the pages: the table of actions, and signing in as an administrator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from chatbot_mvp.settings.kinds import names_of
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.settings.password import PasswordGate


class Who(Enum):
    """Who may perform an action if ADMIN_PASSWORD or ADMIN_EMAILS protect the server. The value is for people."""

    EVERYONE = "everyone"
    OWNER = "the session that began it, and administrators"
    ADMIN = "administrators"


class Action(Enum):
    """What a visitor can do on the pages. The value says it in a sentence for people."""

    READ = "Read results, data sets, settings and the session's own conversations; export them"
    ASK = "Ask questions in Chat"
    UPLOAD = "Upload documents as a new knowledge base, or add the sample"
    RATE = "Rate an answer, and add its question to those of the knowledge base"
    STOP_ANSWER = "Stop an answer"
    STOP_UPLOAD = "Stop an upload"
    DELETE_CONVERSATION = "Delete a conversation"
    CHANGE_KB = "Rename, index again or delete a knowledge base"
    CHANGE_QUESTIONS = "Create, import, copy, change, rename or delete a question set; delete its results"
    REVIEW = "Read and judge the answers that the chat gave to everyone"
    PROPOSE = "Propose questions with a model"
    MEASURE = "Estimate, start, resume, repeat or stop a run, an evaluation or a tune; make and watch a promise"
    NOTE = "Change the tags and the note of a run"
    CHANGE_DATASETS = "Add, download, share or delete a data set; stop its jobs"
    CHANGE_PRESETS = "Save or delete a preset"
    CHANGE_SETTINGS = "Change settings, apply or undo a tune, choose a provider, delete cached replies"
    CHECK = "Check connections to providers"


@dataclass(frozen=True)
class Rule:
    """Who may perform an action, and the calls that perform it."""

    who: Who
    calls: frozenset[str]
    """"<part>.<method>" of ``App``. A call that no rule names is for administrators."""


def _rule(who: Who, **methods: str) -> Rule:
    return Rule(who, frozenset(f"{part}.{name}" for part, names in methods.items() for name in names.split()))


ACTIONS: Mapping[Action, Rule] = {
    Action.READ: _rule(
        Who.EVERYONE,
        answering="defaults system_profile",
        archive="documents export fields files history leaderboard notes run runs search series unfinished",
        chat="conversation conversations export questions_path watched",
        datasets="details here jobs names remote",
        details="chat_profile compare configuration gold_paths latencies manifest metric_distribution records row table"
        " version why_not_comparable word_difference",
        health="states",
        kb_evaluation="chat_questions check expected export found jobs proposer references results sets",
        kbs="contents document place records suggested_questions vectors_under_way",
        live="changeable rows",
        presets="all",
        promises="state",
        providers="statuses",
        ragas="judge languages metrics rows_of_conversations rows_of_run rows_of_upload so_far",
        runs="evaluate_run jobs strategies",
        tuner="applied preview read tunes",
        uploads="upload uploads",
    ),
    Action.ASK: _rule(Who.EVERYONE, chat="begin start", kbs="growing"),
    Action.UPLOAD: _rule(Who.EVERYONE, kbs="add_sample", uploads="take"),
    Action.RATE: _rule(Who.OWNER, chat="add_question rate"),
    Action.STOP_ANSWER: _rule(Who.OWNER, chat="stop"),
    Action.STOP_UPLOAD: _rule(Who.OWNER, uploads="stop"),
    Action.DELETE_CONVERSATION: _rule(Who.ADMIN, chat="delete"),
    Action.CHANGE_KB: _rule(Who.ADMIN, kbs="delete rename", uploads="reindex"),
    Action.CHANGE_QUESTIONS: _rule(
        Who.ADMIN, kb_evaluation="copy_set delete_result delete_set empty_set import_set save_joined"
    ),
    Action.REVIEW: _rule(Who.ADMIN, reviews="choose_set decide judge summary undo waiting"),
    Action.PROPOSE: _rule(Who.ADMIN, kb_evaluation="propose"),
    Action.MEASURE: _rule(
        Who.ADMIN,
        kb_evaluation="start stop",
        promises="make watch",
        ragas="start",
        runs="plan_run resume_run retry_run start_run stop_run",
        tuner="plan resume start stop",
    ),
    Action.NOTE: _rule(Who.ADMIN, archive="tag write_note"),
    Action.CHANGE_DATASETS: _rule(Who.ADMIN, datasets="add_folder delete start_fetch start_push stop upload"),
    Action.CHANGE_PRESETS: _rule(Who.ADMIN, presets="delete save"),
    Action.CHANGE_SETTINGS: _rule(Who.ADMIN, live="change reset", providers="choose reply_cache", tuner="apply undo"),
    Action.CHECK: _rule(Who.ADMIN, health="forget", providers="check check_configured"),
}
"""Who may do what on a server with a password. Without one, every visitor may do everything."""

_ACTION_OF = {call: action for action, rule in ACTIONS.items() for call in rule.calls}


def action_of(call: str) -> Action | None:
    """Return the action that a call performs; None if no rule names the call.

    Args:
        call: "<part>.<method>" of ``App``.
    """
    return _ACTION_OF.get(call)


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
            PasswordWrong: it is not the password.
            PasswordTriesExhausted: too many wrong tries from this asker; the password was not compared.
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
