"""Errors of the gate, which compares today's scores with those of a baseline file."""

from __future__ import annotations

from chatbot_mvp.errors import ChatbotError


class GateError(ChatbotError):
    exit_code = 2
