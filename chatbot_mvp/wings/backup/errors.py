"""Errors of backups of the data folder."""

from __future__ import annotations

from chatbot_mvp.errors import DataFolderError


class DataFolderNotEmpty(DataFolderError):
    exit_code = 2
    texts = {
        "data_folder_not_empty": "{path!r} already has data, such as {example!r}, and nothing was changed. Name an "
        "empty folder in DATA_DIR, or add --replace to delete what is there.",
    }


class BackupNotMade(DataFolderError):
    texts = {
        "backup_not_made": "There is no new backup, because {path!r} cannot be copied: {reason}. Mend this and try "
        "again.",
    }


class BackupUnusable(DataFolderError):
    texts = {"backup_unusable": "{path!r} cannot be restored, and nothing was changed: {reason}. Use another backup."}
