"""Errors of backups of the data folder."""

from __future__ import annotations

from chatbot_mvp.errors import DataFolderError


class DataFolderNotEmpty(DataFolderError):
    exit_code = 2


class BackupNotMade(DataFolderError):
    pass


class BackupUnusable(DataFolderError):
    pass
