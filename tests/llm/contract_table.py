"""The contract every provider keeps, as data, and as a table of what came of testing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Cells = dict[tuple[str, str], tuple[str, str]]
"""(provider, behaviour) -> (pytest's outcome, reason of a skip)."""

BEHAVIOURS = (
    "complete",
    "stream",
    "stream closed early",
    "usage and cost",
    "Spanish and emoji",
    "JSON schema",
    "cache hit",
    "inside an event loop",
    "one limiter for all",
    "time-out",
    "cut connection",
    "cut stream",
    "429 with Retry-After",
    "429 to the end",
    "daily quota",
    "500, then success",
    "refused key, not retried",
    "prompt too long",
    "malformed reply",
    "key in no error",
    "reachable or not",
)
_SHOWN = {"passed": "ok", "failed": "FAIL", "skipped": "n/a"}


def render(cells: Mapping[tuple[str, str], tuple[str, str]], providers: Sequence[str]) -> list[str]:
    """Lines of the table; a cell that no test reported is MISSING."""
    width = max(map(len, BEHAVIOURS))
    lines = ["", "Contract of the providers", " " * width + "".join(f"{name:>9}" for name in providers)]
    reasons: dict[str, list[str]] = {}
    for behaviour in BEHAVIOURS:
        row = f"{behaviour:<{width}}"
        for provider in providers:
            outcome, reason = cells.get((provider, behaviour), ("", ""))
            row += f"{_SHOWN.get(outcome, 'MISSING'):>9}"
            if reason:
                reasons.setdefault(f"{provider}: {reason}", []).append(behaviour)
        lines.append(row)
    lines += [f"n/a · {reason} ({', '.join(found)})" for reason, found in reasons.items()]
    counts = {name: sum(row.split().count(name) for row in lines[3:]) for name in ("FAIL", "MISSING")}
    return [*lines, f"{counts['FAIL']} failed, {counts['MISSING']} missing"]
