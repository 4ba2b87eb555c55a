"""The evaluation of given answers, as a kind of run, and its phases: one for each metric and repetition."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.runs.kinds import RunKind
from chatbot_mvp.runs.manifest import RunManifest

RAGAS = "ragas"


def phase_of(metric: str, repeat: int) -> str:
    """Return the phase name that records scores of repetition ``repeat`` (from 0): "metric", "metric#2", "metric#3"."""
    return metric if repeat == 0 else f"{metric}#{repeat + 1}"


def phases_of(metrics: Sequence[str], repeats: int) -> list[str]:
    """Return the phases of an evaluation in the order in which they are scored."""
    return [phase_of(metric, repeat) for metric in metrics for repeat in range(repeats)]


def _phases_of_manifest(manifest: RunManifest) -> list[str]:
    config = manifest.evaluation["config"]
    return phases_of(config["metrics"], config["repeats"])


KIND = RunKind(
    RAGAS,
    phases=_phases_of_manifest,
    resume="chatbot_mvp.wings.ragas.service:resume",
    prints="chatbot_mvp.wings.ragas.cli:print_evaluation",
    retrieves=False,
    same_data_by_content=True,
    main_metrics={RAGAS: ()},
    so_far="chatbot_mvp.wings.ragas.service:so_far",
)
