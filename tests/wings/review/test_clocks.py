"""A clock that is set back or forward does not change which verdict is the latest."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.review.service import Reviews
from tests.clock import Set
from tests.hostile.test_clocks import BACK, BESIDE, DAYS, DIET, FORWARD, SESSION, TEXT, again


@pytest.fixture
def app(settings: Settings) -> App:
    return again(settings.data_dir)


@pytest.mark.parametrize("jump", [BACK, FORWARD, -BESIDE, BESIDE])
def test_undo_takes_back_the_verdict_that_was_given_last(app: App, set_clock: Set, jump: timedelta) -> None:
    kb = app.kbs.add("normas.md", TEXT.encode())
    conversation = app.chat.start(SESSION, kb.kb_id, kb.kb_name)
    for question in (DIET, DAYS):
        assert app.chat.begin(SESSION, conversation, question, UserContext()).join(20)
    items = {one.question: one for one in app.get(Reviews).waiting(kb.kb_id, "Ana")}
    app.get(Reviews).judge(kb.kb_id, items[DIET], "right", "Ana")
    set_clock(jump)
    other = again(app.settings.data_dir)
    other.get(Reviews).judge(kb.kb_id, items[DAYS], "right", "Ana")
    undone = app.get(Reviews).undo(kb.kb_id, "Ana")
    assert undone is not None and undone.question == DAYS
