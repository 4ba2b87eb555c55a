"""Runs on a Ray cluster of two real nodes on this machine, beside runs of the local engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.retrieval.indexes.enrichment import ContextCache
from chatbot_mvp.runs.records import RunFolder, run_folders
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.storage.jsonl import read_lines
from tests.evaluation.benchmark.judge_stub import OTHER, ModelStub
from tests.evaluation.benchmark.test_durability import priced
from tests.raising import raises
from tests.waiting import wait_until
from tests.wings.ray.kills import kill_runs
from tests.wings.ray.limit import measure
from tests.wings.ray.nodes import RayNodes

pytestmark = [
    # Not imported here: Ray reads the token of the cluster when it is imported.
    pytest.mark.skipif(find_spec("ray") is None, reason='needs pip install "chatbot-mvp[ray]"'),
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("ray"),
]


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    """Two nodes of two CPUs each, so that a run has four workers."""
    with RayNodes(2, cpus=2) as started, pytest.MonkeyPatch.context() as patch:
        for name, value in started.environment.items():
            patch.setenv(name, value)
        yield started


def asking(settings: Settings, stub: ModelStub, **changes: Any) -> Settings:
    return settings.with_changes(
        provider="openai",
        openai_base_url=stub.base_url,
        openai_api_key="stub-key-of-nobody",
        openai_model_name="stub",
        generation_enabled=True,
        llm_cache_enabled=False,
        **changes,
    )


def lines_of(settings: Settings, run_id: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Phase and query -> its only line of the records, without times."""
    rows, damaged = read_lines(settings.results_dir / run_id / "records.jsonl")
    found = {}
    for row in rows:
        row["payload"].pop("seconds", None)
        row.pop("run_id")
        assert (row["phase"], row["query_id"]) not in found
        found[row["phase"], row["query_id"]] = row
    assert damaged == 0
    return found


def run_on(settings: Settings, engine: str, address: str = "") -> RunResult:
    return build_app(settings.with_changes(eval_engine=engine, ray_address=address)).runs.run_now()


def test_both_engines_give_equal_ids_scores_answers_judgements_and_metrics(settings: Settings, nodes: RayNodes) -> None:
    with ModelStub() as stub:
        of_run = asking(settings, stub)
        local = run_on(of_run, "local")
        asked = dict(stub.answered)
        stub.reset()
        for path in settings.cache_dir.glob("*.sqlite*"):
            path.unlink()  # the workers embed again
        on_ray = run_on(of_run, "ray", nodes.address)
        assert dict(stub.answered) == asked
    assert on_ray.metrics == pytest.approx(local.metrics, rel=0, abs=1e-12)
    assert on_ray.per_query == local.per_query
    assert lines_of(settings, on_ray.run_id) == lines_of(settings, local.run_id)
    assert on_ray.usage is not None
    assert local.usage is not None
    assert on_ray.usage.calls == local.usage.calls
    assert not (settings.results_dir / on_ray.run_id / "parts").exists()


def enriched(asking_stub: Settings, **changes: Any) -> Settings:
    """40 documents, each with a context and 3 questions; no answers."""
    own = {"retrieval_strategy": "CONTEXTUAL_HYBRID", "retrieval_context_questions": 3, "eval_max_corpus": 40}
    return asking_stub.with_changes(**{**own, "generation_enabled": False, **changes})


def test_workers_write_contexts_and_questions_of_documents_and_the_run_equals_one_of_the_local_engine(
    settings: Settings, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelStub() as stub:
        of_run = enriched(asking(settings, stub))
        local = run_on(of_run, "local")
        asked = dict(stub.answered)
        assert stub.asked(OTHER) == 80
        stub.reset()
        for path in settings.cache_dir.glob("*.sqlite*"):
            path.unlink()

        def refuse(*_: object) -> None:
            raise AssertionError("the run's own process sends no prompt")

        monkeypatch.setattr(ContextCache, "_asked", refuse)
        on_ray = run_on(of_run, "ray", nodes.address)
        assert dict(stub.answered) == asked
    assert on_ray.metrics == pytest.approx(local.metrics, rel=0, abs=1e-12)
    assert lines_of(settings, on_ray.run_id) == lines_of(settings, local.run_id)
    assert on_ray.passage_questions == local.passage_questions
    assert on_ray.usage is not None
    assert local.usage is not None
    assert on_ray.usage.calls == local.usage.calls == 80


def test_contexts_written_by_workers_keep_the_budget(settings: Settings, nodes: RayNodes) -> None:
    with ModelStub() as stub:
        of_run = priced(enriched(asking(settings, stub), retrieval_context_questions=0, eval_max_corpus=0))
        app = build_app(of_run.with_changes(eval_engine="ray", ray_address=nodes.address))
        with raises("run_over_budget") as raised:
            app.runs.run_now(budget_usd=4.0)
        assert 1.0 < float(raised.value.params["spent"]) <= 4.0
        assert 0 < stub.asked(OTHER) < 80


def test_four_workers_keep_a_configured_limit_of_forty_requests_a_second_and_use_most_of_it(
    tmp_path: Path,
) -> None:
    limited = measure(tmp_path, 40, configured=True, queries=200)
    print(limited)
    assert limited.share >= 0.8
    assert limited.most <= 40, "in any sliding window of one second"
    # Where processes wait for a core, five requests that start apart may arrive together, and the provider takes four.
    if limited.load <= (os.cpu_count() or 1):
        assert limited.refused == 0


def test_a_killed_node_and_a_killed_driver_lose_and_double_nothing(
    tmp_path: Path,
) -> None:
    report = kill_runs(tmp_path, kills=2, seed=3)
    assert report.differences == []
    assert (report.survived, report.runs, report.parts_left) == (2, 2, 0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 130)], ids=["killed", "stopped"])
def test_a_run_begun_on_the_cluster_is_finished_by_the_local_engine(
    settings: Settings, nodes: RayNodes, number: signal.Signals, code: int
) -> None:
    with ModelStub(latency=0.3) as stub:
        environment = {**os.environ, **stub.environment, "DATA_DIR": str(settings.data_dir)}
        environment |= {"EVAL_ENGINE": "ray", "RAY_ADDRESS": nodes.address, "RETRIEVAL_STRATEGY": "LEXICAL"}
        command = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--json"]
        environment |= {"NIM_MAX_CONCURRENT_REQUESTS": "2", "PYTHONPATH": str(PROJECT_ROOT)}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while stub.asked("generate") < 10:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(60) == code
        of_run = asking(settings, stub, retrieval_strategy="LEXICAL")
        [begun] = run_folders(settings.results_dir)
        before = {key for key, record in begun.all_records()[0]["generate"].items() if record.status == "ok"}
        assert before
        stub.latency = 0
        result = build_app(of_run).runs.resume_now(begun.run_id)
        # Two requests were on their way to the provider when the driver died.
        assert sum(count > 1 for count in stub.answered.values()) <= 2
    assert len(lines_of(settings, begun.run_id)) == sum(
        map(len, RunFolder(settings.results_dir, begun.run_id).all_records()[0].values())
    )
    assert result.scored


def test_a_run_of_the_pages_stops_and_goes_on_on_the_cluster(settings: Settings, nodes: RayNodes) -> None:
    with ModelStub(latency=0.2) as stub:
        of_run = asking(settings, stub, retrieval_strategy="LEXICAL", nim_max_concurrent_requests=2)
        app = build_app(of_run.with_changes(eval_engine="ray", ray_address=nodes.address))
        run_id = app.runs.start_run()
        wait_until(lambda: stub.asked("generate") > 10, 120)
        app.runs.stop_run(run_id)
        wait_until(lambda: RunFolder(settings.results_dir, run_id).state() == "unfinished", 60)
        begun = set(RunFolder(settings.results_dir, run_id).all_records()[0]["generate"])
        stub.latency = 0.0
        result = app.runs.resume_now(run_id)
    assert begun
    assert result.scored
    assert len(lines_of(settings, run_id)) == len(set(lines_of(settings, run_id)))


def test_doctor_names_version_nodes_and_workers_and_what_a_wrong_address_is(
    settings: Settings, nodes: RayNodes
) -> None:
    there = settings.with_changes(eval_engine="ray", ray_address=nodes.address)
    [check] = [check for check in build_app(there).parts.check() if check.name == "engine"]
    assert check.ok
    assert check.detail.endswith(f"at {nodes.address}: 2 nodes, 4 workers")
    away = settings.with_changes(eval_engine="ray", ray_address="127.0.0.1:1")
    [check] = [check for check in build_app(away).parts.check() if check.name == "engine"]
    assert not check.ok
    assert "127.0.0.1:1" in check.detail


def test_something_else_behind_the_address_is_refused_as_such(settings: Settings) -> None:
    with ModelStub() as stub, raises("ray_unreachable", match="RAY_ADDRESS"):
        run_on(settings, "ray", stub.url.removeprefix("http://"))


def test_another_version_of_ray_on_the_cluster_is_named(
    settings: Settings, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ray.__version__", "2.0.0")
    with raises("ray_version_mismatch", match=r"2\.0\.0.*all nodes"):
        run_on(settings, "ray", nodes.address)


def test_another_version_of_the_project_on_a_node_ends_the_run_with_the_difference(
    settings: Settings, nodes: RayNodes
) -> None:
    command = [sys.executable, "-c", _OTHER_VERSION, str(settings.data_dir), nodes.address]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == ["run_mismatch", True]


_OTHER_VERSION = """
import json, sys
from pathlib import Path
from chatbot_mvp.evaluation.benchmark import preparation
preparation.__version__ = "0.0.1"
from chatbot_mvp.app import build_app
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.model import load_settings
settings = load_settings(data_dir=Path(sys.argv[1]), eval_engine="ray", ray_address=sys.argv[2],
                         generation_enabled=False, retrieval_strategy="LEXICAL")
try:
    build_app(settings).runs.run_now()
except ChatbotError as error:
    print(json.dumps([error.code, "code_version was '0.0.1'" in str(error)]))
"""


def test_stdout_of_json_is_the_object_alone_after_a_node_died_and_doctor_counts_the_living(
    settings: Settings,
) -> None:
    with RayNodes(2, cpus=1) as cluster, ModelStub(latency=0.3) as stub:
        environment = {**os.environ, **cluster.environment, **stub.environment, "DATA_DIR": str(settings.data_dir)}
        environment |= {"EVAL_ENGINE": "ray", "RAY_ADDRESS": cluster.address, "RETRIEVAL_STRATEGY": "LEXICAL"}
        command = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--json"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while stub.asked("generate") < 10:
                assert process.poll() is None
                time.sleep(0.05)
            cluster.kill_last()
            printed, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        assert json.loads(printed)["run_id"]
        command = [sys.executable, "-m", "chatbot_mvp.cli", "doctor", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert "1 nodes, 1 workers" in json.dumps(json.loads(done.stdout))
