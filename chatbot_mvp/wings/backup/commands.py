"""The table of the commands of backup."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.backup.cli:backups",
            {
                "backup": "Write all data to one archive, also while servers and runs are at work.",
                "restore": "Restore DATA_DIR from an archive, as a whole or not at all. Stop servers and runs first.",
            },
        )
    ]
)
