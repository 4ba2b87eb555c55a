"""Keep the records of a run in memory and on disk, and tell which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from chatbot_mvp.runs.records import QueryRecord, RunFolder


class Journal:
    """The records of one run. Used only by the thread that holds the run's lock."""

    def __init__(self, folder: RunFolder, *, forget_failed: bool = False) -> None:
        """With ``forget_failed``, failed queries count as missing, so that they are repeated."""
        self._folder = folder
        phases, self.damaged = folder.all_records()
        self._phases = {
            phase: {key: record for key, record in records.items() if record.status == "ok" or not forget_failed}
            for phase, records in phases.items()
        }
        self._failed = {
            phase: {key for key, record in records.items() if record.status == "failed"}
            for phase, records in self._phases.items()
        }
        """Kept up to date by ``add``: progress counts them after every step of a run."""

    def of(self, phase: str) -> dict[str, QueryRecord]:
        """Return query_id -> record of a phase."""
        return self._phases.setdefault(phase, {})

    def missing(self, phase: str, query_ids: Iterable[str]) -> list[str]:
        """Return the queries without a record of a phase, in the given order."""
        known = self.of(phase)
        return [query_id for query_id in query_ids if query_id not in known]

    def ok(self, phase: str) -> set[str]:
        """Return the queries for which a phase succeeded."""
        return {query_id for query_id, record in self.of(phase).items() if record.status == "ok"}

    def failed(self, phase: str) -> int:
        """Return the number of queries for which a phase failed."""
        return len(self._failed.get(phase, ()))

    def add(self, records: Sequence[QueryRecord]) -> None:
        """Write records. When this returns, they survive a crash.

        Raises:
            RunError (run_not_written): the disk is full or not writable.
        """
        if not records:
            return
        self._folder.append_records(records)
        rows: list[dict[str, Any]] = []
        for record in records:
            self.of(record.phase)[record.query_id] = record
            failed = self._failed.setdefault(record.phase, set())
            if record.status == "failed":
                failed.add(record.query_id)
            else:
                failed.discard(record.query_id)
            rows.append({"query_id": record.query_id, "phase": record.phase, "status": record.status})
        self._folder.events("query_result", rows)
