"""Measure configurations. Each is a run in the folder of its tune, executed as every other run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

import numpy as np

from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun, manifest_of
from chatbot_mvp.evaluation.benchmark.runner import RunParts, execute_rows
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.runs.payloads import RETRIEVE, retrieved_of
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ProgressCallback
from chatbot_mvp.wings.tune.space import Configuration, OfRun

SEARCH, CONFIRM = "tune_search", "tune_confirm"
"""Phases of progress, in retrievals."""

Corpus = Callable[[Settings], RunCorpus]
"""Return what a run with some settings measures."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a configuration costs per question."""

    seconds_p50: float | None
    context_chars: float | None
    """None for a data set."""
    usd: float
    """US dollars per question."""


@dataclass
class Trials:
    """The measurements of one tune. What has a record is not measured again."""

    folder: Path
    """Holds a folder per configuration."""
    reference: str
    corpus: Corpus
    today: Settings
    """Settings to which the changes of a configuration apply."""
    of_run: OfRun
    parts: RunParts
    progress: ProgressCallback
    retrievals: int
    """Expected number in all, for progress."""
    budget_usd: float | None
    """Limit for all requests of all configurations, in US dollars; None for no limit."""
    chosen: str
    """The provider that was chosen when the tune was started. Configurations with it end the tune when another one is
    chosen."""

    def __post_init__(self) -> None:
        self._started = time.monotonic()
        self._rows: dict[str, dict[str, QueryRow]] = {}
        # What earlier attempts spent counts from the start, not only when their configurations come up again.
        begun = self.folder.glob("*/events.jsonl") if self.budget_usd is not None else ()
        names = sorted(path.parent.name for path in begun)
        self._spent = {name: Spending(RunFolder(self.folder, name)).total.cost_usd for name in names}
        self._done = self._before = 0
        self._latest = Progress(SEARCH, 0, self.retrievals)

    def measure(self, configuration: Configuration, query_ids: Sequence[str], phase: str) -> dict[str, QueryRow]:
        """Return the row of each question, after searching those without a record.

        Raises:
            RunStopped, RunError, ConfigurationError, ProviderError: as a run does; the records stay.
        """
        known = self._rows.setdefault(configuration.config_id, {})
        if missing := [query_id for query_id in query_ids if query_id not in known]:
            run = self._run(configuration, [*known, *missing])
            recorded = run.folder.records(RETRIEVE)[0]
            before = sum(query_id in recorded for query_id in missing)
            self._before += before
            self._done += before
            base = self._done - len(known) - before
            rest = None if self.budget_usd is None else self.budget_usd - sum(self._others(configuration))
            rows = execute_rows(run, self.parts, self._reporter(phase, base), rest)
            known.update({row.query_id: row for row in rows})
            if configuration.sends_requests:
                self._spent[configuration.config_id] = Spending(run.folder).total.cost_usd
            self._done += len(missing) - before
        return known

    def scores(self, configuration: Configuration, query_ids: Sequence[str], metric: str, phase: str) -> Floats:
        """Return the score of each question; a failed question has the metric's worst score.

        The sign is such that higher is better.
        """
        rows = self.measure(configuration, query_ids, phase)
        sign = 1.0 if METRICS[metric].higher_is_better else -1.0
        found = [rows[query_id].score(metric) for query_id in query_ids]
        return sign * np.array([METRICS[metric].worst if score is None else score for score in found], dtype=np.float64)

    def cost(self, configuration: Configuration) -> Cost:
        """Return the cost of a measured configuration, from its records."""
        records = RunFolder(self.folder, configuration.config_id).records(RETRIEVE)[0].values()
        found = [retrieved_of(record) for record in records if record.status == "ok"]
        contexts = [sum(end - start for _, _, start, end in one.passages) for one in found if one.passages]
        usd = self._spent.get(configuration.config_id, 0.0)
        return Cost(
            seconds_p50=median(sum(one.seconds.values()) for one in found) if found else None,
            context_chars=fmean(contexts) if contexts else None,
            usd=usd / max(1, len(found)),
        )

    @property
    def spent_usd(self) -> float:
        """Cost of all requests so far, US dollars."""
        return sum(self._spent.values())

    def _others(self, configuration: Configuration) -> list[float]:
        return [usd for config_id, usd in self._spent.items() if config_id != configuration.config_id]

    def _run(self, configuration: Configuration, query_ids: Sequence[str]) -> PreparedRun:
        settings = self.of_run(self.today.with_changes(**configuration.changes))
        whole = self.corpus(settings)
        queries = {query.query_id: query for query in whole.dataset.queries}
        asked = tuple(queries[query_id] for query_id in query_ids)
        corpus = replace(whole, dataset=replace(whole.dataset, queries=asked))
        folder = RunFolder(self.folder, configuration.config_id)
        if not (folder.path / "manifest.json").is_file():
            shutil.rmtree(folder.path, ignore_errors=True)  # of a process that died before it wrote the manifest
            folder.create(manifest_of(configuration.config_id, self.reference, whole, settings))
        follows = settings.chosen_provider == self.chosen
        return PreparedRun(folder, folder.manifest(), corpus, settings, load_seconds=0.0, follows_choice=follows)

    def _reporter(self, phase: str, base: int) -> ProgressCallback:
        """Return a callback that reports the retrievals of one configuration as those of the tune."""

        def report(state: Progress) -> None:
            if state.phase == RETRIEVE:
                done = min(base + state.done, self.retrievals)
                seconds = time.monotonic() - self._started
                before = min(self._before, done)
                self._latest = Progress(phase, done, self.retrievals, seconds, before, state.failed)
            # A brief phase repeats the latest report, so that a stop is noticed there, too.
            self.progress(self._latest if state.phase in (RETRIEVE, *_BRIEF) else state)

        return report


_BRIEF = ("aggregate", "index", "embed_queries", "link")
"""Phases that take an instant for each configuration, because indexes are shared."""
