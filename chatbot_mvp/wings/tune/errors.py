"""Errors of a tune: a search for the best configuration."""

from __future__ import annotations

from chatbot_mvp.errors import ChatbotError, RunStopped


class TuneError(ChatbotError):
    exit_code = 2


class TuneUnreadable(TuneError):
    pass


class TuneStoppedEarly(ChatbotError):
    pass


class TuneStopped(RunStopped):
    pass
