"""Errors of evaluations of answers."""

from chatbot_mvp.errors import ConfigurationError, RunError


class PromptsError(ConfigurationError):
    """The judge's prompts."""

    texts = {
        "prompts_unreadable": "The judge's prompts in {path!r} cannot be used: {reason}. Correct the file, or remove "
        "it to use the built-in prompts.",
        "prompts_not_written": "The prompt {path!r} cannot be saved: {reason}. Nothing was overwritten; remove the "
        "file or choose another folder.",
        "prompts_not_made": "The prompts in {language!r} could not be made by {judge!r}: {reason}. Try again with a "
        "stronger judge, or translate the examples of the files in {folder!r} by hand.",
    }


class NothingToEvaluate(RunError):
    exit_code = 2
    texts = {
        "nothing_to_evaluate": "{source!r} has no answers to evaluate. Run the benchmark with answers, or first ask "
        "something in the chat.",
    }
