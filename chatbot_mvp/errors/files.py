"""Errors of files in the data folder that several parts of the application read and write."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class FileError(ChatbotError):
    """A file of the data folder cannot be read or written."""


class FileNotWritten(FileError):
    texts = {
        "file_not_written": "{path!r} cannot be written: {reason}. What it held before is kept. Free up space or "
        "grant write permission, and try again.",
    }


class FileOfLaterVersion(FileError):
    texts = {
        "file_of_later_version": "{path!r} was written by a later version of this program: it has format {found}, and "
        "this version reads up to {known}. The file is unchanged. Update the program, or choose another DATA_DIR.",
    }


class DataFolderError(ChatbotError):
    """The data folder, or something of it as a whole, cannot be used."""


class DataFolderUnusable(DataFolderError):
    exit_code = 2
    texts = {
        "data_folder_unusable": "DATA_DIR is {path!r}, and nothing can be written there: {reason}. Free up space on "
        "its disk, give this account permission to write there, or name another folder in DATA_DIR.",
    }


class DataFolderInUse(DataFolderError):
    texts = {
        "data_folder_in_use": "A server or a command uses {path!r}, and nothing was changed. Stop it, and run the "
        "same command again.",
    }
