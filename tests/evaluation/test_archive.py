"""The index of runs: what is read once, when it is read again, what a search finds, how runs are ranked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunNotFound
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.lists import RunFilter, kind_of, leaderboard, main_metric, run_groups, search
from chatbot_mvp.runs.notes import RunNote
from chatbot_mvp.runs.result import result_json
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.file_cache import FileCache
from tests.made_results import made_line


def run(run_id: str, **values: Any) -> RunLine:
    """A line of the list."""
    line = {"run_id": run_id, "dataset": "valle", "dataset_sha256": "1", "strategy": "LEXICAL", "queries": 40}
    scored = {"metrics": {"recall@5": 0.5}, "scored": {"recall@5": [40, 40]}}
    return made_line(**{**line, "documents": 9, **scored, **values})


# --- what is kept


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


# --- search


def test_words_tags_kinds_and_data_sets_narrow_the_list() -> None:
    runs = [
        run("a", dataset="hotpotqa", strategy="BRIDGE_HYBRID"),
        run("b", generator="groq/llama"),
        run("c", kind="ragas", judge="openai/gpt", metrics={"ragas_faithfulness": 0.7}),
        made_line(run_id="d"),
    ]
    notes = {"a": RunNote(("Línea base", "v1"), "con caché"), "b": RunNote(("linea base",))}

    def found(text: str = "", **asked: Any) -> str:
        return "".join(each.run_id for each in search(runs, notes, RunFilter(text, **asked)))

    assert found() == "abcd"
    assert found("HOTPOT bridge") == "a"
    assert found("cache") == found("Línea v1") == "a"
    assert found("llama") == "b"
    assert found("gpt") == "c"
    assert found("hotpotqa llama") == ""
    assert found(tags=("LÍNEA BASE",)) == "ab"
    assert found(tags=("linea base", "v1")) == "a"
    assert found(kinds=("answers", "ragas")) == "bc"
    assert found(datasets=("valle",), kinds=("answers",)) == "b"


def test_each_kind_of_run_has_a_main_metric() -> None:
    answered = run("b", generator="demo", metrics={"recall@5": 0.9, "generation_score": 0.4})
    judged = run("c", kind="ragas", metrics={"ragas_context_recall": None, "ragas_faithfulness": 0.7})
    assert [kind_of(each) for each in (run("a"), answered, judged)] == ["retrieval", "answers", "ragas"]
    assert [main_metric(each) for each in (run("a"), answered, judged)] == [
        *("recall@5", "generation_score", "ragas_faithfulness")
    ]
    assert main_metric(run("d", kind="ragas", metrics={"ragas_context_recall": None})) == "ragas_context_recall"
    assert main_metric(run("e", metrics={})) == ""
    assert main_metric(run("f", metrics={"of_another_version": 1.0})) == "of_another_version"


# --- leaderboard


def test_only_runs_over_the_same_questions_and_documents_share_a_field() -> None:
    ours = [run("a"), run("b"), run("c", queries=3), run("d", dataset_sha256="2"), run("e", documents=8)]
    answers = [run("f", kind="ragas", dataset="one"), run("g", kind="ragas", dataset="two")]
    assert [[each.run_id for each in field.runs] for field in run_groups([*ours, *answers])] == [
        *(["a", "b"], ["c"], ["d"], ["e"], ["f", "g"])
    ]


def test_the_best_is_first_ties_share_a_rank_and_who_was_not_scored_is_last() -> None:
    values = {"a": 0.5, "b": None, "c": 0.9, "d": 0.5, "e": 0.1}
    runs = [run(name, metrics={"recall@5": value, "mrr": 0.3}) for name, value in values.items()]
    [field] = run_groups([*runs, run("f", metrics={"mrr": 1.0}), run("g", intervals={"mrr": [0.1, 0.2]})])
    assert field.metrics == ["recall@5", "mrr"]
    places = leaderboard(field, "recall@5")
    assert [(place.rank, place.run.run_id) for place in places] == [
        *((1, "c"), (2, "a"), (2, "d"), (2, "g"), (5, "e"), (None, "b"))
    ]
    assert (places[0].scored, places[0].total, places[0].interval) == (40, 40, None)
    assert (places[-1].value, places[-1].scored) == (None, 40)


def test_of_a_metric_that_should_be_low_the_lowest_is_first() -> None:
    name = "complement_recall@5"
    [field] = run_groups([run(key, metrics={name: value}) for key, value in (("a", 0.4), ("b", 0.1))])
    assert [place.run.run_id for place in leaderboard(field, name)] == ["b", "a"]
