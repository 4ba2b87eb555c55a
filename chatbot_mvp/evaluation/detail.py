"""Show one finished run in detail, or compare several. Caches what is derived from a run until its result changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from chatbot_mvp.chat.profile import ChatProfile, chat_profile
from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.causes import Flow, GoldPath, flow_of, gold_paths
from chatbot_mvp.runs.comparison import Comparison, compare_runs
from chatbot_mvp.runs.manifest import TREC, RunManifest
from chatbot_mvp.runs.masking import RunSetting, configuration_groups
from chatbot_mvp.runs.payloads import RETRIEVE, Retrieved, retrieved_of
from chatbot_mvp.runs.query_views import Distribution, QueryTable, distribution
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.runs.spending import LLM_REQUEST
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.lru import BoundedCache

Version = tuple[str, int, int]
"""(run_id, modification time of the result file in ns, its size in bytes); changes when a retry rewrites the result."""

_CUTS = {name: Settings.model_fields[name].default for name in ("reranker_enabled", "reranker_top_n", "kb_top_k")}

_TABLES_KEPT = 5
"""Number of cached tables, as many as a comparison has runs. A table of 7,405 questions takes some 60 MB."""
_SMALL_KEPT = 64
"""Number of cached latencies, flows, question records and comparisons, all together."""


class RunDetails:
    """Read-only views of finished runs. Safe to share between sessions: holds no state of a single user."""

    def __init__(self, live: LiveSettings, providers: Providers, archive: RunArchive) -> None:
        self._live = live
        self._providers = providers
        self._archive = archive
        self._tables: BoundedCache[Version, QueryTable] = BoundedCache(_TABLES_KEPT)
        self._small: BoundedCache[Hashable, Any] = BoundedCache(_SMALL_KEPT)

    @performs(Action.READ)
    def version(self, run_id: str) -> Version:
        """Key under which a page may cache what it derives from a run; it changes when the result changes.

        Raises:
            RunNotFound
        """
        folder = self._folder(run_id)
        try:
            state = folder.result_path.stat()
        except OSError:
            folder.result()  # raises the error that explains what is wrong
            raise
        return run_id, state.st_mtime_ns, state.st_size

    @performs(Action.READ)
    def table(self, run_id: str) -> QueryTable:
        """Return the questions of a finished benchmark run, ready to be filtered. Not for evaluations of answers.

        Raises:
            RunNotFound, RunUnreadable
        """
        return self._tables.get_or_build(self.version(run_id), lambda: QueryTable(self._archive.run(run_id)))

    @performs(Action.READ)
    def row(self, run_id: str, query_id: str) -> QueryRow:
        """Return one question of a finished run of any kind.

        Raises:
            RunNotFound, RunUnreadable: the latter also if the run has no such question.
        """
        for row in self._archive.run(run_id).per_query:
            if row.query_id == query_id:
                return row
        raise RunUnreadable(run_id=run_id, reason=f"there is no query {query_id!r}")

    @performs(Action.READ)
    def manifest(self, run_id: str) -> RunManifest:
        """Return the manifest of a run. Raises RunNotFound, RunUnreadable."""
        return self._folder(run_id).manifest()

    @performs(Action.READ)
    def configuration(self, run_id: str) -> dict[str, list[RunSetting]]:
        """Return group -> settings of a run, as ``configuration_groups`` gives them. Secrets are masked.

        Raises:
            RunNotFound, RunUnreadable
        """
        return configuration_groups(self.manifest(run_id).settings_masked)

    @performs(Action.READ)
    def metric_distribution(self, run_id: str, metric: str) -> Distribution | None:
        """Return the distribution of the questions' scores in a metric; None if no question was scored.

        Raises:
            RunNotFound, RunUnreadable
        """
        spec = METRICS[metric]
        domain = None if spec.high is None else (spec.low, spec.high)
        return distribution(self.table(run_id).values(metric), domain)

    @performs(Action.READ)
    def latencies(self, run_id: str) -> dict[str, Distribution]:
        """Return step -> distribution of its seconds.

        The step "search" has one value per question. The other steps are phases, with one value per request to the
        model; cached replies do not count. Steps without any recorded time are left out.

        Raises:
            RunNotFound
        """

        def read() -> dict[str, Distribution]:
            folder = self._folder(run_id)
            records, _ = folder.records(RETRIEVE)
            searched = (retrieved_of(record).seconds for record in records.values())
            seconds: dict[str, list[float]] = {"search": [sum(times.values()) for times in searched if times]}
            for event in folder.read_events(LLM_REQUEST):
                if not event.get("cached") and event.get("seconds") is not None:
                    seconds.setdefault(str(event["phase"]), []).append(float(event["seconds"]))
            return {name: found for name, values in seconds.items() if (found := distribution(values))}

        found: dict[str, Distribution] = self._small.get_or_build(("latencies", *self.version(run_id)), read)
        return found

    @performs(Action.READ)
    def records(self, run_id: str, query_id: str) -> dict[str, QueryRecord]:
        """Return phase -> its record of a question; empty for a run that was imported without its records.

        Raises:
            RunNotFound
        """
        key = ("records", *self.version(run_id), query_id)
        found: dict[str, QueryRecord] = self._small.get_or_build(key, lambda: self._folder(run_id).records_of(query_id))
        return found

    @performs(Action.READ)
    def gold_paths(self, run_id: str, row: QueryRow) -> list[GoldPath]:
        """Trace each relevant document of a question through the stages of the pipeline, to show where it was lost.

        Raises:
            RunNotFound, RunUnreadable
        """
        cut, reranker = self._cut(run_id)
        record = self.records(run_id, row.query_id).get(RETRIEVE)
        return gold_paths(row, retrieved_of(record) if record else Retrieved(), cut, reranker)

    @performs(Action.READ)
    def flow(self, run_id: str) -> Flow:
        """Count how far the relevant documents of all questions came. Cached, because it reads all records.

        Raises:
            RunNotFound, RunUnreadable
        """

        def read() -> Flow:
            cut, reranker = self._cut(run_id)
            records, _ = self._folder(run_id).records(RETRIEVE)
            table = self.table(run_id)

            def paths(row: QueryRow) -> list[GoldPath]:
                record = records.get(row.query_id)
                return gold_paths(row, retrieved_of(record) if record else Retrieved(), cut, reranker)

            return flow_of(((row, paths(row)) for row in table.rows), bool(table.result.generator))

        found: Flow = self._small.get_or_build(("flow", *self.version(run_id)), read)
        return found

    def _cut(self, run_id: str) -> tuple[int, bool]:
        """Return how many documents the context of a run had at most, and whether the run had a reranker."""
        # A single recorded value that is no longer legal must not hide the paths: the default stands in for it.
        recorded = self.manifest(run_id).settings_masked
        known = {name: recorded.get(name) for name in _CUTS}
        cuts = {name: known[name] if type(known[name]) is type(usual) else usual for name, usual in _CUTS.items()}
        reranker = bool(cuts["reranker_enabled"])
        return int(cuts["reranker_top_n" if reranker else "kb_top_k"] or 0), reranker

    @performs(Action.READ)
    def compare(self, run_ids: Sequence[str]) -> Comparison:
        """Compare the first finished run with each of the others. Cached, because it draws thousands of samples.

        Raises:
            RunNotFound, RunUnreadable, NotComparable
        """

        def compared() -> Comparison:
            return compare_runs([self._archive.compared(run_id) for run_id in run_ids])

        key = ("compare", *(self.version(run_id) for run_id in run_ids))
        found: Comparison = self._small.get_or_build(key, compared)
        return found

    @performs(Action.READ)
    def chat_profile(self, run_id: str) -> ChatProfile:
        """Return the part of a run's configuration that the chat can adopt. Raises RunNotFound, RunUnreadable."""
        manifest = self.manifest(run_id)
        # An imported TREC ranking comes from another program: only its name is known, not its settings.
        recorded = {"retrieval_strategy": manifest.strategy} if manifest.imported == TREC else manifest.settings_masked
        settings = self._live.current
        has_model = self._providers.language_model(settings) is not None
        return chat_profile(run_id, recorded, settings, has_model, manifest.generator)

    def _folder(self, run_id: str) -> RunFolder:
        return RunFolder(self._live.current.results_dir, run_id)
