"""A promise that one server made applies on another, whose clock differs by ten minutes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.promise.service import Promises
from tests.clock import Set
from tests.hostile.test_clocks import BESIDE, DAYS, DIET, TEXT, again


@pytest.mark.parametrize("ahead", [BESIDE, -BESIDE])
def test_a_promise_is_read_by_a_server_with_ten_minutes_between_their_clocks(
    settings: Settings, set_clock: Set, ahead: timedelta
) -> None:
    app, other = again(settings.data_dir), again(settings.data_dir)
    kb = app.kbs.add("normas.md", TEXT.encode())
    mine = app.question_sets.empty_set(kb.kb_id, "mías")
    set_clock(ahead)
    asked = tuple(SetQuestion(KbQuestion(str(n), question, "far")) for n, question in enumerate((DIET, DAYS)))
    other.question_sets.save(replace(mine, questions=asked))
    set_clock(timedelta(0))
    run = app.kb_evaluation.evaluate(kb.kb_id, mine.set_id)
    app.get(Promises).make(kb.kb_id, run["run_id"], 0.05)
    set_clock(ahead)
    state = other.get(Promises).state(kb.kb_id)
    assert state is not None and "questions" not in state.changed
