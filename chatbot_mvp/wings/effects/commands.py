"""The table of the command ``kb effects``."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.effects.cli:effects",
            {
                "effects": "Ask two versions the same questions, and test what changed. "
                "Exit code: 0 not worse, 3 worse, 4 cannot tell."
            },
        )
    ],
    group="kb",
)
