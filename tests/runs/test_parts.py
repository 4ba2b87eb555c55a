"""What workers did for a run is found on the disk, whichever process reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.llm.base import Completion, Usage
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.parts import ShardPart, ShardParts
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.spending import Spending
from tests.raising import raises

MANIFEST = RunManifest("r", "d", "d", "0" * 64, "LEXICAL", {}, "f" * 12, "1", 3, 3, "2026-01-01T00:00:00+00:00")
REPLY = Completion("", "m", 0.5, usage=Usage(10, 5, 0.25))


def record(query_id: str, phase: str = "generate", text: str = "sí") -> QueryRecord:
    return QueryRecord("r", query_id, phase, "ok", {"response": text})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path, "r")
    made.create(MANIFEST)
    return made


@pytest.fixture
def parts(folder: RunFolder) -> ShardParts:
    return ShardParts(folder, MANIFEST)


def test_a_part_that_a_dead_driver_left_is_recorded_and_paid_by_the_next_attempt(
    folder: RunFolder, parts: ShardParts
) -> None:
    parts.write(parts.path("generate", ["a"]), ShardPart([record("a")], "generate", [REPLY]))
    journal, spending = Journal(folder), Spending(folder)
    parts.absorb(journal, spending)
    again = Journal(folder)
    assert again.of("generate") == {"a": record("a")}
    assert Spending(folder).total.cost_usd == 0.25
    assert not (folder.path / "parts").exists()


def test_a_query_with_a_record_keeps_it_and_is_not_paid_twice(folder: RunFolder, parts: ShardParts) -> None:
    folder.append_records([record("a", text="first")])
    parts.write(parts.path("generate", ["a"]), ShardPart([record("a", text="second")], "generate", [REPLY]))
    parts.absorb(Journal(folder), Spending(folder))
    assert Journal(folder).of("generate")["a"].payload == {"response": "first"}
    assert Spending(folder).total.calls == 0


def test_a_worker_that_ends_its_work_after_the_run_leaves_no_part_until_a_retry_begins(
    folder: RunFolder, parts: ShardParts
) -> None:
    folder.result_path.write_text("{}", "utf-8")
    path, part = parts.path("generate", ["a"]), ShardPart([record("a")], "generate", [REPLY])
    parts.write(path, part)
    assert not path.exists()
    folder.renew()
    parts.write(path, part)
    assert path.exists()


def test_a_part_is_named_by_the_shard_and_by_what_the_run_measures(folder: RunFolder, parts: ShardParts) -> None:
    path = parts.path("retrieve", ["a", "b"])
    assert path == ShardParts(folder, MANIFEST).path("retrieve", ["a", "b"])
    others = [
        parts.path("retrieve", ["b", "a"]),
        parts.path("retrieve", ["ab"]),
        parts.path("judge", ["a", "b"]),
        ShardParts(folder, replace(MANIFEST, fingerprint="e" * 12)).path("retrieve", ["a", "b"]),
        ShardParts(folder, replace(MANIFEST, code_version="2")).path("retrieve", ["a", "b"]),
    ]
    assert len({path, *others}) == 6


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format_version": 1, "records": [{}]}'])
def test_a_damaged_part_is_as_if_it_were_not_there(folder: RunFolder, parts: ShardParts, content: bytes) -> None:
    path = parts.path("generate", ["a"])
    path.parent.mkdir()
    path.write_bytes(content)
    assert parts.read(path) is None
    parts.absorb(Journal(folder), Spending(folder))
    assert Journal(folder).of("generate") == {}


def test_a_disk_that_refuses_a_part_is_an_error_of_the_run(folder: RunFolder, parts: ShardParts) -> None:
    (folder.path / "parts").write_text("a file in the place of the folder")
    with raises("run_not_written", match="cannot be written"):
        parts.write(parts.path("generate", ["a"]), ShardPart([record("a")], "generate", []))
