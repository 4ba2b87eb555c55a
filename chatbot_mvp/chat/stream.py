"""One answer as it is made: search, judge the evidence, ask the model, check the text, as a stream of events."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace

from chatbot_mvp.chat import chosen
from chatbot_mvp.chat.answer import Answer, Event, Failure, Finished, Piece, Restarted, Retrieved
from chatbot_mvp.chat.asking_back import ask_back
from chatbot_mvp.chat.citations import Source, placed
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.followup import Search, find
from chatbot_mvp.chat.grounding import grounding_of, rest_of_tables
from chatbot_mvp.chat.holding import Holding
from chatbot_mvp.chat.nearest import Nearest
from chatbot_mvp.chat.outline import InParts, outline_of
from chatbot_mvp.chat.prompting import grounded_messages, open_messages
from chatbot_mvp.chat.relevance import Decision, decide
from chatbot_mvp.chat.reply import Case, answer_of, verified
from chatbot_mvp.chat.small_talk import asked_in, small_talk
from chatbot_mvp.errors import ConfigurationError, ProviderError
from chatbot_mvp.knowledge_base.places import Places
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, ChatStream, Completion
from chatbot_mvp.llm.wrapped import StoppableModel
from chatbot_mvp.remote.stop import Stop
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import PastTurn

_NOWHERE = Places()

GROQ_KB_TOKENS = 700
"""Default token limit of Groq's answers from a knowledge base."""


class AnswerStream:
    """Iterates over the events of one answer: Retrieved, then Pieces, then Finished. Can be iterated once.

    If the provider fails, Restarted comes between the Pieces.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        question: str,
        context: UserContext,
        history: Sequence[PastTurn],
        *,
        model: ChatModel,
        fallback: ChatModel,
        settings: Settings,
        rates: bool = True,
        search: Search | None = None,
        places: Places = _NOWHERE,
        streamed: bool = False,
        hold: bool = False,
        done: Callable[[Answer], None] = lambda _: None,
    ) -> None:
        """
        Args:
            history: the conversation so far, oldest first.
            fallback: answers from the evidence if ``model`` fails.
            rates: whether the model may say, in doubt, if the passages answer the question.
            search: what is found for the question; None to search for it.
            places: those of the version that is asked; without any, sources have no file and page.
            streamed: whether the model is asked for its text piece by piece.
            hold: whether the pieces of a strict answer wait until the passages support one of its sentences.
            done: called with the answer just before the stream hands it out.

        Raises:
            InvalidSetting: an option is out of its range.
        """
        self._stop = Stop()
        self._model, self._fallback = StoppableModel(model, self._stop), fallback
        self._settings = context.over(settings)
        self._pipeline = pipeline.with_selection(self._settings)
        self._question, self._context, self._history = asked_in(question), context, history
        self._places, self._streamed, self._hold, self._done = places, streamed, hold, done
        self._rates, self._search = rates, search
        self._stream: ChatStream | None = None

    def cancel(self) -> None:
        """Stop the model, from any thread and before its first word too. The text so far becomes the answer."""
        self._stop.set()
        if self._stream is not None:
            self._stream.close()

    def with_places(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """Return sources with their places, as its answer will have them."""
        return placed(sources, self._places)

    def __iter__(self) -> Iterator[Event]:
        started = time.perf_counter()
        model, settings = self._model, self._settings
        passage, strict = self._context.passage, self._context.mode == "strict"
        if passage is None and (line := small_talk(self._question)):
            yield from self._in_passing(line, started)
            return
        rewriter = model if settings.chat_rewrite_followups and not model.needs_evidence else None
        search = self._search or find(self._pipeline, self._question, self._history, rewriter)
        if passage is not None:
            search = chosen.search_of(search, passage, self._pipeline.index)
        budget = search.trace.context_chars_budget
        outline = None if passage else outline_of(self._question, self._pipeline.index, self._places, budget)
        if outline is not None:
            search = outline.search_of(search)
        yield Retrieved(search)
        readings = None if outline else self._readings(search)
        decision = self._decision(search, readings, outline is not None)
        case = Case(
            self._pipeline,
            self._question,
            self._context,
            settings,
            self._history,
            search,
            decision,
            self._places,
            readings,
        )
        proves = strict and passage is None and decision.enough and outline is None
        case = replace(case, tables=rest_of_tables(self._pipeline.index, case.passages)) if proves else case
        request = _request(case, model)
        if outline is not None and not model.needs_evidence:
            model = StoppableModel(
                InParts(model, self._question, case.language, case.passages, outline.budget), self._stop
            )
        completion: Completion | None = None
        failure: Failure | None = None
        if decision.enough or (not strict and not model.needs_evidence):
            try:
                if outline is not None and model.needs_evidence:
                    completion = outline.quoted(case.passages, case.language)
                else:
                    completion = yield from self._complete(model, request, self._holding(case))
            except (ProviderError, ConfigurationError) as error:  # the latter: a package or model file is missing
                failure = Failure.of(error)
                yield Restarted(failure)
                if outline is not None:
                    completion = outline.quoted(case.passages, case.language)
                elif decision.enough:
                    completion = yield from self._complete(self._fallback, request)
        if passage is not None and completion is not None and completion.quotes is not None:
            completion = chosen.quoted_whole(completion, passage)
        answer = answer_of(case, model, request.messages, completion, failure, started)
        self._done(answer)
        yield Finished(answer)

    def _in_passing(self, line: str, started: float) -> Iterator[Event]:
        """Yield the events of an answer that nothing was searched for; no log has it."""
        search = Search(self._question, RetrievalTrace(self._question))
        yield Retrieved(search)
        decision = Decision("answered", 0.0, self._settings.kb_min_evidence, "talk")
        case = Case(
            self._pipeline, self._question, self._context, self._settings, self._history, search, decision, self._places
        )
        yield Finished(answer_of(case, self._model, (), Completion(line, "", 0.0), None, started))

    def _readings(self, search: Search) -> Nearest | None:
        """Return what the question could mean; None if it is clear, as one that a person chose, or its passage, is."""
        settings, context = self._settings, self._context
        if context.mode != "strict" or context.passage is not None or context.is_reading or not settings.chat_asks_back:
            return None
        return ask_back(self._pipeline, self._question, self._history, search)

    def _decision(self, search: Search, readings: Nearest | None, outlined: bool) -> Decision:
        settings = self._settings
        if outlined:
            return Decision("answered", search.trace.evidence or 0.0, settings.kb_min_evidence, "outline")
        if self._context.passage is not None:
            return chosen.decision_for(search, settings.kb_min_evidence)
        if readings is not None:
            return Decision("asks", search.trace.evidence or 0.0, settings.kb_min_evidence, "readings")
        return decide(
            search.trace,
            search.query,
            settings.kb_min_evidence,
            settings.kb_doubt_evidence,
            self._model if self._context.mode == "strict" and self._rates else None,
            self._pipeline.index.analyzer.language_of(self._question),
            settings.kb_sure_evidence,
        )

    def _holding(self, case: Case) -> Holding | None:
        # A model that needs evidence copies its sentences from the passages.
        held = self._hold and case.context.mode == "strict" and self._settings.chat_withholds
        if not held or self._model.needs_evidence:
            return None
        return Holding(lambda text: any(statement.supported for statement in verified(case, text)))

    def _complete(
        self, model: ChatModel, request: ChatRequest, holding: Holding | None = None
    ) -> Generator[Event, None, Completion]:
        """Yield the pieces and return the completion, which is partial if the answer was cancelled."""
        try:
            if not self._streamed:
                return model.complete(request)
            self._stream = model.stream(request)
            for piece in self._stream:
                shown = holding.add(piece) if holding else piece
                if shown:
                    yield Piece(shown)
                if self._stop.is_set:
                    break
        except ProviderError:
            # Cutting the connection makes the request fail; after a cancellation this is expected.
            if not self._stop.is_set:
                raise
        finally:
            if self._stream is not None:
                self._stream.close()
        return self._stream.completion if self._stream else Completion("", model.name, 0.0, "cancelled")


def _request(case: Case, model: ChatModel) -> ChatRequest:
    passages, language = case.passages, case.language
    if passages:
        messages = grounded_messages(case.question, passages, language, case.history, case.context.answer_in)
    else:
        messages = open_messages(case.question, language, case.history, case.context.answer_in)
    settings = case.settings
    on_groq = bool(passages) and model.name.partition("/")[0] == "groq"
    usual = GROQ_KB_TOKENS if on_groq else settings.llm_max_tokens
    # Quotes need no limit that protects from a model without end; one that was asked for holds for them, too.
    limit = settings.chat_max_tokens or (None if model.needs_evidence else usual)
    options = ChatOptions(temperature=settings.llm_temperature, max_tokens=limit, seed=case.context.seed)
    proves = case.context.mode == "strict" and case.context.passage is None
    least_proof = settings.kb_min_proof if proves else None
    search, index = case.search, case.pipeline.index
    grounding = grounding_of(search.trace, index, passages, least_proof, search.how == "previous", case.tables)
    return ChatRequest(messages, options, grounding)
