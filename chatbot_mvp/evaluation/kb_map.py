"""The passages of a knowledge base with what questions and conversations had to do with them, for a map."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chatbot_mvp.chat.conversations import ConversationStore, is_session
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.kb.passages import PassageUse, Span, Uses, moved, passage_uses
from chatbot_mvp.evaluation.kb.results import KbResult
from chatbot_mvp.evaluation.kb_service import KbEvaluationService
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.lru import FileCache

_MOST_CONVERSATIONS = 1_000
_CACHE_BYTES = 64 * 2**20

_log = logging.getLogger(__name__)
_Cited = tuple[tuple[str, str, Span], ...]
"""(knowledge base, id of its version, span) of each citation of a conversation."""


@dataclass(frozen=True, slots=True)
class KbMap:
    """The current version of a knowledge base as passages."""

    version: str
    passages: tuple[PassageUse, ...]
    """In the order of the text."""
    sets: int
    """Number of question sets that were measured. The latest result of each counts, with the chat's strategy if any."""
    citations: int
    """Number of citations in the chat that stand in this version."""


class KbMaps:
    """Maps of knowledge bases. Safe to share between sessions: holds no state of a single user."""

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases, evaluation: KbEvaluationService) -> None:
        self._live = live
        self._kbs = kbs
        self._evaluation = evaluation
        self._root = live.current.conversations_dir
        self._store = ConversationStore(self._root)
        self._cited: FileCache[_Cited] = FileCache(_CACHE_BYTES)

    @performs(Action.READ)
    def of_session(self, kb_id: str, session: str) -> KbMap:
        """Return the map with the citations of a session's conversations.

        Raises:
            KbNotFound, KbUnreadable
        """
        return self._map(kb_id, self._root.glob(f"{session}/*.jsonl") if is_session(session) else ())

    @performs(Action.REVIEW)
    def of_all(self, kb_id: str) -> KbMap:
        """Return the map with the citations of all sessions' conversations, the newest thousand. Raises as above."""
        return self._map(kb_id, self._root.glob("*/*.jsonl"))

    def _map(self, kb_id: str, conversations: Iterable[Path]) -> KbMap:
        record = self._kbs.store.record(kb_id)
        files = self._kbs.store.files(kb_id, record.version)
        latest: dict[str, KbResult] = {}
        strategy = self._live.current.retrieval_strategy
        # What the chat searches with says what the chat finds.
        for result in sorted(self._evaluation.results(kb_id), key=lambda one: one.strategy != strategy):
            latest.setdefault(result.set_id or result.set_name, result)
        expected: list[Span] = []
        missed: list[Span] = []
        found: list[Span] = []
        for result in latest.values():
            measured = self._kbs.store.version_with(kb_id, result.kb_sha256)
            then = measured.files if measured else ()
            places = [(row.places[0], row.rank is None) for row in result.rows if row.places]
            expected += moved((place for place, _ in places), then, files)
            missed += moved((place for place, lost in places if lost), then, files)
            found += moved(((one.start, one.end) for row in result.rows for one in row.found), then, files)
        cited = self._citations(kb_id, conversations)
        passages = passage_uses(self._kbs.contents(kb_id).chunks, files, Uses(expected, missed, found, cited))
        return KbMap(record.version, tuple(passages), len(latest), len(cited))

    def _citations(self, kb_id: str, conversations: Iterable[Path]) -> list[Span]:
        """Return the citations of a knowledge base, where they stand in its current version."""
        spans: dict[str, list[Span]] = {}
        newest = sorted(conversations, key=lambda path: path.stem, reverse=True)[:_MOST_CONVERSATIONS]
        for path in newest:
            for cited, version, span in self._cited.get(path, partial(self._read, path)):
                if cited == kb_id:
                    spans.setdefault(version, []).append(span)
        now = self._kbs.files(kb_id)
        return [one for version, found in spans.items() for one in moved(found, self._kbs.files(kb_id, version), now)]

    def _read(self, path: Path) -> _Cited:
        try:
            conversation = self._store.load(path.parent.name, path.stem)
        except ChatbotError as error:
            _log.warning("%s", error)
            return ()
        return tuple(
            (source.chunk.doc_id, source.place.version_id, (source.chunk.start, source.chunk.end))
            for turn in conversation.turns
            if turn.answer and not turn.answer.chosen
            for source in turn.answer.sources
            if source.place and source.place.version_id
        )
