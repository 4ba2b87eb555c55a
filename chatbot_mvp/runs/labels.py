"""Names of runs that stand beside each other: a letter and what was measured, never an id."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.runs.kinds import run_kind
from chatbot_mvp.runs.line import RunLine

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def run_labels(runs: Sequence[RunLine]) -> dict[str, str]:
    """Return run id -> a letter with its strategy and provider/model, or the source of its answers.

    The letter tells apart runs of the same system. Of more than 26 runs, the others have a number in its place.
    """
    marks = [*_LETTERS, *map(str, range(len(_LETTERS) + 1, len(runs) + 1))]
    return {
        run.run_id: f"{mark} · {run.system if run_kind(run.kind).retrieves else run.dataset}"
        for mark, run in zip(marks, runs, strict=False)
    }
