"""Answers questions from pipelines: the chat of the pages, of the command line and of ``serve``."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chatbot_mvp.chat.answer import Answer, Finished
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.context import MAX_QUESTION_CHARS, UserContext, require_short
from chatbot_mvp.chat.conversation import Turn, past_of
from chatbot_mvp.chat.follow_ups import Cited, first_questions, follow_ups
from chatbot_mvp.chat.profile import ChatProfile, system_profile
from chatbot_mvp.chat.quality import average_relevance, was_reranked
from chatbot_mvp.chat.several import Asked, StreamOverSeveral
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.documents.languages import PARAGRAPH_WORDS, clear_language, tally
from chatbot_mvp.knowledge_base.filters import DocumentFilter
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.pipelines import JOINED
from chatbot_mvp.knowledge_base.places import Whereabouts
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.llm.registry import find_provider
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.search import OtherSearch, with_search
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.storage.formats import CHAT_LOG, VERSION
from chatbot_mvp.storage.jsonl import append_lines
from chatbot_mvp.text import fold
from chatbot_mvp.types import PastTurn

_log = logging.getLogger(__name__)
_TRIED = 3
"""At most so many times as many questions are asked beforehand as are shown at first."""
_PATIENCE_S = 1.5
"""How long the first question to a knowledge base waits for its vectors. It is then answered with those there are."""


class Answering:
    """Answers questions from knowledge bases with the current provider. Safe to share between threads."""

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases, providers: Providers) -> None:
        self._live = live
        self._kbs = kbs
        self._providers = providers
        self._model = providers.current()
        self._fallback = DemoModel()
        self._metrics_path, self._log_queries = live.current.metrics_log_path, live.current.log_queries

    @property
    def model_name(self) -> str:
        """Names provider and model, as shown beside an answer."""
        return self._model.name

    @performs(Action.READ)
    def defaults(self, kb_id: str, search: OtherSearch = ()) -> UserContext:
        """The knobs of a question to this knowledge base, from the settings or from another search.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
        """
        return UserContext.defaults(with_search(self._live.current, search), self._kbs.store.record(kb_id).chars)

    @performs(Action.READ)
    def language_of(self, text: str, otherwise: str) -> str:
        """Return the language of a text, "es" or "en"; ``otherwise`` if it is not clear."""
        return clear_language(tally(text), PARAGRAPH_WORDS) or otherwise

    @performs(Action.READ)
    def system_profile(self, name: str) -> ChatProfile:
        """Return the part of a system's settings that the chat can adopt.

        Raises:
            UnknownChoice: there is no such system.
        """
        settings = self._live.current
        has_model = self._providers.language_model(settings) is not None
        return system_profile(name, settings, has_model, self._live.is_outside)

    def ask(
        self, kb_id: str, question: str, context: UserContext | None = None, history: Sequence[PastTurn] = ()
    ) -> Answer:
        """Answer a question from a knowledge base. The first question builds its indexes but does not wait for vectors.

        Args:
            context: the options of this question; None for the settings' values.
            history: the conversation so far, oldest first.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting, ConfigurationError (question_too_long)
            FilterError: KB_FILTER cannot be read, or no document meets the filter of this question.
        """
        return finished(self.stream(kb_id, question, context, history, streamed=False))

    def stream(
        self,
        kb_id: str,
        question: str,
        context: UserContext | None = None,
        history: Sequence[PastTurn] = (),
        streamed: bool = True,
        hold: bool = False,
    ) -> AnswerStream:
        """Answer as ``ask``, as a stream of events: the passages found, pieces of text, at last the whole answer.

        ``streamed`` and ``hold`` are as in ``AnswerStream``: to hold is for readers that cannot take words back.
        """
        require_short(question)
        context = context or UserContext()
        # Text, files and places are of one version, even if another one becomes the current one meanwhile.
        version = self._kbs.store.record(kb_id).version
        pipeline = self._kbs.growing(kb_id, search=context.retrieval, version=version).best(_PATIENCE_S)
        pipeline = self._kbs.limited(kb_id, pipeline, self._documents(context), version)
        places, options = self._kbs.places(kb_id, version), self._options(kb_id, question, context, streamed, hold)
        return AnswerStream(pipeline, question, context, _short(history), places=places, **options)

    def ask_over(
        self,
        kb_ids: Sequence[str],
        question: str,
        context: UserContext | None = None,
        history: Sequence[PastTurn] = (),
    ) -> Answer:
        """Answer a question from several knowledge bases, in one ranking of all their passages.

        A source's ``chunk.doc_id`` is the id of its knowledge base, and its ``place`` names that. Arguments and errors
        are those of ``ask``.
        """
        return finished(self.stream_over(kb_ids, question, context, history, streamed=False))

    def stream_over(
        self,
        kb_ids: Sequence[str],
        question: str,
        context: UserContext | None = None,
        history: Sequence[PastTurn] = (),
        streamed: bool = True,
        hold: bool = False,
    ) -> AnswerStream:
        """Answer as ``ask_over``, as a stream of events; the arguments are those of ``stream``."""
        if len(set(kb_ids)) == 1:
            return self.stream(kb_ids[0], question, context, history, streamed, hold)
        require_short(question)
        context = context or UserContext()
        records = {kb_id: self._kbs.store.record(kb_id) for kb_id in kb_ids}
        versions = {kb_id: record.version for kb_id, record in records.items()}
        asked = {
            kb_id: Asked(record.kb_name, self._kbs.places(kb_id, record.version)) for kb_id, record in records.items()
        }
        pipeline = self._kbs.over(kb_ids, search=context.retrieval).best(_PATIENCE_S)
        pipeline = self._kbs.limited_over(versions, pipeline, self._documents(context))
        options = self._options(JOINED.join(versions), question, context, streamed, hold)
        return StreamOverSeveral(asked, pipeline, question, context, _short(history), **options)

    def _documents(self, context: UserContext) -> DocumentFilter:
        return context.documents or DocumentFilter.from_text(context.over(self._live.current).kb_filter)

    def _options(self, kb_id: str, question: str, context: UserContext, streamed: bool, hold: bool) -> dict[str, Any]:
        model, settings = self._model, self._live.current
        of_model = settings
        if context.provider:
            of_model = settings.with_changes(provider=context.provider)
            model = self._providers.model(of_model)
        return {
            "model": model,
            "rates": rates(of_model),
            "fallback": self._fallback,
            "settings": settings,
            "streamed": streamed,
            "hold": hold,
            "done": lambda answer: self._log_metrics(kb_id, question, answer, model.name),
        }

    @performs(Action.ASK)
    def follow_ups(self, kb_ids: Sequence[str], turns: Sequence[Turn], context: UserContext) -> tuple[str, ...]:
        """Return up to three questions that may follow the last of some turns, which the knowledge bases answer.

        Raises:
            As ``ask``.
        """
        answers = [turn.answer for turn in turns if turn.answer]
        if not turns or turns[-1].answer is None or not turns[-1].answer.sources:
            return ()
        versions = {kb_id: self._kbs.store.record(kb_id).version for kb_id in kb_ids}
        pipeline = self._kbs.over(kb_ids, search=context.retrieval).best()
        pipeline = self._kbs.limited_over(versions, pipeline, self._documents(context))
        return follow_ups(
            pipeline,
            [source.chunk for source in answers[-1].sources],
            {source.chunk.section for answer in answers for source in answer.sources},
            [turn.question for turn in turns],
            self._cited(pipeline, context, past_of(turns)),
        )

    @performs(Action.ASK)
    def first_questions(self, kb_ids: Sequence[str], context: UserContext, limit: int = 4) -> tuple[str, ...]:
        """Return up to ``limit`` questions to begin with, each asked before: strict mode answers it.

        They are found once for each version, search and setting.

        Raises:
            As ``ask``.
        """
        documents = self._documents(context)
        versions = {kb_id: self._kbs.store.record(kb_id).version for kb_id in kb_ids}
        each = max(1, limit // len(versions))
        tried = {kb_id: self._kbs.suggested_questions(kb_id, _TRIED * each, context.documents) for kb_id in versions}
        pipeline = self._kbs.over(kb_ids, search=context.retrieval).best()
        pipeline = self._kbs.limited_over(versions, pipeline, documents)
        key = (tuple(versions.values()), context, limit, pipeline.vectors_share, repr(self._live.current))
        cited = self._cited(pipeline, context)
        return self._kbs.kept_questions(kb_ids, key, lambda: first_questions(tuple(tried.values()), each, cited))

    def _cited(self, pipeline: Pipeline, context: UserContext, history: Sequence[PastTurn] = ()) -> Cited:
        """Return what asks a question beforehand, by quotes: no model is paid, and no log has it."""
        context, settings, quotes = replace(context, mode="strict"), self._live.current, self._fallback

        def cited(question: str) -> set[str]:
            asked = (pipeline, question, context, _short(history))
            answer = finished(AnswerStream(*asked, model=quotes, fallback=quotes, settings=settings))
            return {source.chunk.section for source in answer.sources} if answer.outcome == "answered" else set()

        return cited

    @performs(Action.READ)
    def citation_now(self, source: Source) -> Whereabouts | None:
        """Where the text that an answer cited stands in the current version of its knowledge base, and what it says.

        Cheap when it is asked again. None if the knowledge base is gone or cannot be read.
        """
        path, version = (source.place.file, source.place.version_id) if source.place else ("", "")
        return self._kbs.whereabouts(source.chunk.doc_id, source.cited, path, version)

    def ask_version(self, kb_id: str, question: str, version: str) -> Answer:
        """Answer as ``ask``, from one version of a knowledge base and with all its vectors. No log has it.

        Args:
            version: number or id of a version; "" for the current one.

        Raises:
            As ``ask``; KbChangeError (kb_version_not_found), ProviderError: the embedding model failed.
        """
        require_short(question)
        version = self._kbs.store.record(kb_id, version).version
        pipeline = self._kbs.pipeline(kb_id, version=version)
        return finished(
            AnswerStream(
                pipeline,
                question,
                UserContext(),
                (),
                model=self._model,
                rates=rates(self._live.current),
                fallback=self._fallback,
                settings=self._live.current,
                places=self._kbs.places(kb_id, version),
            )
        )

    def _log_metrics(self, kb_id: str, question: str, answer: Answer, model_name: str) -> None:
        """Append the metrics of an answer to their log. If that fails, the line is lost and a warning is logged."""
        entry = _metrics(kb_id, question, answer, model_name)
        if self._log_queries:
            entry |= {"query": question, "searched": answer.trace.query_expanded or answer.trace.query}
        try:
            make_folder(self._metrics_path.parent)
            append_lines(self._metrics_path, [entry], sync=False)
        except (OSError, ValueError) as error:
            _log.warning("the metrics of a question could not be written to %s: %s", self._metrics_path, error)


def rates(settings: Settings) -> bool:
    """Return whether the provider's model may say if passages answer a question: a small one says yes to everything."""
    return not find_provider(settings.chosen_provider).note(settings)


def _short(history: Sequence[PastTurn]) -> list[PastTurn]:
    return [replace(turn, question=turn.question[:MAX_QUESTION_CHARS]) for turn in history]


def _metrics(kb_id: str, question: str, answer: Answer, model_name: str) -> dict[str, Any]:
    trace, decision = answer.trace, answer.decision
    reranked = was_reranked(trace)
    return {
        VERSION: CHAT_LOG,
        "timestamp": utc_now(),
        "query_hash": hashlib.sha256(fold(question).encode("utf-8", "replace")).hexdigest()[:16],
        "kb_id": kb_id,
        "mode": answer.mode,
        "outcome": answer.outcome,
        "why": answer.why,
        "avg_similarity": average_relevance(trace),
        "evidence": round(decision.evidence, 4),
        "topic": trace.topic,
        "relevance": decision.relevance,
        "decided_by": decision.reason,
        "enough": decision.enough,
        "query_expanded": bool(trace.query_expanded),
        "followup": answer.search.how or None,
        "reranked": reranked,
        "method": answer.strategy + ("+reranking" if reranked else ""),
        "unsupported": sum(not statement.supported for statement in answer.statements),
        "seconds": round(answer.seconds, 4),
        "provider": model_name,
        "fell_back": answer.fell_back,
        "fingerprint": answer.fingerprint,
    }


def finished(stream: AnswerStream) -> Answer:
    """Run a stream to its end; the answer."""
    answer = None
    for event in stream:
        if isinstance(event, Finished):
            answer = event.answer
    assert answer is not None, "a stream that is not cancelled ends with its answer"
    return answer
