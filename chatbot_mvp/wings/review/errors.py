"""Errors of the review of the chat's answers."""

from __future__ import annotations

from chatbot_mvp.errors import KbEvaluationError


class ReviewError(KbEvaluationError):
    pass
