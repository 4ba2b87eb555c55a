"""A benchmark run from the App to its files: repeatable, stoppable, resumable, each query exactly once."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.errors import (
    DatasetError,
    InvalidSetting,
    ProviderNotConfigured,
    RunNotFound,
    UnknownChoice,
)
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.metrics.registry import metrics_of
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.runs.result import RunResult, result_json
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.storage.jsonl import read_lines
from chatbot_mvp.types import Progress
from tests.fakes import FakeEmbedder, FakeLanguageModel, fake_app
from tests.raising import raises
from tests.stopping import at, stopped_run
from tests.waiting import wait_until

QUERIES = 40
"""Of the bundled data set; more than one batch of records."""

CONTRACT = {
    "run_id",
    "dataset",
    "strategy",
    "fingerprint",
    "queries",
    "metrics",
    "scored",
    "seconds",
    "peak_rss_mb",
}


def new_app(settings: Settings) -> App:
    """As after a restart: the same folders, nothing in memory."""
    return fake_app(
        settings,
        embedder=lambda _: FakeEmbedder(),
        chat_model=DemoModel,
        language_model=lambda *_: FakeLanguageModel().model,
    )


def in_mid_run(progress: Progress) -> bool:
    return progress.phase == "retrieve" and 0 < progress.done < progress.total


def recorded_queries(app_settings: Settings, run_id: str) -> list[str]:
    rows, _ = read_lines(app_settings.results_dir / run_id / "records.jsonl")
    return [row["query_id"] for row in rows]


def rankings(result: RunResult) -> dict[str, tuple[str, ...]]:
    return {row.query_id: row.retrieved for row in result.per_query}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_result_has_every_field_of_the_contract_and_a_second_run_the_same_metrics_and_rankings(
    settings: Settings, strategy: str
) -> None:
    app = new_app(settings)
    result = app.runs.run_now(retrieval_strategy=strategy)
    assert set(result_json(result)) >= CONTRACT
    assert (result.dataset, result.strategy, result.queries) == ("valle_multihop", strategy, QUERIES)
    assert set(result.metrics) == set(metrics_of("ranking"))
    assert result.scored == dict.fromkeys(metrics_of("ranking"), (QUERIES, QUERIES))
    assert all(0.0 <= value <= 1.0 for value in result.metrics.values())
    parts = STRATEGIES[strategy]
    of_strategy = {
        "link": parts.needs_links,
        "embed_corpus": parts.needs_vectors,
        "embed_queries": parts.needs_vectors,
        "enrich": parts.writes_contexts,
    }
    phases = {"load", "index", "retrieve", "aggregate", "export", *(name for name, has in of_strategy.items() if has)}
    assert set(result.seconds) == phases
    assert result.peak_rss_mb > 0
    assert app.archive.run(result.run_id) == result
    again = new_app(settings).runs.run_now(retrieval_strategy=strategy)
    assert again.run_id != result.run_id
    assert (again.fingerprint, again.metrics) == (result.fingerprint, result.metrics)
    assert rankings(again) == rankings(result)


def test_the_metrics_are_the_means_over_the_queries_of_the_result(app: App) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL")
    for name, mean in result.metrics.items():
        values = [row.metrics[name] for row in result.per_query]
        assert mean == pytest.approx(sum(values) / QUERIES, abs=1e-12)
    for row in result.per_query:
        gold = set(row.gold)
        assert row.metrics["recall@5"] == len(gold & set(row.retrieved[:5])) / len(gold)


def test_the_language_of_a_corpus_can_be_given(app: App) -> None:
    """English stems no Spanish word, so a run that is told so is another one."""
    detected = app.runs.run_now(retrieval_strategy="LEXICAL")
    english = app.runs.run_now(retrieval_strategy="LEXICAL", retrieval_bm25_language="en")
    assert english.fingerprint != detected.fingerprint
    assert rankings(english) != rankings(detected)


def test_bm25_finds_a_gold_document_first_for_nearly_every_bundled_question(app: App) -> None:
    """Both gold documents share words with the question by design: fewer than 30 of 40 would be a broken analysis."""
    assert app.runs.run_now(retrieval_strategy="LEXICAL").metrics["hit@1"] >= 0.75


def test_no_more_queries_and_no_deeper_rankings_than_asked_for(app: App) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=7, retrieval_k=3)
    assert result.queries == len(result.per_query) == 7
    assert {len(row.retrieved) for row in result.per_query} == {3}
    assert "recall@3" in result.metrics
    assert "recall@5" not in result.metrics
    # A limit beyond the data set means all.
    assert app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=999).queries == QUERIES


def test_a_finished_run_is_one_line_in_the_submissions(app: App) -> None:
    results = [app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=n) for n in (3, 4)]
    rows, damaged = read_lines(app.settings.data_dir / "submissions.jsonl")
    assert [row["run_id"] for row in rows] == [result.run_id for result in results]
    assert damaged == 0
    runs, _ = app.archive.runs()
    assert {run.run_id: run.metrics for run in runs} == {r.run_id: r.metrics for r in results}


def test_a_query_without_gold_is_not_scored_and_its_cells_are_empty(app: App, tmp_path: Path) -> None:
    folder = copy_of_bundled(tmp_path)
    qrels = folder / "qrels" / "test.tsv"
    lines = qrels.read_text("utf-8").splitlines(keepends=True)
    # A grade of 0 is a judgement, so that the query is asked.
    judged = [line.replace("\t1\n", "\t0\n") if line.startswith("q002\t") else line for line in lines]
    qrels.write_text("".join(judged), "utf-8")
    result = app.runs.run_now(retrieval_strategy="LEXICAL", mteb_dataset_name=str(folder), eval_max_queries=4)
    assert set(map(tuple, result.scored.values())) == {(3, 4)}
    detail = app.settings.results_dir / result.run_id / f"{result.run_id}_detail.csv"
    with detail.open(encoding="utf-8", newline="") as file:
        assert {row["query_id"]: row["mrr"] == "" for row in csv.DictReader(file)} == {
            "q001": False,
            "q002": True,
            "q003": False,
            "q004": False,
        }


def copy_of_bundled(tmp_path: Path) -> Path:
    source = PROJECT_ROOT / "data" / "samples" / "valle_multihop"
    return Path(shutil.copytree(source, tmp_path / "copia"))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"retrieval_strategy": "MAGIC"}, UnknownChoice),
        ({"mteb_dataset_name": "nope"}, DatasetError),
        ({"retrieval_k": 0}, InvalidSetting),
        ({"judge_metrics": "charm"}, InvalidSetting),
        ({"generation_enabled": True, "provider": "groq"}, ProviderNotConfigured),
    ],
)
def test_a_run_that_cannot_be_made_leaves_nothing_behind(
    app: App, changes: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        app.runs.run_now(**changes)
    with pytest.raises(error):
        app.runs.start_run(**changes)
    assert not app.settings.results_dir.exists()
    assert app.runs.jobs() == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stopped_run_resumes_to_what_an_unbroken_run_gives(settings: Settings, strategy: str, tmp_path: Path) -> None:
    run_id = stopped_run(new_app(settings), in_mid_run, retrieval_strategy=strategy)
    done = len(recorded_queries(settings, run_id))
    assert 0 < done < QUERIES
    [waiting] = new_app(settings).archive.unfinished()
    assert (waiting.run_id, waiting.recorded, waiting.queries) == (run_id, done, QUERIES)

    resumed = new_app(settings).runs.resume_now(run_id)
    assert Counter(recorded_queries(settings, run_id)) == {f"q{n:03d}": 1 for n in range(1, QUERIES + 1)}
    assert new_app(settings).archive.unfinished() == []
    unbroken = new_app(settings.with_changes(data_dir=tmp_path / "other")).runs.run_now(retrieval_strategy=strategy)
    assert resumed.metrics == unbroken.metrics
    assert rankings(resumed) == rankings(unbroken)
    events, _ = read_lines(settings.results_dir / run_id / "events.jsonl")
    assert [(event["event"], event.get("resumed")) for event in events if event["event"] == "run_start"] == [
        ("run_start", False),
        ("run_start", True),
    ]


@pytest.mark.parametrize("phase", ["index", "aggregate", "export"])
def test_a_run_stopped_in_any_phase_can_be_resumed(settings: Settings, phase: str) -> None:
    run_id = stopped_run(new_app(settings), at(phase), retrieval_strategy="LEXICAL")
    assert new_app(settings).archive.runs() == ([], [])
    assert new_app(settings).runs.resume_now(run_id).queries == QUERIES
    assert len(recorded_queries(settings, run_id)) == QUERIES
    assert [run.run_id for run in new_app(settings).archive.runs()[0]] == [run_id]


def test_a_resume_keeps_the_settings_that_the_run_was_started_with(settings: Settings) -> None:
    run_id = stopped_run(
        new_app(settings), in_mid_run, retrieval_strategy="LEXICAL", retrieval_k=7, eval_max_queries=35
    )
    later = settings.with_changes(retrieval_strategy="HYBRID", retrieval_k=5, kb_top_k=1, eval_max_queries=2)
    result = new_app(later).runs.resume_now(run_id)
    assert (result.strategy, result.queries) == ("LEXICAL", 35)
    assert {len(row.retrieved) for row in result.per_query} == {7}


def test_a_torn_record_is_done_again_and_counted(settings: Settings) -> None:
    run_id = stopped_run(new_app(settings), in_mid_run, retrieval_strategy="LEXICAL")
    path = settings.results_dir / run_id / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-15])
    result = new_app(settings).runs.resume_now(run_id)
    assert result.damaged_records == 1
    assert Counter(recorded_queries(settings, run_id)) == {f"q{n:03d}": 1 for n in range(1, QUERIES + 1)}


def test_a_run_whose_data_set_changed_is_not_resumed(settings: Settings, tmp_path: Path) -> None:
    folder = copy_of_bundled(tmp_path)
    run_id = stopped_run(new_app(settings), in_mid_run, retrieval_strategy="LEXICAL", mteb_dataset_name=str(folder))
    before = recorded_queries(settings, run_id)
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_id": "nuevo", "title": "", "text": "uno más"}\n')
    with raises("run_mismatch") as raised:
        new_app(settings).runs.resume_now(run_id)
    assert run_id in str(raised.value)
    assert "dataset_sha256 was" in str(raised.value)
    assert recorded_queries(settings, run_id) == before


def test_a_data_set_given_by_a_relative_folder_is_found_again_from_elsewhere(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of_bundled(tmp_path)
    monkeypatch.chdir(tmp_path)
    run_id = stopped_run(new_app(settings), in_mid_run, retrieval_strategy="LEXICAL", mteb_dataset_name="copia")
    monkeypatch.chdir("/")
    assert new_app(settings).runs.resume_now(run_id).queries == QUERIES


def test_a_finished_run_has_nothing_to_resume(app: App) -> None:
    run_id = app.runs.run_now(retrieval_strategy="LEXICAL").run_id
    with raises("run_already_finished", match=run_id):
        app.runs.resume_now(run_id)
    assert len(app.archive.runs()[0]) == 1


def test_an_unknown_run_is_neither_resumed_nor_shown(app: App) -> None:
    for action in (app.runs.resume_now, app.runs.resume_run, app.archive.run):
        with pytest.raises(RunNotFound, match="nope"):
            action("nope")


def test_progress_tells_the_phases_in_order_and_ends_at_the_total(app: App) -> None:
    seen: list[Progress] = []
    app.runs.run_now(seen.append)
    phases = list(dict.fromkeys(progress.phase for progress in seen))
    assert phases == ["index", "link", "embed_corpus", "embed_queries", "retrieve", "aggregate", "export"]
    last = {progress.phase: progress for progress in seen}
    assert (last["retrieve"].done, last["retrieve"].total) == (QUERIES, QUERIES)
    assert last["embed_corpus"].done == last["embed_corpus"].total == 80


# --- in the background


def ended(app: App, run_id: str) -> Any:
    return wait_until(lambda: next((job for job in app.runs.jobs() if job.job_id == run_id and not job.active), None))


def test_a_run_in_the_background_gives_what_one_in_the_foreground_gives(settings: Settings) -> None:
    app = new_app(settings)
    run_id = app.runs.start_run(retrieval_strategy="LEXICAL")
    assert ended(app, run_id).state == "done"
    assert app.archive.run(run_id).metrics == app.runs.run_now(retrieval_strategy="LEXICAL").metrics
    assert app.archive.unfinished() == []


class GatedEmbedder(FakeEmbedder):
    """Embeds nothing before its gate is open, so that a run can be caught at work."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.gate = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        self.reached.set()
        assert self.gate.wait(timeout=20)
        return super().embed(texts, input_type)


def test_runs_stopped_at_work_or_before_their_turn_are_resumed_by_the_same_app(settings: Settings) -> None:
    embedder = GatedEmbedder()
    app = fake_app(settings, embedder=lambda _: embedder, chat_model=DemoModel)
    at_work = app.runs.start_run(retrieval_strategy="HYBRID")
    waiting = app.runs.start_run(retrieval_strategy="LEXICAL")
    assert embedder.reached.wait(timeout=20)
    assert app.archive.unfinished() == []
    for run_id in (at_work, waiting):
        app.runs.stop_run(run_id)
    embedder.gate.set()
    assert [ended(app, run_id).state for run_id in (at_work, waiting)] == ["stopped", "stopped"]
    assert app.archive.runs() == ([], [])
    assert {run.run_id for run in app.archive.unfinished()} == {at_work, waiting}
    for run_id in (at_work, waiting):
        app.runs.resume_run(run_id)
        assert wait_until(lambda run_id=run_id: ended(app, run_id)).state == "done"
    assert {run.run_id: run.queries for run in app.archive.runs()[0]} == {at_work: QUERIES, waiting: QUERIES}


# --- kill -9

SLOW_CLI = """
import time
from chatbot_mvp.cli import main as cli
from chatbot_mvp.cli.progress import ProgressLine

plain = ProgressLine.__call__

def slow(self, progress):
    plain(self, progress)
    if progress.phase == "retrieve" and 0 < progress.done < progress.total:
        time.sleep(60)

ProgressLine.__call__ = slow
cli.main()
"""


def run_cli(settings: Settings, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "chatbot_mvp.cli", *arguments, "--json"],
        env={**os.environ, "DATA_DIR": str(settings.data_dir)},
        capture_output=True,
        timeout=60,
        check=True,
    )
    value: dict[str, Any] = json.loads(done.stdout)
    return value


@pytest.mark.slow
def test_a_run_killed_with_sigkill_is_resumed_to_each_query_once_and_equal_metrics(
    settings: Settings, tmp_path: Path
) -> None:
    driver = tmp_path / "slow_cli.py"
    driver.write_text(SLOW_CLI, "utf-8")
    process = subprocess.Popen(
        [sys.executable, str(driver), "benchmark", "run", "--strategy", "LEXICAL", "--no-generation", "--json"],
        env={**os.environ, "DATA_DIR": str(settings.data_dir), "PYTHONPATH": str(PROJECT_ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        [path] = wait_until(lambda: list(settings.results_dir.glob("*/records.jsonl")))
        wait_until(lambda: path.read_bytes().endswith(b"\n"))
        run_id = path.parent.name
        assert new_app(settings).archive.unfinished() == []  # somebody is at work on it
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)
    finally:
        process.kill()
        process.wait(timeout=10)
    assert 0 < len(recorded_queries(settings, run_id)) < QUERIES
    assert not (path.parent / f"{run_id}.json").exists()
    assert run_cli(settings, "benchmark", "list")["unfinished"] == [
        {"run_id": run_id, "recorded": len(recorded_queries(settings, run_id)), "queries": QUERIES}
    ]

    resumed = run_cli(settings, "benchmark", "resume", run_id)
    unbroken = run_cli(settings, "benchmark", "run", "--strategy", "LEXICAL", "--no-generation")
    assert Counter(recorded_queries(settings, run_id)) == {f"q{n:03d}": 1 for n in range(1, QUERIES + 1)}
    assert resumed["run_id"] == run_id
    assert resumed["metrics"] == unbroken["metrics"]
    app = new_app(settings)
    assert rankings(app.archive.run(run_id)) == rankings(app.archive.run(unbroken["run_id"]))


# --- figures beside the means


def test_a_result_has_intervals_readings_splits_and_causes_beside_its_means(app: App) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL", kb_top_k=1)
    for name, mean in result.metrics.items():
        low, high = result.intervals[name]
        assert low - 1e-6 <= mean <= high + 1e-6
        assert result.readings[name] == (mean, mean)
    for groups in result.splits.values():
        assert sum(group["mrr"].total for group in groups.values()) == QUERIES
    assert set(result.splits) == {"question_type", "answer_type", "level"}
    assert sum(result.causes.values()) == QUERIES
    # Two gold documents do not fit into a context of one.
    assert result.causes["ok"] == 0
    assert result.causes["below_cut"] > 0
    assert "generation_recall" not in result.metrics
    assert result.reranker_rescue_count is None


def test_a_reranked_run_is_also_scored_by_what_reached_the_context(app: App) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL", reranker_enabled=True, reranker_top_n=1, eval_max_queries=6)
    assert {"generation_recall", "generation_hit"} <= set(result.metrics)
    assert result.scored["generation_recall"] == (6, 6)
    assert result.reranker_rescue_count == 0
    for row in result.per_query:
        assert row.generation_doc_ids is not None
        assert len(row.generation_doc_ids) == 1, "RERANKER_TOP_N, which is not KB_TOP_K"
        found = set(row.gold) & set(row.generation_doc_ids)
        assert row.metrics["generation_recall"] == len(found) / len(row.gold)
        assert row.metrics["generation_hit"] == float(bool(found))
    assert 0.0 < (result.metrics["generation_recall"] or 0.0) < 1.0
