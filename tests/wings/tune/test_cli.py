"""``tune`` at the command line: plan, run, resume, list, show, apply and undo, and its errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.conftest import Command
from tests.waiting import wait_until

SPACE = 'retrieval_strategy = ["BRIDGE"]\nretrieval_pre_fusion_k = [2, 150]\n'


@pytest.fixture
def poor(command: Command, clean_env: Path) -> Command:
    """The command line with settings under which others are better: two candidates per question."""
    (clean_env / "space.toml").write_text(SPACE)
    saved = clean_env.parent / "data" / "app_settings.json"
    saved.parent.mkdir()
    saved.write_text(
        '{"format_version": 1, "settings": {"retrieval_strategy": "LEXICAL", "retrieval_pre_fusion_k": 1}}'
    )
    return command


def only_json(text: str) -> dict[str, Any]:
    [line] = text.splitlines()
    value: dict[str, Any] = json.loads(line)
    return value


def test_a_tune_from_plan_to_undo(poor: Command, clean_env: Path) -> None:
    saved = clean_env.parent / "data" / "app_settings.json"
    before = json.loads(saved.read_text())["settings"]
    arguments = ("tune", "valle_multihop", "--space", "space.toml")
    code, out, _ = poor(*arguments, "--plan", "--pilot", "2")
    assert code == 0
    assert "20 to search with, 20 to confirm with" in out
    assert "measured by a pilot" in out
    assert "Nothing was started." in out
    assert only_json(poor("tune", "list", "--json")[1]) == {"tunes": []}

    code, out, err = poor(*arguments, "--json")
    result = only_json(out)
    assert (code, result["verdict"], result["metric"]) == (0, "better", "recall@5"), err
    tune_id = result["tune_id"]
    [listed] = only_json(poor("tune", "list", "--json")[1])["tunes"]
    assert (listed["tune_id"], listed["state"], listed["applied"]) == (tune_id, "finished", False)
    shown = poor("tune", "show", tune_id)[1]
    assert "BETTER" in shown
    assert f"chatbot-mvp tune apply {tune_id}" in shown

    applied = only_json(poor("tune", "apply", tune_id, "--json")[1])
    assert applied["config_id"] == result["winner"]["config_id"]
    assert json.loads(saved.read_text())["settings"] != before
    assert "applied" in poor("tune", "list")[1]
    code, out, _ = poor("tune", "undo")
    assert (code, out.splitlines()[0]) == (0, f"undone: {tune_id}")
    assert json.loads(saved.read_text())["settings"] == before
    assert poor("tune", "undo", "--json")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("tune", "nowhere"), "dataset_not_found"),
        (("tune", "nothing", "--questions", "none.jsonl"), "kb_not_found"),
        (("tune", "valle_multihop", "--space", "missing.toml"), "tune_space_unreadable"),
        (("tune", "valle_multihop", "--with-model"), "tune_needs_budget"),
        (("tune", "valle_multihop", "--with-model", "--budget", "1"), "tune_needs_model"),
        (("tune", "valle_multihop", "--metric", "beauty"), "tune_option_invalid"),
        (("tune", "--resume"), "tune_not_found"),
        (("tune", "show", "nothing"), "tune_not_found"),
        (("tune", "apply", "nothing"), "tune_not_found"),
        (("tune", "undo"), "tune_nothing_to_undo"),
    ],
)
def test_errors_end_with_2_and_say_what_to_do(command: Command, arguments: tuple[str, ...], code: str) -> None:
    exit_code, out, _ = command(*arguments, "--json")
    error = only_json(out)["error"]
    assert (exit_code, error["code"]) == (2, code)
    assert error["hint"]


@pytest.mark.slow
def test_a_killed_tune_continues_to_the_result_of_an_undisturbed_one(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text(SPACE.replace("[2, 150]", "[2, 20, 50, 100, 150, 200, 250]"))
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "SSL_CERT_FILE")}
    environment |= {"PYTHONPATH": str(PROJECT_ROOT), "RETRIEVAL_PRE_FUSION_K": "1", "RETRIEVAL_STRATEGY": "LEXICAL"}

    def begin(data: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "chatbot_mvp.cli", "tune", *arguments, "--json"],
            cwd=tmp_path,
            env={**environment, "DATA_DIR": str(tmp_path / data)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    run = ("valle_multihop", "--space", "space.toml")
    undisturbed = json.loads(begin("one", *run).communicate(timeout=300)[0])
    killed = begin("two", *run)
    wait_until(lambda: len(list((tmp_path / "two").glob("tunes/*/trials/*/records.jsonl"))) >= 2, every_s=0.001)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    assert not list((tmp_path / "two").glob("tunes/*/result.json"))
    resumed = json.loads(begin("two", "--resume").communicate(timeout=300)[0])
    for key in ("verdict", "winner", "runner_up", "against_today", "rounds"):
        assert resumed[key] == undisturbed[key]
