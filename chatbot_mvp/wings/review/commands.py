"""The table of the command ``kb review``."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.review.cli:review",
            {"review": "Review the chat's answers: list what waits, or label with single keys or from a file."},
        )
    ],
    group="kb",
)
