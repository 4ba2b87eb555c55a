"""The journal of a run: what is missing, what failed, and how much work it is to say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import QueryRecord, RunFolder


class Watched(str):
    """A status that counts how often it is looked at."""

    looks = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Watched.looks += 1
        return str.__eq__(self, other)


def record(query_id: str, status: str, phase: str = "score") -> QueryRecord:
    return QueryRecord("r", query_id, phase, cast("Any", status), {})


def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "r").mkdir()
    return RunFolder(tmp_path, "r")


def test_failures_are_counted_by_query_and_phase_and_again_after_a_restart(tmp_path: Path) -> None:
    runs = folder(tmp_path)
    journal = Journal(runs)
    journal.add([record("a", "failed"), record("b", "ok"), record("a", "failed", "judge")])
    assert (journal.failed("score"), journal.failed("judge"), journal.failed("none")) == (1, 1, 0)
    journal.add([record("a", "ok"), record("c", "failed"), record("c", "failed")])
    assert (journal.failed("score"), journal.ok("score")) == (1, {"a", "b"})
    assert (Journal(runs).failed("score"), Journal(runs).failed("judge")) == (1, 1)
    forgetting = Journal(runs, forget_failed=True)
    assert (forgetting.failed("score"), forgetting.missing("score", "abc")) == (0, ["c"])


def test_counting_failures_after_each_record_looks_at_each_record_a_few_times_at_most(tmp_path: Path) -> None:
    journal = Journal(folder(tmp_path))
    Watched.looks = 0
    for row in range(200):
        journal.add([record(f"q{row}", Watched("failed"))])
        assert journal.failed("score") == row + 1
    assert Watched.looks <= 4 * 200
