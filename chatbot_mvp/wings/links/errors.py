"""Errors of links to answers."""

from __future__ import annotations

from chatbot_mvp.errors import ConversationNotFound


class LinkError(ConversationNotFound):
    """There is no such answer to open, or to make a link to."""
