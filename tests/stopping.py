"""Work that is stopped in the middle, at a report of its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.types import Progress

When = Callable[[Progress], bool]


def stop_when(condition: When) -> Callable[[Progress], None]:
    """Progress that stops the work at the first report that meets the condition."""

    def progress(now: Progress) -> None:
        if condition(now):
            raise RunStopped(run_id="?")

    return progress


def at(phase: str, done: int = 0) -> When:
    """Whether so much of a phase is done."""
    return lambda now: now.phase == phase and now.done >= done


IN_RETRIEVAL = at("retrieve")


def stopped_run(app: App, when: When = IN_RETRIEVAL, **changes: Any) -> str:
    """Start a run that is stopped at the first report that meets the condition; its id."""
    with pytest.raises(RunStopped) as raised:
        app.runs.run_now(stop_when(when), **changes)
    return str(raised.value.params["run_id"])
