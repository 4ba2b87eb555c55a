"""``pytest.raises`` for errors of the program, by their codes."""

from __future__ import annotations

import pytest

from chatbot_mvp.errors import ChatbotError


def raises(*codes: str, match: str | None = None) -> pytest.RaisesExc[ChatbotError]:
    """Expect an error with one of these codes, each of which only one class of errors has."""
    return pytest.raises(ChatbotError, match=match, check=lambda error: error.code in codes)
