"""Errors of the shared folder on S3."""

from __future__ import annotations

from chatbot_mvp.errors import ChatbotError


class SharingError(ChatbotError):
    """Knowledge bases and runs could not be shared through DATA_ROOT."""

    exit_code = 2
