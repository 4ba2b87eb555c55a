"""``chatbot-mvp ragas``: a file alone is enough; one object with ``--json``; exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.wings.ragas.rows import to_json_lines
from tests.conftest import Command
from tests.wings.ragas.conftest import given
from tests.wings.ragas.judging.judge_stub import JudgeStub

METRIC = ("--metric", "lexical_faithfulness")


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.jsonl"
    path.write_bytes(to_json_lines(given(count=4)))
    return str(path)


def test_a_file_alone_is_enough(command: Command, tmp_path: Path) -> None:
    """The demo provider: no judge, so what needs none; without columns for vectors none are computed."""
    path = tmp_path / "data.jsonl"
    rows = [{name: row[name] for name in ("response", "retrieved_contexts")} for row in given(count=4)]
    path.write_bytes(to_json_lines(rows))
    code, out, _ = command("ragas", "run", str(path))
    assert code == 0
    assert "judge: none" in out
    assert "lexical_faithfulness" in out
    assert "(4/4)" in out
    assert len(list((tmp_path / "data" / "results").glob("*/*_scores.csv"))) == 1


def test_with_json_stdout_is_one_object_that_resume_and_show_give_too(command: Command, data: str) -> None:
    code, out, _ = command("ragas", "run", data, *METRIC, "--json")
    result = json.loads(out)
    assert (code, len(out.splitlines())) == (0, 1)
    assert result["scored"] == {"lexical_faithfulness": [4, 4]}
    assert {"run_id", "dataset", "fingerprint", "queries", "metrics", "seconds", "judge", "usage"} <= result.keys()
    assert json.loads(command("benchmark", "show", result["run_id"], "--json")[1]) == result
    assert "lexical_faithfulness" in command("benchmark", "show", result["run_id"])[1]
    assert f"{result['run_id']}  RAGAS  queries=4  lexical_faithfulness=" in command("benchmark", "list")[1]


def test_agreement_of_the_bundled_rows_is_printed(command: Command) -> None:
    code, out, _ = command("ragas", "agreement")
    assert code == 0
    assert "lexical_faithfulness against people (68/70 rows)" in out
    assert "accuracy 0.79 [0.69, 0.8" in out
    assert "Cohen's kappa 0.59" in out


def test_bad_usage_is_2_and_leaves_nothing(command: Command, data: str, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("repeats: many", "utf-8")
    for arguments, told in (
        (["absent.jsonl"], "there is no file"),
        ([data, "--metric", "faithful"], "there is no metric 'faithful'"),
        ([data, "--metric", "Faithfulness"], "demo"),
        ([data, "--language", "fr"], "en, es"),
        ([data, "--config", str(config)], "repeats"),
        ([data, "--config", str(tmp_path / "none.yaml")], "cannot be read"),
    ):
        code, out, err = command("ragas", "run", *arguments)
        assert (code, out) == (2, ""), arguments
        assert told in " ".join(err.split()), err
    assert not (tmp_path / "data" / "results").exists()


def test_the_judge_of_a_file_is_asked(
    command: Command, data: str, tmp_path: Path, stub: JudgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    config = tmp_path / "config.yaml"
    config.write_text(
        f"judge: {{provider: openai, model: mine, base_url: {stub.url}}}\nmetrics: [LLMContextRecall]\nrepeats: 2\n",
        "utf-8",
    )
    code, out, _ = command("ragas", "run", data, "--config", str(config), "--json")
    result = json.loads(out)
    assert (code, result["judge"], result["repeats"], result["usage"]["calls"]) == (0, "openai/mine", 2, 8)
    assert {request.json["model"] for request in stub.requests} == {"mine"}
    code, out, _ = command("ragas", "run", data, "--config", str(config), "--repeats", "1")
    assert "judge: openai/mine" in out
