"""Answers questions from pipelines: the chat of the pages, of the command line and of ``serve``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatbot_mvp.chat.answer import Answer, Finished
from chatbot_mvp.chat.context import MAX_QUESTION_CHARS, UserContext, require_short
from chatbot_mvp.chat.metrics_log import MetricsLog
from chatbot_mvp.chat.profile import ChatProfile, system_profile
from chatbot_mvp.chat.prompting import PastTurn
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.knowledge_base.service import KnowledgeBases
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.retrieval.search import OtherSearch, with_search
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings

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
        self._metrics = MetricsLog(live.current.metrics_log_path, live.current.log_queries)

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
    def system_profile(self, name: str) -> ChatProfile:
        """Return the part of a system's settings that the chat can adopt.

        Raises:
            UnknownChoice: there is no such system.
        """
        settings = self._live.current
        return system_profile(name, settings, self._providers.language_model(settings) is not None)

    def ask(
        self, kb_id: str, question: str, context: UserContext | None = None, history: Sequence[PastTurn] = ()
    ) -> Answer:
        """Answer a question from a knowledge base. The first question builds its indexes but does not wait for vectors.

        Args:
            context: the options of this question; None for the settings' values.
            history: the conversation so far, oldest first.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting, ConfigurationError (question_too_long)
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

        Args:
            streamed: whether the model is asked for its text piece by piece.
            hold: for readers that cannot take words back: the pieces of a strict answer wait until the passages support
                one of its sentences.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting, ConfigurationError (question_too_long)
        """
        require_short(question)
        history = [replace(turn, question=turn.question[:MAX_QUESTION_CHARS]) for turn in history]
        context = context or UserContext()
        pipeline = self._kbs.growing(kb_id, search=context.retrieval).best(_PATIENCE_S)
        return AnswerStream(
            pipeline,
            question,
            context,
            history,
            model=self._model,
            fallback=self._fallback,
            settings=self._live.current,
            files=self._kbs.files(kb_id),
            streamed=streamed,
            hold=hold,
            done=lambda answer: self._metrics.append(kb_id, question, answer, self._model.name),
        )


def finished(stream: AnswerStream) -> Answer:
    """Run a stream to its end; the answer."""
    answer = None
    for event in stream:
        if isinstance(event, Finished):
            answer = event.answer
    assert answer is not None, "a stream that is not cancelled ends with its answer"
    return answer
