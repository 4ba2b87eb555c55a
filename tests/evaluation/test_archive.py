"""The index of runs: what is read once, and when it is read again. What a search finds is in ``tests/runs``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunNotFound
from chatbot_mvp.runs.lists import RunFilter, leaderboard
from chatbot_mvp.runs.result import result_json
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.lru import FileCache


def test_a_file_is_read_once_and_again_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    reads: list[int] = []
    cache: FileCache[str] = FileCache(1_000)

    def read() -> str:
        reads.append(1)
        return path.read_text() if path.exists() else "none"

    def get() -> str:
        return cache.get(path, read)

    assert [get(), get()] == ["none", "none"]
    path.write_text("one")
    assert [get(), get(), len(reads)] == ["one", "one", 3]
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert [get(), get(), len(reads)] == ["two", "two", 4]


def test_only_so_many_bytes_of_files_are_kept_the_oldest_go_first(tmp_path: Path) -> None:
    cache: FileCache[str] = FileCache(25)
    reads: list[str] = []
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text("0123456789")

    def get(path: Path) -> None:
        cache.get(path, lambda: (reads.append(path.name), path.name)[1])

    for path in (*paths[:2], paths[0], paths[2], *paths):
        get(path)
    assert reads == ["a", "b", "c", "b", "c"], "b was asked for least lately when c came"
    paths[0].write_text("x" * 99)
    for path in (paths[0], paths[0], paths[1]):
        get(path)
    assert reads[5:] == ["a", "b"], "one that alone is too large is kept until the next one"


def test_the_list_is_read_once_and_never_opens_a_result(app: App, settings: Settings) -> None:
    run_id = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=3).run_id
    first, _ = app.archive.runs()
    (settings.results_dir / run_id / f"{run_id}.json").write_bytes(b"damaged")
    again, _ = app.archive.runs()
    assert again[0] is first[0]
    assert app.archive.search(RunFilter(text="lexical valle")) == again
    [field] = app.archive.groups()
    [place] = leaderboard(field, "recall@5")
    assert place.interval == tuple(first[0].intervals["recall@5"])
    app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=2)
    assert len(app.archive.runs()[0]) == 2


def test_a_result_is_kept_until_its_file_changes(app: App, settings: Settings) -> None:
    run_id = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=3).run_id
    past = app.archive
    one = past.run(run_id)
    assert past.run(run_id) is one
    path = settings.results_dir / run_id / f"{run_id}.json"
    path.write_text(json.dumps({**result_json(one), "metrics": {"mrr": 1.0}}), "utf-8")
    assert past.run(run_id).metrics == {"mrr": 1.0}
    path.unlink()
    for gone in (run_id, "nope", "../nope"):
        with pytest.raises(RunNotFound):
            past.run(gone)


def test_how_far_an_unfinished_run_came_is_counted_anew_when_it_goes_on(app: App, settings: Settings) -> None:
    run_id = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=4).run_id
    folder = settings.results_dir / run_id
    (folder / f"{run_id}.json").unlink()
    records = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    for count in (2, 3, 3):
        (folder / "records.jsonl").write_bytes(b"".join(records[:count]))
        [unfinished] = app.archive.unfinished()
        assert (unfinished.recorded, unfinished.queries) == (count, 4)
