"""Decide which of the outcomes a question has, by the evidence score and, in doubt, by asking a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.chat.prompting import relevance_messages
from chatbot_mvp.documents.languages import PARAGRAPH_WORDS, clear_language, tally
from chatbot_mvp.errors import ConfigurationError, ProviderError
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest
from chatbot_mvp.retrieval.stages.rerankers import parse_score
from chatbot_mvp.retrieval.trace import RetrievalTrace

MIN_RELEVANCE = 4.0
"""Minimum score from a model, on a scale of 0-10."""
MIN_TOPIC = 0.5
"""Below this topic score (0-1), a question without an answer is about something else, and is refused. Without a topic
score, only a question without any passage is refused; and so is one in another language than its passages, whose words
say nothing about their subject."""
_QUESTION_WORDS = 2
"""Function words from which a question tells its language."""
_REPLY_TOKENS = 16

Outcome = Literal["answered", "asks", "nearest", "refused"]
"""answered: there is an answer. asks: the question could mean several things, and the chat asks which. nearest: there
is no answer, but passages stand near the question. refused: the question is about something else."""
OUTCOMES: tuple[Outcome, ...] = ("answered", "asks", "nearest", "refused")
Reason = Literal["evidence", "relevance", "undecided", "quotes", "chosen", "readings", "talk", "outline"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision what to do with a question, and its basis."""

    outcome: Outcome
    """"answered" if the evidence suffices. Then the model may still fail to answer; and in general mode it may answer
    by itself where the evidence does not suffice."""
    evidence: float
    """Evidence score, 0-1."""
    min_evidence: float
    """Threshold of the evidence score, 0-1."""
    reason: Reason
    """"evidence": the score decided; "relevance": a model decided; "undecided": a model was asked but failed or gave no
    readable score, so the evidence score decided; "quotes": it is answered if a quote of the passages is
    proven to answer the question; "chosen": a person chose the passage to answer from; "readings": it has several;
    "talk": it asks nothing of the documents, and nothing was searched; "outline": it asks for a summary."""
    relevance: float | None = None
    """The model's score, 0-10; None if no model was asked or its score was unreadable."""

    @property
    def enough(self) -> bool:
        """True if the evidence suffices for an answer."""
        return self.outcome == "answered"


def decide(
    trace: RetrievalTrace,
    question: str,
    min_evidence: float,
    doubt_evidence: float,
    model: ChatModel | None,
    language: str,
    sure_evidence: float = 0.0,
) -> Decision:
    """Decide whether the evidence of a trace suffices to answer ``question``, and if not, whether to refuse it.

    Args:
        min_evidence: the evidence suffices from this score on, 0-1.
        doubt_evidence: a model is asked if the score is at least this and below ``sure_evidence``; never if it is not
            lower than ``min_evidence``.
        model: model to ask; None to decide by the score alone.
        language: language of the prompt, "es" or "en".
        sure_evidence: from this score on no model is asked, 0-1; 0 means the midpoint of ``min_evidence`` and 1, and
            with 1 a model is asked at the score 1 too.
    """
    evidence = trace.evidence or 0.0
    by_score = bool(trace.chunks_final) and evidence >= min_evidence
    sure = sure_evidence or (1 + min_evidence) / 2
    in_doubt = doubt_evidence < min_evidence and doubt_evidence <= evidence and (evidence < sure or sure_evidence >= 1)
    if model is not None and model.needs_evidence and (in_doubt or by_score) and trace.chunks_final:
        return Decision("answered", evidence, min_evidence, "quotes")
    if model is None or model.needs_evidence or not in_doubt or not trace.chunks_final:
        return Decision(outcome_of(by_score, trace), evidence, min_evidence, "evidence")
    passages = [hit.chunk for hit in trace.chunks_final]
    request = ChatRequest(relevance_messages(question, passages, language), ChatOptions(max_tokens=_REPLY_TOKENS))
    try:
        score = parse_score(model.complete(request).text)
    except (ProviderError, ConfigurationError):
        score = None
    if score is None:
        return Decision(outcome_of(by_score, trace), evidence, min_evidence, "undecided")
    return Decision(outcome_of(score >= MIN_RELEVANCE, trace), evidence, min_evidence, "relevance", score)


def outcome_of(enough: bool, trace: RetrievalTrace) -> Outcome:
    """Return the outcome of a question; ``enough`` says whether its evidence suffices for an answer."""
    if enough:
        return "answered"
    elsewhere = trace.topic is not None and trace.topic < MIN_TOPIC and not in_another_language(trace)
    return "refused" if elsewhere or not trace.chunks_final else "nearest"


def in_another_language(trace: RetrievalTrace) -> bool:
    """Return whether a question is clearly in another language than the passage that was found first."""
    if not trace.chunks_final:
        return False
    asked = clear_language(tally(trace.query), _QUESTION_WORDS)
    told = clear_language(tally(trace.chunks_final[0].chunk.text), PARAGRAPH_WORDS)
    return asked is not None and told is not None and asked != told
