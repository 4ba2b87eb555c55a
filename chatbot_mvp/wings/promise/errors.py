"""Errors of a promise on wrong answers."""

from __future__ import annotations

from chatbot_mvp.errors import KbEvaluationError


class PromiseError(KbEvaluationError):
    pass
