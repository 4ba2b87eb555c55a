"""A clock that tests set back or forward."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chatbot_mvp.storage import clock

Set = Callable[[timedelta], None]
"""Type of the fixture ``set_clock``."""


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Set:
    """Shift the system's clock, as a process sees it that starts afterwards: it knows no later time."""
    shift = timedelta(0)
    real_time = time.time

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + shift

    def set_to(moved: timedelta) -> None:
        nonlocal shift
        shift = moved
        monkeypatch.setattr(clock, "_latest", datetime.min.replace(tzinfo=UTC))

    monkeypatch.setattr(clock, "datetime", Shifted)
    monkeypatch.setattr(time, "time", lambda: real_time() + shift.total_seconds())
    return set_to
