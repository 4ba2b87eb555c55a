"""Errors of links to answers."""

from __future__ import annotations

from chatbot_mvp.errors import ConversationNotFound


class LinkError(ConversationNotFound):
    """There is no such answer to open, or to make a link to."""

    texts = {
        "answer_link_unknown": "The link {shown!r} opens no answer: it has ended or was withdrawn, its conversation "
        "was deleted, or it was cut when it was copied. Ask whoever sent it for a new one.",
        "answer_links_off": "No link can be made to {turn_id!r}, because ANSWER_LINK_DAYS is 0. Set it to 1 to 365 "
        "days.",
    }
