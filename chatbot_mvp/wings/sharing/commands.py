"""The table of the commands of sharing."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.sharing.cli:sharing",
            {"sync": "Exchange knowledge bases and finished runs with the bucket of DATA_ROOT once."},
        )
    ]
)
