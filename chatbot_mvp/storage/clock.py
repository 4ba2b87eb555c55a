"""The present moment in the two forms that files use."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Give the present moment in ISO 8601, UTC, to the millisecond ("2026-05-04T09:30:00.125+00:00")."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def sortable_stamp() -> str:
    """Give the present moment as the beginning of an id: ids sort by their age ("20260504T093000125417", UTC)."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
