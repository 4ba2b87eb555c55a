"""LLMContextPrecision: judge whether each ranked passage was useful for the answer."""

from __future__ import annotations

from chatbot_mvp.wings.ragas.judging.formulas import context_precision
from chatbot_mvp.wings.ragas.judging.replies import Usefulness
from chatbot_mvp.wings.ragas.judging.session import Session


def without_reference(session: Session) -> float | None:
    """Judge the passages by the system's own response."""
    return _precision(session, session.response, "without_reference")


def with_reference(session: Session) -> float | None:
    """Judge the passages by the reference answer."""
    return _precision(session, session.reference, "with_reference")


def _precision(session: Session, answer: str, variant: str) -> float | None:
    prompt = session.prompts.key_of("context_precision", variant, "verdict")
    judged = session.detail["verdicts"] = []
    for context in session.contexts:
        if not context.strip():
            judged.append({"reason": "", "verdict": 0})
            continue
        said = session.ask(prompt, Usefulness, question=session.question, answer=answer, context=context)
        judged.append(said.model_dump())
    return context_precision([verdict["verdict"] for verdict in judged])
