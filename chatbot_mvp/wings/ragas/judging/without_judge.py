"""Metrics that need no judge, by ids, words or vectors. Their names differ because they measure something else."""

from __future__ import annotations

from chatbot_mvp.metrics.answers.lexical_support import MIN_SUPPORT, sentence_support
from chatbot_mvp.wings.ragas.judging.formulas import (
    id_based_context_precision,
    id_based_context_recall,
    response_relevancy,
)
from chatbot_mvp.wings.ragas.judging.session import Session


def precision_by_ids(session: Session) -> float | None:
    row = session.row
    return id_based_context_precision(row.retrieved_context_ids or (), row.reference_context_ids or ())


def recall_by_ids(session: Session) -> float | None:
    row = session.row
    return id_based_context_recall(row.retrieved_context_ids or (), row.reference_context_ids or ())


def lexical_context_recall(session: Session) -> float | None:
    """Return the share (0-1) of the reference's sentences that the passages support by words (see MIN_SUPPORT)."""
    return _lexical(session, session.reference)


def lexical_faithfulness(session: Session) -> float | None:
    """Return the share (0-1) of the response's sentences that the passages support by words and figures."""
    return _lexical(session, session.response)


def answer_similarity(session: Session) -> float | None:
    """Return the cosine of response and reference."""
    return _cosine(session, session.response, session.reference)


def answer_relevancy(session: Session) -> float | None:
    """Return the cosine of question and response."""
    return _cosine(session, session.question, session.response)


def _lexical(session: Session, text: str) -> float | None:
    support = sentence_support(text, session.contexts, session.prompts.language)
    session.detail["sentences"] = [{"sentence": sentence, "support": round(score, 4)} for sentence, score in support]
    return sum(score >= MIN_SUPPORT for _, score in support) / len(support) if support else None


def _cosine(session: Session, first: str, second: str) -> float | None:
    assert session.embedder is not None, "score_row looks for it"
    vectors = session.embedder.embed([first, second], "query")
    return response_relevancy(vectors[0], vectors[1:], [0])
