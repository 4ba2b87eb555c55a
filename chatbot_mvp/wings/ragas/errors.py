"""Errors of evaluations of answers."""

from chatbot_mvp.errors import ConfigurationError, RunError


class PromptsUnreadable(ConfigurationError):
    code = "prompts_unreadable"
    template = (
        "The judge's prompts in {path!r} cannot be used: {reason}. Correct the file, or remove it to use the built-in "
        "prompts."
    )


class PromptsNotWritten(ConfigurationError):
    code = "prompts_not_written"
    template = (
        "The prompt {path!r} cannot be saved: {reason}. Nothing was overwritten; remove the file or choose another "
        "folder."
    )


class PromptsNotMade(ConfigurationError):
    code = "prompts_not_made"
    template = (
        "The prompts in {language!r} could not be made by {judge!r}: {reason}. Try again with a stronger judge, or "
        "translate the examples of the files in {folder!r} by hand."
    )


class NothingToEvaluate(RunError):
    code = "nothing_to_evaluate"
    template = (
        "{source!r} has no answers to evaluate. Run the benchmark with answers, or first ask something in the chat."
    )
    exit_code = 2
