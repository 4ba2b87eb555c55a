"""The table of the command ``gate``."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.gate.cli:gate",
            {
                "gate": "Test whether today's code and configuration are worse than a baseline. "
                "Exit code: 0 no, 3 yes, 4 cannot tell."
            },
        )
    ]
)
