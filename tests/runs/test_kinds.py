"""A kind of run is a row: one that a package adds is resumed and printed; one that is gone is listed and shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.runs.kinds import RUN_KINDS, run_kind
from chatbot_mvp.runs.line import append_submission
from chatbot_mvp.runs.lists import kind_of, leaderboard, listed_kinds, main_metric, run_groups
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import result_json
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.files import write_json
from tests.conftest import Command
from tests.fakes import fake_app
from tests.made_results import made_line, made_result

STRANGER = """
from chatbot_mvp.runs.kinds import RunKind


def resume(app, run_id, progress, retry_failed, budget_usd):
    raise SystemExit(f"resumes {run_id} retry={retry_failed} budget={budget_usd} in {app.settings.results_dir.name}")


def prints(result, as_json):
    print(f"{result.run_id} scored {result.metrics}")


def phases(manifest):
    return ["read"]


KIND = RunKind(
    "reading",
    phases=phases,
    resume="stranger:resume",
    prints="stranger:prints",
    main_metrics={"reading": ("understood",)},
)
"""


def plant(folder: RunFolder, kind: str, finished: bool = True) -> None:
    """Write a run of two queries, one of which has its record of the phase "read"."""
    given = (folder.run_id, "d", "d", "1", "S", {}, "f", "1", 2, 0, "2026-01-01")
    folder.create(RunManifest(*given, kind=kind))
    folder.append_records([QueryRecord(folder.run_id, "q1", "read", "ok", {})])
    if finished:
        row = {"query_id": "q1", "question": "?", "metrics": {"understood": 0.5}}
        values = {
            "run_id": folder.run_id,
            "kind": kind,
            "metrics": {"understood": 0.5},
            "scored": {"understood": [1, 1]},
        }
        made = result_json(made_result(**values, queries=1, per_query=[row]))
        write_json(folder.result_path, made)
        append_submission(folder.path.parents[1] / "submissions.jsonl", made_result(**values))


@pytest.fixture
def app(settings: Settings) -> App:
    plant(RunFolder(settings.results_dir, "ended"), "gone")
    plant(RunFolder(settings.results_dir, "begun"), "gone", finished=False)
    return fake_app(settings)


def test_the_programs_own_kinds_are_rows() -> None:
    assert list(RUN_KINDS)[:2] == ["benchmark", "kb"]
    assert list(listed_kinds())[:3] == ["retrieval", "answers", "kb"]


def test_a_run_whose_kind_is_not_installed_is_listed_ranked_and_read(app: App) -> None:
    [line] = app.archive.runs()[0]
    assert (kind_of(line), main_metric(line)) == ("gone", "understood")
    [field] = run_groups([line])
    assert (field.kind, leaderboard(field, "understood")[0].value) == ("gone", 0.5)
    assert app.archive.run("ended").metrics == {"understood": 0.5}
    assert app.archive.unfinished() == []
    assert app.runs.so_far("begun") == {}


@pytest.mark.parametrize("retry", [False, True])
def test_a_run_whose_kind_is_not_installed_is_not_resumed_and_the_legal_kinds_are_told(app: App, retry: bool) -> None:
    with pytest.raises(UnknownChoice, match=r"'gone'.*benchmark, kb"):
        app.runs.resume_now("begun", retry_failed=retry)


def test_what_does_not_retrieve_cannot_be_exported_as_a_ranking(app: App) -> None:
    with pytest.raises(UnknownChoice, match=r"'gone'"):
        app.archive.export("ended", "trec")


def test_a_run_whose_kind_is_not_installed_is_printed(command: Command, app: App, tmp_path: Path) -> None:
    code, out, _ = command("benchmark", "show", "ended", "--json")
    assert (code, json.loads(out)["metrics"]) == (0, {"understood": 0.5})


def test_a_kind_that_retrieves_is_the_same_data_by_its_name_only_if_it_says_so() -> None:
    one, other = (made_line(kind=kind, dataset="a", dataset_sha256="1") for kind in ("kb", "kb"))
    assert len(run_groups([one, other, made_line(kind="kb", dataset="b", dataset_sha256="1")])) == 1
    assert not run_kind("benchmark").same_data_by_content


@pytest.mark.slow
def test_a_package_adds_a_kind_that_is_counted_printed_and_resumed(settings: Settings, tmp_path: Path) -> None:
    site = tmp_path / "site"
    about = site / "stranger-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "stranger.py").write_text(STRANGER, "utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n", "utf-8")
    (about / "entry_points.txt").write_text("[chatbot_mvp.v1.run_kind]\nreading = stranger:KIND\n", "utf-8")
    plant(RunFolder(settings.results_dir, "ended"), "reading")
    plant(RunFolder(settings.results_dir, "begun"), "reading", finished=False)
    environment = {**os.environ, "PYTHONPATH": str(site), "DATA_DIR": str(settings.data_dir)}

    def said(*arguments: str) -> str:
        asked = [sys.executable, "-m", "chatbot_mvp.cli", *arguments]
        done = subprocess.run(asked, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "ok  run_kind reading (stranger 1.0): stranger:KIND" in said("plugins")
    assert "ended scored {'understood': 0.5}" in said("benchmark", "show", "ended")
    listed = said("benchmark", "list")
    assert "ended  LEXICAL  queries=0  understood=0.5000" in listed
    assert "begun  unfinished: 1/2" in listed
    assert "resumes begun retry=False budget=2.0 in results" in said("benchmark", "resume", "begun", "--budget", "2")
    assert "resumes begun retry=True" in said("benchmark", "retry", "begun")
