"""When the system's clock is set back, nothing that is written later looks older, and no id is given twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chatbot_mvp.chat.conversations import ConversationStore
from chatbot_mvp.evaluation.kb.sets import QuestionSet, QuestionSetStore
from chatbot_mvp.runs.session import PhaseClock
from chatbot_mvp.storage import clock


class Clock(datetime):
    """The system's clock, set back by an hour with every look at it."""

    moments: Iterator[datetime]

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return next(cls.moments)


@pytest.fixture(autouse=True)
def backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    start = datetime.now(UTC) + timedelta(hours=1)
    Clock.moments = (start - timedelta(hours=number) for number in range(10_000))
    monkeypatch.setattr(clock, "datetime", Clock)
    monkeypatch.setattr(clock, "_latest", datetime.min.replace(tzinfo=UTC))


def test_times_never_go_back_and_stamps_are_distinct_and_sorted() -> None:
    times = [clock.utc_now() for _ in range(100)]
    assert times == sorted(times)
    stamps = [clock.sortable_stamp() for _ in range(100)]
    assert stamps == sorted(set(stamps))
    assert clock.utc_now() >= times[-1]


@pytest.mark.parametrize("earlier", ["2100-01-01T00:00:00.000+00:00", "2026-05-04T09:30:00.125+00:00", "", "x"])
def test_a_change_is_later_than_the_one_before_it_even_if_that_came_from_another_clock(earlier: str) -> None:
    later = clock.utc_after(earlier)
    assert earlier in ("", "x") or later > earlier
    assert clock.utc_after(later) > later


def test_conversations_and_question_sets_keep_their_order(tmp_path: Path) -> None:
    conversations, sets = ConversationStore(tmp_path), QuestionSetStore(tmp_path)
    made = [conversations.start("0123456789abcdef", "kb", "KB") for _ in range(20)]
    assert made == sorted(set(made))
    assert [one.conversation_id for one in conversations.list("0123456789abcdef", "kb")] == made[::-1]
    saved = [sets.save(QuestionSet("", "kb", "Set", "")) for _ in range(20)]
    assert sets.ids("kb") == [one.set_id for one in reversed(saved)]
    again = sets.save(saved[0])
    assert sets.save(again).changed_at > again.changed_at > saved[0].changed_at


def test_phases_of_a_run_are_measured_by_a_clock_that_cannot_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([50.0, 40.0, 30.0, 20.0])
    monkeypatch.setattr(time, "time", lambda: next(moments))
    timer = PhaseClock({})
    with timer("retrieve"):
        pass
    assert timer.seconds["retrieve"] >= 0
