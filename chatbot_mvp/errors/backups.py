"""Errors of the data folder as a whole, and of its backups."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class DataFolderError(ChatbotError):
    """The data folder, or a backup of it, cannot be used."""


class DataFolderUnusable(DataFolderError):
    code = "data_folder_unusable"
    template = (
        "DATA_DIR is {path!r}, and nothing can be written there: {reason}. Free up space on its disk, give this "
        "account permission to write there, or name another folder in DATA_DIR."
    )
    exit_code = 2


class DataFolderInUse(DataFolderError):
    code = "data_folder_in_use"
    template = "A server or a command uses {path!r}, and nothing was changed. Stop it, and run the same command again."


class DataFolderNotEmpty(DataFolderError):
    code = "data_folder_not_empty"
    template = (
        "{path!r} already has data, such as {example!r}, and nothing was changed. Name an empty folder in DATA_DIR, or "
        "add --replace to delete what is there."
    )
    exit_code = 2


class BackupNotMade(DataFolderError):
    code = "backup_not_made"
    template = "There is no new backup, because {path!r} cannot be copied: {reason}. Mend this and try again."


class BackupUnusable(DataFolderError):
    code = "backup_unusable"
    template = "{path!r} cannot be restored, and nothing was changed: {reason}. Use another backup."
