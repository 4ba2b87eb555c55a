"""Errors of visitors who ask or keep more than the server has places for."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class LimitError(ChatbotError):
    """One visitor, or all together, would have more than the server allows. Nothing was started, and nothing lost."""

    texts = {
        "too_many_answers": "The question was not asked: {limit} answers to this visitor are running or waiting, "
        "which is the most. Wait until one of them has ended, or stop one, and ask again.",
        "server_has_no_place": "The question was not asked: the server is making {limit} answers, which is the most. "
        "Ask again in a minute.",
        "answer_not_awaited": "This question was not answered: no page of its visitor was open for more than "
        "{seconds} s before its turn came. Ask it again.",
        "too_many_conversations": "No conversation was started: this visitor has {limit}, which is the most. Continue "
        "one of them, or have some deleted.",
        "too_many_knowledge_bases": "Nothing was uploaded: {limit} knowledge bases of this visitor are here or on "
        "their way, which is the most. Add the files to one of them, or delete one in Admin; if you may not, ask the "
        "administrator to.",
    }
