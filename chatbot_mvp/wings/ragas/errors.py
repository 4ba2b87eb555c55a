"""Errors of evaluations of answers."""

from chatbot_mvp.errors import ConfigurationError, RunError


class PromptsError(ConfigurationError):
    """The judge's prompts."""


class NothingToEvaluate(RunError):
    exit_code = 2
