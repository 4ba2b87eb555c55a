"""The current time in the two formats that files use."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the current time in ISO 8601, UTC, to the millisecond ("2026-05-04T09:30:00.125+00:00")."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def sortable_stamp() -> str:
    """Return the current UTC time as a prefix of ids, so that ids sort by age ("20260504T093000125417")."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
