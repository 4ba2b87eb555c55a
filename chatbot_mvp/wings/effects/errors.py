"""Errors of effects: what a change of documents does to the answers."""

from __future__ import annotations

from chatbot_mvp.errors import ChatbotError, RunStopped


class EffectsError(ChatbotError):
    exit_code = 2


class EffectsStoppedEarly(ChatbotError):
    pass


class EffectsStopped(RunStopped):
    pass
