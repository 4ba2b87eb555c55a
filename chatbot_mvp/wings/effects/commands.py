"""The table of the command ``kb effects``."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.effects.cli:effects",
            {
                "effects": "Ask two versions of a knowledge base the same questions: which answers change, are lost, "
                "are new. Exit code: 0 not worse, 3 worse, 4 cannot tell."
            },
        )
    ],
    group="kb",
)
