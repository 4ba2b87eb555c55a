"""Errors of the shared folder on S3."""

from __future__ import annotations

from chatbot_mvp.errors import ChatbotError


class SharingError(ChatbotError):
    """Knowledge bases and runs could not be shared through DATA_ROOT."""

    exit_code = 2
    texts = {
        "shared_root_unusable": "Nothing is shared: DATA_ROOT is {root!r}, and a setting is missing: {missing}. "
        "DATA_ROOT needs the form s3://bucket/prefix, and the S3 server its address and keys.",
        "shared_root_emptied": "{root!r} no longer holds {marker!r}, with which this machine has shared {files} files "
        "before. Nothing was changed. If the bucket was emptied on purpose, delete {ledger!r}: all files of this "
        "machine are then uploaded again. Otherwise check DATA_ROOT.",
        "shared_deletions_wait": "{count} deletions in {root!r} wait for a yes, because they are many at once; the "
        "first is of {example!r}. All else is shared. Confirm or undo them in Admin, under Knowledge base. Or run "
        "`chatbot-mvp sync --deletions apply` if they are meant, or `chatbot-mvp sync --deletions undo` to have these "
        "files on both sides again.",
        "shared_root_of_later_version": "{root!r} has format {found}; this version knows {known}. Nothing was "
        "changed. Update this installation, or choose another DATA_ROOT.",
    }
