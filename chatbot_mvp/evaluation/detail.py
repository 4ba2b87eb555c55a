"""Finished runs looked at closely: one in full, or several beside each other. What is read once is kept while it is."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

from chatbot_mvp.chat.profile import ChatProfile, chat_profile
from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.evaluation.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.causes import GoldPath, gold_paths
from chatbot_mvp.runs.comparison import ComparedRun, Comparison, Mismatch, compare_runs, why_not_comparable
from chatbot_mvp.runs.configuration import RunSetting, configuration_groups
from chatbot_mvp.runs.distributions import Distribution, distribution
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.payloads import Retrieved, retrieved_of
from chatbot_mvp.runs.query_table import QueryTable
from chatbot_mvp.runs.records import TREC, QueryRecord, RunFolder, RunManifest
from chatbot_mvp.runs.result import RAGAS, RunResult
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.runs.spending import LLM_REQUEST
from chatbot_mvp.runs.word_difference import Part, word_difference
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import detect_language

Version = tuple[str, int, int]
"""(run_id, when its result was written, how long it is): another one after every retry."""

_CUTS = {name: Settings.model_fields[name].default for name in ("reranker_enabled", "reranker_top_n", "kb_top_k")}

_TABLES_KEPT = 5
"""As many as a comparison has; a table of 7,405 questions takes some 60 MB."""
_SMALL_KEPT = 64

Kept = TypeVar("Kept")


class RunDetails:
    """Safe to share between sessions; holds nothing of one user, and nothing that changes."""

    def __init__(
        self, settings: Callable[[], Settings], has_model: Callable[[], bool], read: Callable[[str], RunResult]
    ) -> None:
        """
        Args:
            settings: as they are now.
            has_model: whether retrieval has a language model to ask, as it is now.
            read: a finished run's result by its id; raises RunNotFound, RunUnreadable.
        """
        self._settings = settings
        self._has_model = has_model
        self._result = read
        self._tables = _Keeper(_TABLES_KEPT)
        self._small = _Keeper(_SMALL_KEPT)

    def version(self, run_id: str) -> Version:
        """What a page may keep its own things of a run under.

        Raises:
            RunNotFound
        """
        folder = self._folder(run_id)
        try:
            state = folder.result_path.stat()
        except OSError:
            folder.result()  # says what is wrong
            raise
        return run_id, state.st_mtime_ns, state.st_size

    def table(self, run_id: str) -> QueryTable:
        """A finished run's questions, ready to be filtered; of a benchmark run, not of an evaluation of answers.

        Raises:
            RunNotFound, RunUnreadable
        """
        return self._tables.get(self.version(run_id), lambda: QueryTable(self._result(run_id)))

    def row(self, run_id: str, query_id: str) -> QueryRow:
        """A question of a finished run, of whatever kind.

        Raises:
            RunNotFound, RunUnreadable: the latter also if the run has no such question.
        """
        if self.manifest(run_id).kind == RAGAS:
            rows = {row.query_id: row for row in self._result(run_id).per_query}
        else:
            table = self.table(run_id)
            position = table.position(query_id)
            rows = {} if position is None else {query_id: table.rows[position]}
        if query_id not in rows:
            raise RunUnreadable(run_id=run_id, reason=f"there is no query {query_id!r}")
        return rows[query_id]

    def manifest(self, run_id: str) -> RunManifest:
        """
        Raises:
            RunNotFound, RunUnreadable
        """
        return self._folder(run_id).manifest()

    def configuration(self, run_id: str) -> dict[str, list[RunSetting]]:
        """Group -> settings; see ``run_configuration``. No secrets.

        Raises:
            RunNotFound, RunUnreadable
        """
        return configuration_groups(self.manifest(run_id).settings_masked)

    def metric_distribution(self, run_id: str, metric: str) -> Distribution | None:
        """How the scores of the questions spread; None where none was scored.

        Raises:
            RunNotFound, RunUnreadable
        """
        spec = METRICS[metric]
        domain = None if spec.high is None else (spec.low, spec.high)
        return distribution(self.table(run_id).values(metric), domain)

    def latencies(self, run_id: str) -> dict[str, Distribution]:
        """What was timed -> seconds: "search" per question, then a phase per request to its model, kept replies left
        out. What was not timed is left out.

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

        return self._small.get(("latencies", *self.version(run_id)), read)

    def records(self, run_id: str, query_id: str) -> dict[str, QueryRecord]:
        """Phase -> what it recorded of a question; empty for a run that came without its records.

        Raises:
            RunNotFound
        """
        key = ("records", *self.version(run_id), query_id)
        return self._small.get(key, lambda: self._folder(run_id).records_of(query_id))

    def gold_paths(self, run_id: str, row: QueryRow) -> list[GoldPath]:
        """Where each relevant document of a question was lost.

        Raises:
            RunNotFound, RunUnreadable
        """
        # Read as they stand: one value that is not legal any more is no reason to tell nothing.
        recorded = {**_CUTS, **self.manifest(run_id).settings_masked}
        reranker = bool(recorded["reranker_enabled"])
        cut = int(recorded["reranker_top_n" if reranker else "kb_top_k"])
        record = self.records(run_id, row.query_id).get(RETRIEVE)
        return gold_paths(row, retrieved_of(record) if record else Retrieved(), cut, reranker)

    def compare(self, run_ids: Sequence[str]) -> Comparison:
        """The first finished run against each of the others; kept, since it draws thousands of samples.

        Raises:
            RunNotFound, RunUnreadable, NotComparable
        """

        def compared() -> Comparison:
            return compare_runs([ComparedRun(self.manifest(run_id), self._result(run_id)) for run_id in run_ids])

        return self._small.get(("compare", *(self.version(run_id) for run_id in run_ids)), compared)

    @staticmethod
    def why_not_comparable(base: RunLine, other: RunLine) -> Mismatch | None:
        """What sets two runs of ``Bench.runs`` apart beside their configuration; None if nothing does."""
        return why_not_comparable(base, other)

    @staticmethod
    def word_difference(row: QueryRow) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
        """(reference, answer) of a row, with what only one of them says."""
        reference, answer = row.answer, row.response or ""
        return word_difference(reference, answer, detect_language(f"{row.question} {reference} {answer}"))

    def chat_profile(self, run_id: str) -> ChatProfile:
        """What the chat can take over of a run's configuration.

        Raises:
            RunNotFound, RunUnreadable
        """
        manifest = self.manifest(run_id)
        # Of a ranking of another program nothing is known but its name.
        recorded = {"retrieval_strategy": manifest.strategy} if manifest.imported == TREC else manifest.settings_masked
        return chat_profile(run_id, recorded, self._settings(), self._has_model(), manifest.generator)

    def _folder(self, run_id: str) -> RunFolder:
        return RunFolder(self._settings().results_dir, run_id)


class _Keeper:
    """The values used last, each made once however many ask at the same time."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def found(self, key: Hashable) -> Any:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        if (value := self.found(key)) is not None:
            return cast(Kept, value)
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            if (value := self.found(key)) is not None:
                return cast(Kept, value)
            made = make()
            with self._lock:
                self._making.pop(key, None)
                self._values[key] = made
                while len(self._values) > self._kept:
                    self._values.popitem(last=False)
        return made
