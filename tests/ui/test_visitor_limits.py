"""A question over the limit is told, and not lost."""

from __future__ import annotations

import pytest

from chatbot_mvp.chat import limits
from chatbot_mvp.llm.demo import DemoModel
from tests.ui.test_chat_page import QUESTION, Start, start  # noqa: F401 - a fixture
from tests.ui.test_pages import open_page, texts


def test_a_question_over_the_limit_is_told_and_returns_to_its_box(
    start: Start,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start(DemoModel())
    page = open_page("chat")
    monkeypatch.setattr(limits, "MOST_ANSWERS", 0)
    page.chat_input[0].set_value(QUESTION).run()
    assert not page.exception
    assert "hay 0 respuestas" in page.error[0].value
    assert page.chat_input[0].proto.value == QUESTION
    monkeypatch.setattr(limits, "MOST_ANSWERS", 1)
    page.chat_input[0].set_value(QUESTION).run()
    assert not page.error
    assert "23 días laborables" in texts(page)
