"""Errors of runs on a Ray cluster."""

from __future__ import annotations

from chatbot_mvp.errors import ConfigurationError, RunError


class RayError(ConfigurationError):
    pass


class RayWorkersLost(RunError):
    pass
