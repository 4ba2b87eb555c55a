"""Errors of the review of the chat's answers."""

from __future__ import annotations

from chatbot_mvp.errors.documents import KbEvaluationError


class ReviewError(KbEvaluationError):
    texts = {
        "review_item_not_found": "No answer {item_id!r} of the knowledge base {kb_id!r} can be reviewed. Its "
        "conversation may have been deleted; load the list again.",
        "verdict_not_possible": "The verdict {verdict!r} does not fit {item_id!r}, which is {outcome!r}. Choose one "
        "of: {legal}.",
        "no_reviewer": "A verdict needs the name of the person who gives it, and {name!r} is none. Enter a name.",
    }
