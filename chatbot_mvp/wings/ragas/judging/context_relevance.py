"""ContextRelevance (NVIDIA): two prompts rate all passages together from 0 to 2."""

from __future__ import annotations

from chatbot_mvp.wings.ragas.judging.formulas import context_relevance, irrelevant_at_sight
from chatbot_mvp.wings.ragas.judging.model import NotScored
from chatbot_mvp.wings.ragas.judging.replies import Rating
from chatbot_mvp.wings.ragas.judging.session import Session
from chatbot_mvp.wings.ragas.judging.templates import filled, rating_of

_PROMPTS = ("first", "second")


def relevance(session: Session) -> float | None:
    """Score a row. A rating that fails is left out; not scored if both fail.

    Raises:
        NotScored: neither rating could be read.
    """
    session.detail["ratings"] = []
    if irrelevant_at_sight(session.question, session.contexts):
        return 0.0
    ratings: list[int | None] = session.detail["ratings"]
    failed: NotScored | None = None
    for prompt in _PROMPTS:
        try:
            ratings.append(_rating(session, prompt))
        except NotScored as error:
            ratings.append(None)
            failed = error
    if failed is not None and ratings == [None, None]:
        raise failed
    return context_relevance(*ratings)


def _rating(session: Session, prompt: str) -> int:
    """Ask for one rating, 0-2."""
    if template := session.prompts.templates.get(prompt):
        # The package's way: one message, and a number anywhere in the reply.
        text = filled(template, session.question.strip(), "\n".join(session.contexts))
        return session.ask_text(text, rating_of, attempts=session.options.rating_attempts)
    said = session.ask(
        ("context_relevance", prompt),
        Rating,
        attempts=session.options.rating_attempts,
        question=session.question,
        context=session.context,
    )
    return said.rating
