"""Whether the passages found are enough to answer from: by their evidence score, and in doubt by asking a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.chat.prompting import relevance_messages
from chatbot_mvp.errors import ConfigurationError, ProviderError
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest
from chatbot_mvp.retrieval.stages.rerank import parse_score
from chatbot_mvp.retrieval.trace import RetrievalTrace

MIN_RELEVANCE = 4.0
"""On a model's scale of 0-10; less rejects."""
_REPLY_TOKENS = 16

Reason = Literal["evidence", "relevance", "undecided"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided on the evidence, and how."""

    enough: bool
    evidence: float
    """0-1."""
    min_evidence: float
    reason: Reason
    """"evidence": the score alone; "relevance": a model was asked; "undecided": it was asked and gave no readable
    score or failed, so that the evidence score decided after all."""
    relevance: float | None = None
    """A model's score, 0-10; None when none was asked or none was readable."""


def decide(
    trace: RetrievalTrace,
    question: str,
    min_evidence: float,
    doubt_evidence: float,
    model: ChatModel | None,
    language: str,
) -> Decision:
    """
    Args:
        min_evidence: enough from this score on.
        doubt_evidence: a model is asked from this score on, up to halfway between ``min_evidence`` and 1; never if it
            is not lower than ``min_evidence``.
        model: who is asked; None to decide by the score alone.
        language: of the prompt.
    """
    evidence = trace.evidence or 0.0
    by_score = bool(trace.chunks_final) and evidence >= min_evidence
    sure = (1 + min_evidence) / 2
    in_doubt = doubt_evidence < min_evidence and doubt_evidence <= evidence < sure
    if model is None or model.needs_evidence or not in_doubt or not trace.chunks_final:
        return Decision(by_score, evidence, min_evidence, "evidence")
    passages = [hit.chunk for hit in trace.chunks_final]
    request = ChatRequest(relevance_messages(question, passages, language), ChatOptions(max_tokens=_REPLY_TOKENS))
    try:
        score = parse_score(model.complete(request).text)
    except (ProviderError, ConfigurationError):
        score = None
    if score is None:
        return Decision(by_score, evidence, min_evidence, "undecided")
    return Decision(score >= MIN_RELEVANCE, evidence, min_evidence, "relevance", score)
