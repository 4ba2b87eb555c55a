"""One answer as it is made: search, judge the evidence, ask the model, check the text, as a stream of events."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from chatbot_mvp.chat import chosen
from chatbot_mvp.chat.answer import Answer, Event, Failure, Finished, Piece, Restarted, Retrieved, Why
from chatbot_mvp.chat.asking_back import ask_back
from chatbot_mvp.chat.citations import Source, clean_citations, find_sources, placed, quoted_sources
from chatbot_mvp.chat.code_blocks import with_closed_fences
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.followup import Search, find
from chatbot_mvp.chat.holding import Holding
from chatbot_mvp.chat.nearest import Nearest, corrected, find_nearest
from chatbot_mvp.chat.prompting import (
    chat_fingerprint,
    grounded_messages,
    no_evidence,
    no_model,
    open_messages,
    which_one,
)
from chatbot_mvp.chat.quality import rephrase
from chatbot_mvp.chat.relevance import Decision, Outcome, decide, outcome_of
from chatbot_mvp.chat.verification import Statement, nearness_of, verify, with_citations
from chatbot_mvp.errors import ConfigurationError, ProviderError
from chatbot_mvp.knowledge_base.places import Places
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, ChatStream, Completion, Grounding, Message
from chatbot_mvp.llm.wrapped import StoppableModel
from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.remote.stop import Stop
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import LANGUAGES, fold
from chatbot_mvp.types import Chunk, PastTurn

_NOWHERE = Places()

GROQ_KB_TOKENS = 700
"""Default token limit of Groq's answers from a knowledge base."""


@dataclass(frozen=True, slots=True)
class _Case:
    """Everything that is known before a model is asked."""

    pipeline: Pipeline
    question: str
    context: UserContext
    settings: Settings
    history: Sequence[PastTurn]
    search: Search
    decision: Decision
    places: Places
    """Where the documents of the knowledge base are in its text."""
    readings: Nearest | None = None
    """What the question could mean, if that is not clear."""

    @property
    def passages(self) -> tuple[Chunk, ...]:
        """The passages to answer from; empty if the evidence does not suffice."""
        return tuple(hit.chunk for hit in self.search.trace.chunks_final) if self.decision.enough else ()

    @property
    def language(self) -> str:
        """Language of the question, among those of the knowledge base."""
        return self.pipeline.index.analyzer.language_of(self.question)


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
        places: Places = _NOWHERE,
        streamed: bool = False,
        hold: bool = False,
        done: Callable[[Answer], None] = lambda _: None,
    ) -> None:
        """
        Args:
            history: the conversation so far, oldest first.
            fallback: answers from the evidence if ``model`` fails.
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
        self._question, self._context, self._history = question, context, history
        self._places, self._streamed, self._hold, self._done = places, streamed, hold, done
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
        rewriter = model if settings.chat_rewrite_followups and not model.needs_evidence else None
        search = find(self._pipeline, self._question, self._history, rewriter)
        passage, strict = self._context.passage, self._context.mode == "strict"
        if passage is not None:
            search = chosen.search_of(search, passage, self._pipeline.index)
        yield Retrieved(search)
        readings = None
        if strict and passage is None and settings.chat_asks_back:
            readings = ask_back(self._pipeline, self._question, self._history, search)
        if passage is not None:
            decision = chosen.decision_for(search, settings.kb_min_evidence)
        elif readings is not None:
            decision = Decision("asks", search.trace.evidence or 0.0, settings.kb_min_evidence, "readings")
        else:
            decision = decide(
                search.trace,
                search.query,
                settings.kb_min_evidence,
                settings.kb_doubt_evidence,
                model if strict else None,
                self._pipeline.index.analyzer.language_of(self._question),
                settings.kb_sure_evidence,
            )
        case = _Case(
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
        request = _request(case, model)
        completion: Completion | None = None
        failure: Failure | None = None
        if decision.enough or (not strict and not model.needs_evidence):
            try:
                completion = yield from self._complete(model, request, self._holding(case))
            except (ProviderError, ConfigurationError) as error:  # the latter: a package or model file is missing
                failure = Failure.of(error)
                yield Restarted(failure)
                if decision.enough:
                    completion = yield from self._complete(self._fallback, request)
        if passage is not None and completion is not None and completion.quotes is not None:
            completion = chosen.quoted_whole(completion, passage)
        answer = _answer(case, model, request.messages, completion, failure, started)
        self._done(answer)
        yield Finished(answer)

    def _holding(self, case: _Case) -> Holding | None:
        # A model that needs evidence copies its sentences from the passages.
        if not self._hold or case.context.mode != "strict" or self._model.needs_evidence:
            return None
        return Holding(lambda text: any(statement.supported for statement in _verified(case, text)))

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


def _request(case: _Case, model: ChatModel) -> ChatRequest:
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
    closeness = sentence_closeness(case.search.trace, case.pipeline.index)
    # The scale of quotes has its middle at 0.5, that of the evidence at the threshold that was chosen.
    checked = case.context.mode == "strict" and case.context.passage is None
    evidence = case.decision.evidence - case.decision.min_evidence + 0.5 if checked else None
    asked, _ = corrected(case.search.query, case.search.trace, case.pipeline.index)
    grounding = Grounding(asked, passages, language, closeness, case.pipeline.index.analyzer, evidence)
    return ChatRequest(messages, options, grounding)


def _answer(
    case: _Case,
    model: ChatModel,
    messages: tuple[Message, ...],
    completion: Completion | None,
    failure: Failure | None,
    started: float,
) -> Answer:
    passages, language = case.passages, case.context.language or case.language
    text, sources, statements = _checked(case, completion) if completion else ("", (), ())
    if case.decision.reason == "quotes" and not text:  # no quote was plain enough: the evidence decides after all
        decided = replace(case.decision, outcome=outcome_of(False, case.search.trace), reason="evidence")
        case, passages = replace(case, decision=decided), ()
    why = _why_none(case, completion, text, statements)
    if why is not None:
        wanted_model = case.context.mode == "general" and not passages
        text = (which_one if why == "readings" else no_model if wanted_model else no_evidence)(language)
        sources, statements = (), ()
    outcome: Outcome = "answered" if why is None else "nearest" if case.decision.enough else case.decision.outcome
    nearest = None
    if outcome == "nearest" and case.context.mode == "strict":
        nearest = find_nearest(case.question, case.search.trace, case.pipeline.index, case.decision.relevance)
    elif outcome == "asks":
        nearest = case.readings
    if nearest is not None:
        nearest = replace(nearest, passages=placed(nearest.passages, case.places))
    return Answer(
        text=text,
        sources=placed(sources, case.places),
        statements=statements,
        mode=case.context.mode,
        search=case.search,
        decision=case.decision,
        messages=messages if completion or failure else (),
        completion=completion,
        outcome=outcome,
        why=why,
        nearest=nearest,
        hint=_hint(why, nearest, language),
        from_kb=bool(passages)
        and why is None
        and (not text or any(each.supported for each in statements) or bool(case.context.answer_in and sources)),
        failure=failure,
        fingerprint=chat_fingerprint(case.pipeline.config, model.name),
        strategy=case.pipeline.config.retrieval_strategy,
        vectors_share=case.pipeline.vectors_share,
        seconds=time.perf_counter() - started,
    )


def _hint(why: Why | None, nearest: Nearest | None, language: str) -> str:
    if why == "readings" and nearest is not None:
        return "\n".join(f"- {reading.question}" for reading in nearest.did_you_mean)
    return "" if why is None else rephrase(language)


def _why_none(case: _Case, completion: Completion | None, text: str, statements: Sequence[Statement]) -> Why | None:
    """Return why the reply of the model is not given as the answer; None if it is."""
    if completion is not None and completion.finish_reason == "cancelled":
        return None  # what the user stopped stays as it is, even without a word
    if not case.decision.enough:
        if text:  # the model's own answer in general mode
            return None
        if case.decision.outcome == "refused":
            return "topic"
        if case.decision.outcome == "asks":
            return "readings"
        return "relevance" if case.decision.reason == "relevance" else "evidence"
    if not text or _declines(text):
        return "declined"
    strict = case.context.mode == "strict" and not case.context.answer_in
    return "unsupported" if strict and not any(statement.supported for statement in statements) else None


def _checked(case: _Case, completion: Completion) -> tuple[str, tuple[Source, ...], tuple[Statement, ...]]:
    """Return (the text with valid citations only, the cited passages, the support of each sentence)."""
    passages = case.passages
    if completion.quotes is not None:  # verbatim from the passages, whose brackets are no citations
        return completion.text, quoted_sources(completion.quotes, passages), _quoted(completion, passages)
    text = with_closed_fences(clean_citations(from_data(completion.text), len(passages)))
    if not passages:
        return text, (), ()
    if case.context.answer_in:  # words of another language than the passages' cannot be compared with theirs
        return text, find_sources(text, passages, case.pipeline.index.analyzer), ()
    statements = _verified(case, text)
    if completion.finish_reason != "cancelled":
        text, statements = with_citations(text, statements)
    return text, find_sources(text, passages, case.pipeline.index.analyzer), statements


def _verified(case: _Case, text: str) -> tuple[Statement, ...]:
    index = case.pipeline.index
    return verify(text, case.passages, index.analyzer, index.idf, nearness_of(index))


def _quoted(completion: Completion, passages: Sequence[Chunk]) -> tuple[Statement, ...]:
    found, position = [], 0
    for quote in completion.quotes or ():
        words = passages[quote.number - 1].text[quote.start : quote.end]
        if (start := completion.text.find(words, position)) >= 0:
            position = start + len(words)
            found.append(Statement(start, position, (quote.number,), 1.0, True))
    return tuple(found)


def _declines(text: str) -> bool:
    """Return whether a model replied, with the phrase from its prompt, that the passages contain no answer."""
    said = fold(text).strip(" .\"'«»“”*")
    return any(said.startswith(fold(no_evidence(name)).rstrip(".")) for name in LANGUAGES)
