"""``benchmark run --dry-run --pilot`` and ``benchmark import`` at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.llm.openai_stub import OpenAiStub

RUN = ("benchmark", "run", "--strategy", "LEXICAL")


def one_object(text: str) -> dict[str, Any]:
    [line] = text.splitlines()
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


def test_a_dry_run_has_an_estimate_and_a_pilot_replaces_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with OpenAiStub() as stub:
        for name, value in (("PROVIDER", "openai"), ("OPENAI_API_KEY", "sk-secret"), ("OPENAI_BASE_URL", stub.url)):
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
        code, out, _ = command(*RUN, "--dry-run", "--json")
        estimate = one_object(out)["estimate"]
        assert (code, estimate["basis"], estimate["total"]["calls"]["expected"], stub.calls) == (0, "lengths", 120, 0)
        assert not (tmp_path / "data").exists()
        code, out, err = command(*RUN, "--dry-run", "--pilot", "2", "--json")
        estimate = one_object(out)["estimate"]
        assert (code, estimate["basis"], estimate["pilot"]["queries"], stub.calls) == (0, "pilot", 2, 6)
        assert "generate: " in err
        _, out, _ = command(*RUN, "--dry-run", "--pilot", "2")
        assert "by a pilot of 2 of 40 queries" in out
        assert "Only the pilot was run." in out
        code, _, err = command(*RUN, "--dry-run", "--pilot", "3", "--budget", "0.00001")
        assert (code, "it would cost more than 1e-05 USD" in err) == (1, True)
    assert one_object(command("benchmark", "list", "--json")[1])["runs"] == []
    assert not (tmp_path / "data" / "results").exists()


def test_a_pilot_without_a_dry_run_is_bad_usage(command: Command) -> None:
    code, out, err = command(*RUN, "--pilot", "2")
    assert (code, out) == (2, "")
    assert "--dry-run" in err


def test_a_retrieval_only_dry_run_has_no_estimate(command: Command) -> None:
    plan = one_object(command(*RUN, "--no-generation", "--dry-run", "--json")[1])
    assert plan["estimate"] is None
    assert "estimate" not in command(*RUN, "--no-generation", "--dry-run")[1]


@pytest.mark.slow
def test_a_run_goes_to_another_data_folder_and_is_the_same_there(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = one_object(command(*RUN, "--max-queries", "5", "--json")[1])
    run_id = shown["run_id"]
    other = one_object(command("benchmark", "run", "--strategy", "BRIDGE", "--max-queries", "5", "--json")[1])["run_id"]
    compared = command("benchmark", "compare", run_id, other, "--json")[1]
    for each in (run_id, other):
        command("benchmark", "export", each, "--format", "zip", "--output", str(tmp_path / "out"))
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "elsewhere"))
    for each in (run_id, other):
        code, out, _ = command("benchmark", "import", str(tmp_path / "out" / f"{each}.zip"), "--json")
        kind = {"run_id": each, "kind": "bundle", "queries": 5, "without_ranking": 0, "left_out": 0}
        assert (code, one_object(out)) == (0, kind)
    assert one_object(command("benchmark", "show", run_id, "--json")[1]) == shown
    assert command("benchmark", "compare", run_id, other, "--json")[1] == compared
    listed = one_object(command("benchmark", "list", "--json")[1])["runs"]
    assert {row["run_id"] for row in listed} == {run_id, other}
    code, out, err = command("benchmark", "import", str(tmp_path / "out" / f"{run_id}.zip"))
    assert (code, out) == (2, "")
    assert "already exists here" in err


def test_a_trec_run_is_imported_with_what_it_lacks_told(command: Command, tmp_path: Path) -> None:
    run_id = one_object(command(*RUN, "--no-generation", "--json")[1])["run_id"]
    command("benchmark", "export", run_id, "--format", "trec", "--output", str(tmp_path))
    path = tmp_path / f"{run_id}.run"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.split()[0] != lines[0].split()[0]), "utf-8")
    code, out, err = command("benchmark", "import", str(path), "--dataset", "valle_multihop", "--name", "theirs")
    assert code == 0
    assert "theirs  (40 queries)" in out
    assert "1 queries have no line" in err
    imported = out.split()[0]
    code, out, _ = command("benchmark", "compare", run_id, imported)
    assert (code, "configuration" in out) == (0, True)
