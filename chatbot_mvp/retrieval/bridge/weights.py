"""The learned weights: a small readable file written by ``benchmarks/fit_bridge.py``, which says how it was fitted."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("weights.json")


@dataclass(frozen=True)
class Weights:
    """Of raw features; a constant would change nothing, so there is none."""

    linear: dict[str, float]
    """Name of a feature -> weight."""
    step: dict[str, float]
    """Name of a step feature -> weight."""


@cache
def load_weights(name: str) -> Weights:
    """Read the weights under a name: "BRIDGE" (without features of vectors) or "BRIDGE_HYBRID" (with them)."""
    entry = json.loads(PATH.read_text("utf-8"))[name]
    return Weights(entry["linear"], entry["step"])


@cache
def weights_key() -> str:
    """Changes with the file; part of the fingerprint."""
    return hashlib.sha256(PATH.read_bytes()).hexdigest()[:12]
