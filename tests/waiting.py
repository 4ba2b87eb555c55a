"""Waits for what another thread or process does, with a limit and a plain failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from chatbot_mvp.jobs.manager import JobStatus

T = TypeVar("T")

SOON_S = 30.0
"""How long a test waits for what comes at once, or never: no machine is too slow for it."""


def wait_until(
    condition: Callable[[], T | None], timeout_s: float = 60, what: str = "the condition", every_s: float = 0.01
) -> T:
    """Return the first true value of ``condition``.

    Args:
        what: what is waited for, in the words of a failure: "<what> did not come true within 60 s".
        every_s: seconds between two looks.
    """
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {timeout_s:g} s")
        time.sleep(every_s)
    return value


def wait_for_jobs(jobs: Callable[[], Iterable[JobStatus]], timeout_s: float = 60) -> None:
    """Return once no job is queued or running."""
    wait_until(lambda: not any(job.active for job in jobs()), timeout_s, "the end of all jobs")
