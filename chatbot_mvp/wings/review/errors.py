"""Errors of the review of the chat's answers."""

from __future__ import annotations

from chatbot_mvp.errors.documents import KbEvaluationError


class ReviewItemNotFound(KbEvaluationError):
    code = "review_item_not_found"
    template = (
        "No answer {item_id!r} of the knowledge base {kb_id!r} can be reviewed. Its conversation may have been "
        "deleted; load the list again."
    )


class VerdictNotPossible(KbEvaluationError):
    code = "verdict_not_possible"
    template = "The verdict {verdict!r} does not fit {item_id!r}, which is {outcome!r}. Choose one of: {legal}."


class NoReviewer(KbEvaluationError):
    code = "no_reviewer"
    template = "A verdict needs the name of the person who gives it, and {name!r} is none. Enter a name."
