"""Watch whether the chat's questions look like the labelled ones, on whose likeness a promise rests."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.storage.formats import CHAT_LOG, VERSION
from chatbot_mvp.storage.jsonl import parsed_lines
from chatbot_mvp.wings.promise.promise import Promise

LEAST = 50
"""Number of live questions from which on they are compared."""
_ALARM = 0.01  # p-value below which the alarm is raised
_SAMPLE = 10
_TEXTS = ("timestamp", "fingerprint", "query_hash", "outcome")  # keys of every line of the log


@dataclass(frozen=True, slots=True)
class LiveQuestion:
    """A question of the chat, as the metrics log has it."""

    asked_at: str
    """ISO 8601, UTC."""
    text: str
    """Text of the question; the beginning of its hash if LOG_QUERIES is off."""
    evidence: float
    outcome: str


@dataclass(frozen=True, slots=True)
class LiveWatch:
    """The chat's questions since a promise was made, compared with the labelled ones."""

    count: int
    """Number of live questions."""
    distance: float | None
    """Largest difference of the cumulative shares of the evidence scores, 0-1; None below ``LEAST`` questions."""
    p_value: float | None
    sample: tuple[LiveQuestion, ...]
    """Up to ten live questions drawn at random, to be reviewed; always the same ones for the same questions."""

    @property
    def alarm(self) -> bool:
        """Whether live questions differ from the labelled ones."""
        return self.p_value is not None and self.p_value < _ALARM


def watch_live(log: Path, kb_id: str, promise: Promise) -> LiveWatch:
    """Compare the questions that the metrics log has of a knowledge base since ``promise`` was made.

    Questions under another configuration are left out: their scores cannot be compared.
    """
    content = log.read_bytes() if log.is_file() else b""
    # Parsing is slow, and the log has the questions about all knowledge bases.
    own = b"\n".join(line for line in content.split(b"\n") if kb_id.encode() in line)
    rows = [_question(row) for row in parsed_lines(own)[0] if row.get("kb_id") == kb_id and _belongs(row, promise)]
    drawn = random.Random(promise.made_at).sample(rows, min(_SAMPLE, len(rows)))
    if len(rows) < LEAST:
        return LiveWatch(len(rows), None, None, tuple(drawn))
    distance, p_value = ks_test([row.evidence for row in rows], promise.scores)
    return LiveWatch(len(rows), distance, p_value, tuple(drawn))


def ks_test(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return (distance, p-value) of the two-sample test of Kolmogorov (1933) and Smirnov (1948).

    (0.0, 1.0) if a sample is empty. The distance is the largest difference of the two cumulative shares, 0-1. The
    p-value is the asymptotic one, which is too large with ties: then the test raises fewer false alarms.
    """
    if not one or not other:
        return 0.0, 1.0
    first, second = np.sort(np.asarray(one, float)), np.sort(np.asarray(other, float))
    points = np.concatenate([first, second])
    below = (
        np.searchsorted(first, points, "right") / first.size - np.searchsorted(second, points, "right") / second.size
    )
    distance = float(np.abs(below).max())
    scaled = distance * math.sqrt(first.size * second.size / (first.size + second.size))
    if scaled < 0.2:  # the series converges too slowly here, and its sum is 1
        return distance, 1.0
    series = math.fsum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101))
    return distance, min(1.0, max(0.0, 2 * series))


def _belongs(row: Mapping[str, Any], promise: Promise) -> bool:
    evidence, texts = row.get("evidence"), [row.get(name) for name in _TEXTS]
    return (
        row.get(VERSION) == CHAT_LOG
        and all(isinstance(text, str) for text in texts)
        and row["timestamp"] >= promise.made_at
        and row["fingerprint"].partition("-")[0] == promise.basis.fingerprint
        and isinstance(evidence, int | float)
        and not isinstance(evidence, bool)
    )


def _question(row: Mapping[str, Any]) -> LiveQuestion:
    text = row.get("query") or row["query_hash"]  # the question itself is there only with LOG_QUERIES
    return LiveQuestion(row["timestamp"], str(text), float(row["evidence"]), row["outcome"])
