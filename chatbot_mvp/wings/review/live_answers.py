"""Read the answers that the chat gave about a knowledge base, as items to review, from the stored conversations."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.conversation import Turn
from chatbot_mvp.chat.conversations import ConversationStore, is_session
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.chat.relevance import MIN_TOPIC
from chatbot_mvp.errors import ConversationNotFound, FileOfLaterVersion
from chatbot_mvp.storage.lru import FileCache
from chatbot_mvp.types import Chunk
from chatbot_mvp.wings.review.verdicts import ReviewItem, item_id_of

_MOST_CONVERSATIONS = 2_000
_MOST_ANSWERS = 500  # reading one takes some milliseconds
_MOST_PASSAGES = 5  # each has a digit key
_CACHE_BYTES = 64 * 2**20

_log = logging.getLogger(__name__)
_Answers = tuple[tuple[ReviewItem, tuple[str, ...]], ...]
"""(item with the passages that the answer cites, ids of all chunks that were found) of each answer."""


class LiveAnswers:
    """Reads answers of all sessions. Safe to share between threads."""

    def __init__(self, root: Path) -> None:
        """``root`` is the folder of the conversations."""
        self._root = root
        self._store = ConversationStore(root)
        self._read: FileCache[_Answers] = FileCache(_CACHE_BYTES)

    def items(self, kb_id: str, chunks: Sequence[Chunk], session: str | None = None) -> list[ReviewItem]:
        """Return the answers about a knowledge base, newest first. Equal questions are one item.

        An item shows the latest answer with a thumbs down, else the latest one. Answers without a passage, which a
        model gave from its own knowledge, and answers over several knowledge bases are left out. Reads the newest 500
        answers in the newest 2,000 conversations.

        Args:
            chunks: the chunks of the knowledge base.
            session: the only session to read; None for all.
        """
        by_id = {chunk.chunk_id: chunk for chunk in chunks}
        found: dict[str, ReviewItem] = {}
        for item, chunk_ids in self._answers(kb_id, session):  # newest first
            kept = found.get(item.item_id)
            times = kept.times + 1 if kept else 1
            if kept is None or (item.bad and not kept.bad):
                kept = replace(item, passages=_with_found(item.passages, chunk_ids, by_id))
            found[item.item_id] = replace(kept, times=times)
        return list(found.values())

    def _answers(self, kb_id: str, session: str | None) -> Iterator[tuple[ReviewItem, tuple[str, ...]]]:
        if session is not None and not is_session(session):
            return
        paths = self._root.glob(f"{session or '*'}/*.jsonl")
        left = _MOST_ANSWERS
        for path in sorted(paths, key=lambda one: one.stem, reverse=True)[:_MOST_CONVERSATIONS]:
            if left > 0 and _is_about(path, kb_id):
                found = self._read.get(path, partial(self._load, path))[:left]
                left -= len(found)
                yield from found

    def _load(self, path: Path) -> _Answers:
        """Return the answers of a conversation, newest first."""
        try:
            found = self._store.load(path.parent.name, path.stem)
        except (ConversationNotFound, FileOfLaterVersion) as error:
            _log.warning("%s", error)
            return ()
        if found.others:  # an answer from several knowledge bases tells nothing of one of them
            return ()
        items = (
            (_item(turn, turn.answer), _chunk_ids(turn.answer))
            for turn in reversed(found.turns)
            if turn.answer and not turn.answer.chosen
        )
        return tuple((item, ids) for item, ids in items if item.passages or item.outcome != "answered")


def _is_about(path: Path, kb_id: str) -> bool:
    """Return whether the first line of a conversation names a knowledge base."""
    try:
        with path.open("rb") as file:
            return kb_id.encode() in file.readline()
    except OSError:
        return False


def _item(turn: Turn, answer: AnswerRecord) -> ReviewItem:
    question = " ".join((answer.search_query or turn.question).split())
    topic = answer.debug["topic"]
    feedback = turn.feedback
    return ReviewItem(
        item_id_of(question),
        question,
        answer.text,
        answer.outcome,
        answer.evidence,
        turn.asked_at,
        1,
        feedback is not None and not feedback.good,
        feedback.note if feedback else "",
        answer.sources or (answer.nearest.passages if answer.nearest else ()),
        len(answer.sources),
        answer.outcome == "refused" or (topic is not None and topic < MIN_TOPIC),
    )


def _chunk_ids(answer: AnswerRecord) -> tuple[str, ...]:
    return tuple(row["chunk_id"] for row in answer.debug["chunks_final"])


def _with_found(passages: tuple[Source, ...], chunk_ids: Sequence[str], by_id: dict[str, Chunk]) -> tuple[Source, ...]:
    """Return the passages, then other chunks that were found, best first; five in all."""
    shown = {source.chunk.chunk_id for source in passages}
    others = [by_id[one] for one in dict.fromkeys(chunk_ids) if one in by_id and one not in shown]
    return (*passages, *(Source(0, chunk, ()) for chunk in others))[:_MOST_PASSAGES]
