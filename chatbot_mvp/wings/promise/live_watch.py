"""Watch whether the chat's questions look like the labelled ones, on whose likeness a promise rests."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.storage.formats import CHAT_LOG, VERSION
from chatbot_mvp.storage.jsonl import parsed_lines
from chatbot_mvp.wings.promise.promise import Promise
from chatbot_mvp.wings.promise.shift import find_shift

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
    since: str | None
    """ISO 8601, UTC: when the first question was asked that is unlike the labelled ones; an estimate. None: all are
    like them."""
    unlike: int
    """Number of questions from then on."""
    distance: float
    """Largest difference of the cumulative shares of the evidence scores between these questions, or all if they are
    like the labelled ones, and the labelled ones, 0-1; 0.0 if there are none."""
    sample: tuple[LiveQuestion, ...]
    """Up to ten of these questions drawn at random, to be reviewed; always the same ones for the same questions."""

    @property
    def alarm(self) -> bool:
        """Whether live questions are no longer like the labelled ones."""
        return self.since is not None


def watch_live(log: Path, kb_id: str, promise: Promise) -> LiveWatch:
    """Compare the questions that the metrics log has of a knowledge base since ``promise`` was made.

    Questions under another configuration are left out: their scores cannot be compared.
    """
    content = log.read_bytes() if log.is_file() else b""
    # Parsing is slow, and the log has the questions about all knowledge bases.
    own = b"\n".join(line for line in content.split(b"\n") if kb_id.encode() in line)
    rows = [_question(row) for row in parsed_lines(own)[0] if row.get("kb_id") == kb_id and _belongs(row, promise)]
    shift = find_shift((row.evidence for row in rows), promise.scores, promise.made_at)
    those = rows[shift.began :] if shift else rows
    return LiveWatch(
        len(rows),
        those[0].asked_at if shift else None,
        len(those) if shift else 0,
        distance([row.evidence for row in those], promise.scores),
        tuple(random.Random(promise.made_at).sample(those, min(_SAMPLE, len(those)))),
    )


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the largest difference of the cumulative shares of two samples, 0-1; 0.0 if one is empty."""
    if not one or not other:
        return 0.0
    first, second = np.sort(np.asarray(one, float)), np.sort(np.asarray(other, float))
    points = np.concatenate([first, second])
    below = (
        np.searchsorted(first, points, "right") / first.size - np.searchsorted(second, points, "right") / second.size
    )
    return float(np.abs(below).max())


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
