"""The table of the commands of ``tune``."""

from chatbot_mvp.cli.lazy import Commands, DefaultGroup, lazy

COMMANDS = Commands(
    [
        DefaultGroup(
            "tune",
            "Find the best configuration for a knowledge base or a data set, with proof. "
            "``tune KB|DATASET`` is short for ``tune run``, ``tune --resume`` for ``tune resume``.",
            *lazy(
                "chatbot_mvp.wings.tune.cli:tune",
                {
                    "run": "Find the best configuration for a knowledge base or a data set. "
                    "Ctrl-C stops it safely; ``resume`` continues.",
                    "resume": "Continue a stopped or killed tune: measure what is missing.",
                    "list": "List tunes, newest first.",
                    "show": "Show the result of a finished tune.",
                    "apply": "Use the winner of a tune for all chats and runs. ``undo`` restores what was there.",
                    "undo": "Restore the settings as they were before the latest ``apply``.",
                },
            ),
        )
    ]
)
