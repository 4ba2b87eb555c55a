"""LLMContextRecall: judge how much of the reference answer the passages support."""

from __future__ import annotations

from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.wings.ragas.judging.formulas import context_recall
from chatbot_mvp.wings.ragas.judging.replies import Classifications
from chatbot_mvp.wings.ragas.judging.session import Session


def recall(session: Session) -> float | None:
    """Score a row; 0.0 without a request if nothing was retrieved, since a judge would use its own knowledge."""
    if not session.context.strip():
        session.detail["classifications"] = []
        return 0.0
    said = session.ask(
        ("context_recall", "classification"),
        Classifications,
        check=lambda value: "" if value.classifications else "the reference has at least one statement",
        question=session.question,
        context=session.context,
        answer=session.reference,
    )
    session.detail["classifications"] = [
        {**one.model_dump(), "statement": from_data(one.statement)} for one in said.classifications
    ]
    return context_recall([one.attributed for one in said.classifications])
