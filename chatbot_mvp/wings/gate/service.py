"""Measure today's configuration, save it as a baseline, or test it against one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from chatbot_mvp.app import App
from chatbot_mvp.errors import DatasetError, UnknownChoice
from chatbot_mvp.evaluation.drops.scores import WATCHED, Measured, measured
from chatbot_mvp.evaluation.drops.verdict import TOLERANCE, DropReport, judge, main_of
from chatbot_mvp.metrics.registry import COMPARED
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.formats import BASELINE
from chatbot_mvp.types import ProgressCallback, ignore_progress
from chatbot_mvp.wings.gate.baseline import Baseline, Source, read_baseline, require_same, save_baseline
from chatbot_mvp.wings.gate.errors import GateError


class Gate:
    """Tests whether a configuration is worse than a baseline. Safe to share between sessions."""

    def __init__(self, app: App) -> None:
        self._kbs = app.kbs
        self._kb_evaluation = app.kb_evaluation
        self._runs = app.runs
        self._archive = app.archive

    @classmethod
    def of(cls, app: App) -> Self:
        """Make the gate over an App."""
        return cls(app)

    def measure(self, source: Source, repeats: int = 1, progress: ProgressCallback = ignore_progress) -> Measured:
        """Run the questions with today's code and settings, and return their scores.

        Args:
            repeats: number of runs, 1 or more; the scores are means over them.

        Raises:
            GateError (gate_source_missing): ``source`` names nothing to run.
            DatasetError, KbNotFound, KbUnreadable, ConfigurationError, RunError, RunStopped: as a run does.
        """
        return self.of_runs([self._run(source, progress) for _ in range(repeats)])

    def of_runs(self, run_ids: Sequence[str]) -> Measured:
        """Return the scores of finished runs that repeat one configuration.

        Raises:
            RunNotFound, RunUnreadable, NotComparable (nothing_to_compare)
        """
        return measured([self._archive.compared(run_id) for run_id in run_ids])

    def save(
        self, path: Path, today: Measured, source: Source, metrics: Sequence[str] = (), commit: str = ""
    ) -> Baseline:
        """Write a baseline file and return it.

        Args:
            metrics: metrics that a gate tests by default; by default the main metric of the kind of run.

        Raises:
            UnknownChoice: a metric that is not scored.
            FileNotWritten
        """
        for metric in metrics:
            if metric not in today.metrics:
                raise UnknownChoice(kind="metric", found=metric, legal=", ".join(today.metrics) or "-")
        gated = tuple(dict.fromkeys(metrics)) or main_of(self._archive, today)
        kept = {*COMPARED, *gated, *WATCHED}
        baseline = Baseline(
            format_version=BASELINE,
            created_at=utc_now(),
            commit=commit,
            source=source,
            gated=gated,
            measured=today.only(kept),
        )
        save_baseline(path, baseline)
        return baseline

    def check(
        self,
        path: Path,
        today: Measured,
        metrics: Sequence[str] = (),
        tolerance: float = TOLERANCE,
        common_only: bool = False,
    ) -> DropReport:
        """Test today's scores against a baseline file.

        Args:
            metrics: names; by default those of the baseline.
            tolerance: drop of a mean that is accepted, 0 or more.
            common_only: pair the questions that both have, and accept changed content.

        Raises:
            GateError, NotComparable, UnknownChoice
        """
        baseline = read_baseline(path)
        paired = require_same(str(path), baseline.measured, today, common_only)
        names = metrics or baseline.gated
        return judge(str(path), baseline.measured, today, paired, names, tolerance, baseline.commit)

    def _run(self, source: Source, progress: ProgressCallback) -> str:
        if source.dataset:
            return self._runs.run_now(progress, mteb_dataset_name=source.dataset).run_id
        if not source.kb or not source.questions:
            raise GateError(
                "gate_source_missing", found="no questions" if source.kb else "no knowledge base and no data set"
            )
        document, questions = Path(source.kb), Path(source.questions)
        if not questions.is_file():
            raise DatasetError("dataset_file_missing", path=str(questions))
        kb_id = self._kbs.add(document.name, document.read_bytes()).kb_id if document.is_file() else source.kb
        return str(self._kb_evaluation.evaluate(kb_id, questions, progress)["run_id"])
