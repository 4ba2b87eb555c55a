"""What the versions are asked: a question set, a question file, or the last questions of the chat."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

from chatbot_mvp.app import App
from chatbot_mvp.chat.conversations import ConversationStore, is_session
from chatbot_mvp.errors import ConversationNotFound, FileOfLaterVersion
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.evaluation.kb.sets import SET_ID
from chatbot_mvp.storage.formats import CHAT_LOG, VERSION
from chatbot_mvp.storage.jsonl import parsed_lines
from chatbot_mvp.text import fold
from chatbot_mvp.wings.effects.errors import EffectsError
from chatbot_mvp.wings.effects.types import Source

LAST = 200
"""Questions of the chat that are asked if nobody says how many."""
_MOST_CONVERSATIONS = 2_000

_log = logging.getLogger(__name__)


def questions_to_ask(
    app: App, kb_id: str, questions: str | Path, last: int, session: str = ""
) -> tuple[Source, str, list[KbQuestion]]:
    """Return where the questions come from, the name of their set or file, and the questions, at least one.

    Args:
        questions, last, session: as in ``Effects.plan``.

    Raises:
        EffectsError (effects_no_questions, effects_no_chat), QuestionSetNotFound, DatasetError, EmptyDataset
    """
    sets, settings = app.question_sets, app.settings
    if questions and not last:
        if not SET_ID.fullmatch(str(questions)) or Path(questions).is_file():
            return "file", Path(questions).name, load_questions(Path(questions))
        named = sets.question_set(kb_id, str(questions))
        if named.kept:
            return "set", named.name, named.kept
    else:
        newest = None if last else next((one for one in sets.sets(kb_id) if one.kept), None)
        if newest is not None:
            return "set", newest.name, newest.kept
        if asked := last_questions(settings.conversations_dir, settings.metrics_log_path, kb_id, last or LAST, session):
            return "chat", "", asked
        if last:
            raise EffectsError("effects_no_chat", kb_id=kb_id)
    legal = ", ".join(one.set_id for one in sets.sets(kb_id)) or "none"
    raise EffectsError("effects_no_questions", kb_id=kb_id, legal=legal)


def last_questions(conversations: Path, log: Path, kb_id: str, count: int, session: str = "") -> list[KbQuestion]:
    """Return the last distinct questions of the chat about a knowledge base, newest first.

    They come from the stored conversations, and from the metrics log where LOG_QUERIES keeps questions. A question
    that only makes sense after the one before is taken as it was searched.

    Args:
        conversations: folder of the conversations.
        log: the metrics log.
        count: how many at most, 1 or more.
        session: the only session whose conversations are read, and not the log; "" for all.
    """
    found: dict[str, str] = {}
    logged = () if session else _of_log(log, kb_id)
    times = sorted([*_of_conversations(conversations, kb_id, session), *logged], reverse=True)
    for _, question in times:
        found.setdefault(" ".join(fold(question).split()), question)
        if len(found) == count:
            break
    return [KbQuestion(_id(key), question) for key, question in found.items()]


def _of_conversations(root: Path, kb_id: str, session: str) -> Iterator[tuple[str, str]]:
    """Yield (time, question) of the newest conversations about a knowledge base."""
    if session and not is_session(session):
        return
    store = ConversationStore(root)
    paths = sorted(root.glob(f"{session or '*'}/*.jsonl"), key=lambda path: path.stem, reverse=True)
    for path in paths[:_MOST_CONVERSATIONS]:
        if not _names(path, kb_id):
            continue
        try:
            conversation = store.load(path.parent.name, path.stem)
        except (ConversationNotFound, FileOfLaterVersion) as error:
            _log.warning("%s", error)
            continue
        for turn in conversation.turns if conversation.kb_ids == (kb_id,) else ():
            searched = turn.answer.search_query if turn.answer else ""
            yield turn.asked_at, " ".join((searched or turn.question).split())


def _of_log(log: Path, kb_id: str) -> Iterator[tuple[str, str]]:
    content = log.read_bytes() if log.is_file() else b""
    # Parsing is slow, and the log has the questions about all knowledge bases.
    own = b"\n".join(line for line in content.split(b"\n") if kb_id.encode() in line)
    for row in parsed_lines(own)[0]:
        follows = bool(row.get("followup"))
        if row.get(VERSION) != CHAT_LOG or row.get("kb_id") != kb_id or (follows and row.get("query_expanded")):
            continue
        text = row.get("searched") if follows else row.get("query")
        if isinstance(text, str) and text.strip():
            yield str(row.get("timestamp")), " ".join(text.split())


def _names(path: Path, kb_id: str) -> bool:
    """Return whether the first line of a conversation names a knowledge base."""
    try:
        with path.open("rb") as file:
            return kb_id.encode() in file.readline()
    except OSError:
        return False


def _id(key: str) -> str:
    return f"chat-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:12]}"
