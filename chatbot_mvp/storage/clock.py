"""The current time in the two formats that files use. Within a process it never goes back, whatever the system does."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

_lock = threading.Lock()
_latest = datetime.min.replace(tzinfo=UTC)


def now(step: timedelta = timedelta(0)) -> datetime:
    """Return the current time, UTC, and at least ``step`` later than the previous call did.

    When the system's clock is set back, the time stands still until the clock has caught up, so that what is written
    later never looks older.
    """
    global _latest
    with _lock:
        _latest = max(datetime.now(UTC), _latest + step)
        return _latest


def utc_now() -> str:
    """Return the current time in ISO 8601, UTC, to the millisecond ("2026-05-04T09:30:00.125+00:00")."""
    return now().isoformat(timespec="milliseconds")


def utc_after(earlier: str) -> str:
    """Return the current time as ``utc_now`` does, and at least a millisecond later than ``earlier``.

    Args:
        earlier: a time of ``utc_now``, perhaps of another machine; any other text is ignored.
    """
    try:
        least = datetime.fromisoformat(earlier) + timedelta(milliseconds=1)
        return max(now(), least).isoformat(timespec="milliseconds")
    except (ValueError, TypeError, OverflowError):
        return utc_now()


def sortable_stamp() -> str:
    """Return the current UTC time as a prefix of ids, so that ids sort by age ("20260504T093000125417").

    No two calls in a process return the same stamp.
    """
    return now(timedelta(microseconds=1)).strftime("%Y%m%dT%H%M%S%f")


def age_of(at: str) -> tuple[str, int]:
    """Return how long ago a time is, as a key of a text and a whole number: ("days", 3).

    The keys are today, day, days, month, months, year and years; a month has 30 days, a year 365. ("", 0) if ``at`` is
    no ISO 8601 time.
    """
    try:
        days = max(0, (now().date() - datetime.fromisoformat(at).astimezone(UTC).date()).days)
    except (ValueError, OverflowError):
        return "", 0
    for unit, size in (("year", 365), ("month", 30), ("day", 1)):
        if count := days // size:
            return (unit if count == 1 else f"{unit}s"), count
    return "today", 0
