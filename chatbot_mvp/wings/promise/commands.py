"""The table of the command ``kb promise``."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.promise.cli:promise",
            {
                "promise": "Promise a share of wrong answers from labelled questions, or say how many are missing; "
                "then exit code 4."
            },
        )
    ],
    group="kb",
)
