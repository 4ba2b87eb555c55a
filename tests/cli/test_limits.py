"""``benchmark run --fail-under``, ``benchmark compare --max-drop`` and ``benchmark history``, over real runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command


@pytest.fixture
def lexical(command: Command, clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line with runs that load no model."""
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    monkeypatch.setenv("GENERATION_ENABLED", "false")
    return command


def as_json(text: str) -> dict[str, Any]:
    [line] = text.splitlines()
    value: dict[str, Any] = json.loads(line)
    return value


def test_a_run_has_the_exit_code_of_its_required_levels(lexical: Command) -> None:
    """recall@5 of the sample is 0.8250 [0.7600, 0.8805]."""
    run = ("benchmark", "run", "--fail-under")
    code, out, _ = lexical(*run, "recall@5=.8", "--json")
    assert (code, as_json(out)["queries"]) == (0, 40)
    code, _, err = lexical(*run, "recall@5=.85")
    assert code == 4
    assert "recall@5: 0.8250 [0.7600, 0.8805], required 0.85: cannot tell" in err
    assert lexical(*run, "recall@5=.8", "--fail-under", "recall@5=.99")[0] == 3
    assert lexical(*run, "recall@5")[0] == 2
    assert lexical(*run, "nonsense=1")[0] == 2
    assert lexical(*run, "recall@5=nan")[0] == 2


def test_a_comparison_has_the_exit_code_of_its_drop(lexical: Command) -> None:
    ids = []
    for strategy in ("LEXICAL", "LEXICAL", "BRIDGE"):
        code, out, _ = lexical("benchmark", "run", "--strategy", strategy, "--json")
        ids.append(as_json(out)["run_id"])
    first, same, better = ids
    compare = ("benchmark", "compare")
    assert lexical(*compare, first, same, "--max-drop", "0.02")[0] == 0
    code, out, err = lexical(*compare, better, first, "--max-drop", "0.02", "--json")
    [drop] = as_json(out)["drops"]
    mean = drop["metrics"][0]["test"]["mean"]
    assert (code, drop["exit_code"], drop["metrics"][0]["metric"]) == (3, 3, "recall@5")
    assert mean < -0.02
    assert "WORSE" in err
    assert lexical(*compare, better, first)[0] == 0
    assert lexical(*compare, first, same, "--fail-under", "recall@5=.99")[0] == 3


def test_the_history_names_the_first_run_that_fell_out_of_the_band(lexical: Command) -> None:
    ids = []
    for strategy in ("BRIDGE", "BRIDGE", "LEXICAL"):
        ids.append(as_json(lexical("benchmark", "run", "--strategy", strategy, "--json")[1])["run_id"])
    code, out, _ = lexical("benchmark", "history", "--metric", "recall@5", "--json")
    history = as_json(out)
    assert (code, history["dataset"], history["first_outside"]) == (0, "valle_multihop", ids[2])
    assert [point["configuration_changed"] for point in history["points"]] == [False, False, True]
    code, out, _ = lexical("benchmark", "history", "valle_multihop")
    assert out.splitlines()[-1].startswith("first run out of the band [")
    assert ids[2] in out.splitlines()[-1]
    code, out, _ = lexical("benchmark", "history", "nowhere", "--json")
    assert code == 2
    assert "valle_multihop" in as_json(out)["error"]["message"]
