"""What becomes of a model's reply: its citations are cleaned, its sentences checked, and an outcome is given."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chatbot_mvp.chat.answer import Answer, Failure, Why
from chatbot_mvp.chat.citations import Source, clean_citations, find_sources, placed, quoted_sources
from chatbot_mvp.chat.code_blocks import with_closed_fences
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.garbage import Garbage, garbage_in
from chatbot_mvp.chat.nearest import Nearest, find_nearest
from chatbot_mvp.chat.prompting import chat_fingerprint, no_evidence, no_model, which_one
from chatbot_mvp.chat.quality import rephrase
from chatbot_mvp.chat.relevance import Decision, Outcome, outcome_of
from chatbot_mvp.chat.verification import Statement, verify, with_citations
from chatbot_mvp.knowledge_base.places import Places
from chatbot_mvp.llm.base import ChatModel, Completion, Message
from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import LANGUAGES, fold
from chatbot_mvp.types import Chunk, PastTurn


@dataclass(frozen=True, slots=True)
class Case:
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
    """What the question could mean; None if it is clear."""
    tables: tuple[Chunk, ...] = ()
    """What the tables of the passages have besides; quoted with the numbers behind those of the passages."""

    @property
    def passages(self) -> tuple[Chunk, ...]:
        """The passages to answer from; empty if the evidence does not suffice."""
        return tuple(hit.chunk for hit in self.search.trace.chunks_final) if self.decision.enough else ()

    @property
    def language(self) -> str:
        """Language of the question, among those of the knowledge base."""
        return self.pipeline.index.analyzer.language_of(self.question)


def answer_of(
    case: Case,
    model: ChatModel,
    messages: tuple[Message, ...],
    completion: Completion | None,
    failure: Failure | None,
    started: float,
) -> Answer:
    """Return the answer that a reply becomes.

    Args:
        messages: the prompt of the reply.
        completion: the reply; None if no model was asked, or none answered.
        failure: why the provider did not answer; None if it did.
        started: when the question came, by ``time.perf_counter``.
    """
    passages, language = case.passages, case.context.language or case.language
    text, sources, statements = _checked(case, completion) if completion else ("", (), ())
    if completion and completion.quotes is not None and not text:  # no quote is proven, by itself or behind a failure
        proves = case.decision.reason == "quotes"  # otherwise the evidence, or a model, has found the passages near
        less = outcome_of(False, case.search.trace) if proves else "nearest"
        decided = replace(case.decision, outcome=less, reason="evidence")
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
        garbage=_garbage(case, completion),
        vectors_share=case.pipeline.vectors_share,
        seconds=time.perf_counter() - started,
    )


def _hint(why: Why | None, nearest: Nearest | None, language: str) -> str:
    if why == "readings" and nearest is not None:
        return "\n".join(f"- {reading.question}" for reading in nearest.did_you_mean)
    return "" if why is None else rephrase(language)


def _why_none(case: Case, completion: Completion | None, text: str, statements: Sequence[Statement]) -> Why | None:
    """Return why the reply of the model is not given as the answer; None if it is."""
    if completion is not None and completion.finish_reason == "cancelled":
        return None  # what the user stopped stays as it is, even without a word
    if case.decision.reason == "talk":
        return None
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
    checked = case.context.mode == "strict" and not case.context.answer_in and case.settings.chat_withholds
    return "unsupported" if checked and not any(statement.supported for statement in statements) else None


def _garbage(case: Case, completion: Completion | None) -> Garbage:
    if completion is None or completion.quotes is not None:
        return ""
    return garbage_in(completion.text, case.question, case.passages, case.context.answer_in)


def _checked(case: Case, completion: Completion) -> tuple[str, tuple[Source, ...], tuple[Statement, ...]]:
    """Return (the text with valid citations only, the cited passages, the support of each sentence)."""
    passages = case.passages
    if completion.quotes is not None:  # verbatim from the passages, whose brackets are no citations
        quotable = (*passages, *case.tables)
        return completion.text, quoted_sources(completion.quotes, quotable), _quoted(completion, quotable)
    text = with_closed_fences(clean_citations(from_data(completion.text), len(passages)))
    if not passages:
        return text, (), ()
    if case.context.answer_in:  # words of another language than the passages' cannot be compared with theirs
        return text, find_sources(text, passages, case.pipeline.index.analyzer), ()
    statements = verified(case, text)
    if completion.finish_reason != "cancelled":
        text, statements = with_citations(text, statements)
    return text, find_sources(text, passages, case.pipeline.index.analyzer), statements


def verified(case: Case, text: str) -> tuple[Statement, ...]:
    """Return the sentences of a text with their support by the passages."""
    index = case.pipeline.index
    return verify(text, case.passages, index.analyzer, index.idf)


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
