"""The phases of an evaluation: one for each metric and repetition."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.runs.manifest import RunManifest


def phase_of(metric: str, repeat: int) -> str:
    """Return the phase name that records scores of repetition ``repeat`` (from 0): "metric", "metric#2", "metric#3"."""
    return metric if repeat == 0 else f"{metric}#{repeat + 1}"


def phases_of(metrics: Sequence[str], repeats: int) -> list[str]:
    """Return the phases of an evaluation in the order in which they are scored."""
    return [phase_of(metric, repeat) for metric in metrics for repeat in range(repeats)]


def phases_of_manifest(manifest: RunManifest) -> list[str]:
    """Return the phases of an evaluation from its manifest.

    Raises:
        KeyError, TypeError: the manifest does not have the configuration of an evaluation.
    """
    config = manifest.evaluation["config"]
    return phases_of(config["metrics"], config["repeats"])
