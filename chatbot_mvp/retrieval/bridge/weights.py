"""Load the learned weights of the walk from ``weights.json``, which ``benchmarks/fit_bridge.py`` writes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("weights.json")


@dataclass(frozen=True)
class Weights:
    """Weights of the unscaled features. There is no intercept, because it would not change the order."""

    linear: dict[str, float]
    """Name of a feature -> weight."""
    step: dict[str, float]
    """Name of a step feature -> weight."""
    first: Weights | None = None
    """Weights of the first round; None if there is only one round."""


@cache
def load_weights(name: str) -> Weights:
    """Load the weights under a name: "BRIDGE" (without features of vectors) or "BRIDGE_HYBRID" (with them)."""
    entry = json.loads(PATH.read_text("utf-8"))[name]
    first = entry.get("first")
    return Weights(entry["linear"], entry["step"], first and Weights(first["linear"], first["step"]))


@cache
def weights_key() -> str:
    """Return a hash of the weights file, part of the pipeline's fingerprint."""
    return hashlib.sha256(PATH.read_bytes()).hexdigest()[:12]
