"""Measure how long a model's calls took in earlier runs on this machine, from their ``llm_request`` events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from chatbot_mvp.runs.records import run_folders
from chatbot_mvp.runs.spending import LLM_REQUEST

_RUNS_LOOKED_AT = 20
_RUNS_USED = 3


def seconds_per_call(results_dir: Path, model: str, phase: str, at_once: int) -> float | None:
    """Return the seconds that a call adds to a phase with ``at_once`` concurrent calls; None if there are no events.

    Uses the newest runs that asked the model in this phase. Enrichment and questions of chunks count as
    retrieval, as in a run's usage.
    """
    wanted = "retrieval" if phase in ("enrich", "questions") else phase
    found: list[float] = []
    for folder in run_folders(results_dir)[:_RUNS_LOOKED_AT]:
        events = [
            event
            for event in folder.read_events(LLM_REQUEST)
            if event.get("model") == model and event.get("phase") == wanted and not event.get("cached")
        ]
        if (each := share_of_time(events, at_once)) is not None:
            found.append(each)
        if len(found) == _RUNS_USED:
            break
    return median(found) if found else None


def share_of_time(events: Sequence[Mapping[str, Any]], at_once: int) -> float | None:
    """Return the seconds per call; None without calls.

    The smaller of median latency / ``at_once`` and busy time / calls. A latency includes the wait for a request slot,
    which other calls used meanwhile.
    """
    if not events:
        return None
    latency: float = median(event["seconds"] for event in events) / at_once
    return min(latency, busy_seconds(events) / len(events))


def busy_seconds(events: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds during which at least one call was running. Pauses between calls do not count."""
    busy, until = 0.0, float("-inf")
    spans = sorted(
        (datetime.fromisoformat(event["time"]).timestamp() - event["seconds"], event["seconds"]) for event in events
    )
    for start, seconds in spans:
        end = start + seconds
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return busy
