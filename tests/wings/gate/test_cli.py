"""``gate`` at the command line, over real runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.wings.gate.pytest_plugin import check_not_worse
from tests.conftest import Command

KB = PROJECT_ROOT / "data" / "samples" / "kb" / "politica_empresa.md"
QUESTIONS = KB.with_name("preguntas.jsonl")
SAVE = ("gate", "--save-baseline", "baseline.json")
CHECK = ("gate", "--baseline", "baseline.json")


@pytest.fixture
def saved(command: Command, clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line after a baseline of the sample was saved, with copies of its files in the working folder."""
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    monkeypatch.setenv("GENERATION_ENABLED", "false")
    (clean_env / "kb.md").write_bytes(KB.read_bytes())
    (clean_env / "questions.jsonl").write_bytes(QUESTIONS.read_bytes())
    arguments = ("--kb", "kb.md", "--questions", "questions.jsonl", "--metric", "useful", "--commit", "abc123")
    code, out, err = command(*SAVE, *arguments)
    assert code == 0, err
    assert "tested by default: useful" in out
    return command


def as_json(text: str) -> dict[str, Any]:
    [line] = text.splitlines()
    value: dict[str, Any] = json.loads(line)
    return value


def test_a_commit_without_effect_passes_and_the_baseline_alone_says_what_to_measure(saved: Command) -> None:
    code, out, _ = saved(*CHECK, "--json")
    report = as_json(out)
    assert (code, report["verdict"], report["questions"], report["commit"]) == (0, "not_worse", 30, "abc123")
    [metric] = report["metrics"]
    assert (metric["metric"], metric["test"]["mean"], metric["worsened"]) == ("useful", 0.0, [])


def test_a_clear_regression_fails_with_3_and_a_small_one_cannot_be_told_with_4(
    saved: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one passage instead of several, 3 of 20 questions fall. Against full marks, 7 do."""
    monkeypatch.setenv("KB_TOP_K", "1")
    code, out, _ = saved(*CHECK, "--report", "junit")
    assert code == 4
    case = ElementTree.fromstring(out).find("testsuite/testcase")
    assert case is not None
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("type") == "unclear"
    assert "questions would show that nothing got worse" in str(failure.text)
    baseline = json.loads(Path("baseline.json").read_text("utf-8"))
    for one in baseline["measured"]["questions"].values():
        one["scores"] = dict.fromkeys(one["scores"], 1.0)
    Path("better.json").write_text(json.dumps(baseline), "utf-8")
    code, out, _ = saved("gate", "--baseline", "better.json", "--report", "markdown", "--output", "r/report.md")
    assert (code, out) == (3, "Gate: WORSE than the baseline better.json\n")
    assert "| useful | 1.0000 |" in Path("r/report.md").read_text("utf-8")


def test_an_existing_run_is_gated_without_running_anything(saved: Command) -> None:
    run_id = as_json(saved("benchmark", "list", "--json")[1])["runs"][0]["run_id"]
    code, out, _ = saved(*CHECK, "--run", run_id, "--json")
    assert (code, as_json(out)["runs"]) == (0, [run_id])
    assert len(as_json(saved("benchmark", "list", "--json")[1])["runs"]) == 1


@pytest.mark.slow
def test_repeats_are_runs_of_their_own_and_each_question_has_their_mean(saved: Command) -> None:
    code, out, _ = saved(*CHECK, "--repeats", "3", "--json")
    assert (code, len(set(as_json(out)["runs"]))) == (0, 3)
    assert as_json(out)["metrics"][0]["test"]["noise"] == 0.0


def test_an_evaluation_of_answers_with_repeats_is_gated_by_its_runs(saved: Command) -> None:
    answers = str(PROJECT_ROOT / "data" / "samples" / "ragas_es.jsonl")
    score = ("ragas", "run", answers, "--metric", "lexical_faithfulness", "--repeats", "2", "--json")
    before, today = (as_json(saved(*score)[1])["run_id"] for _ in range(2))
    code, out, err = saved("gate", "--save-baseline", "answers.json", "--run", before)
    assert (code, "tested by default: lexical_faithfulness" in out) == (0, True), err
    code, out, _ = saved("gate", "--baseline", "answers.json", "--run", today, "--json")
    assert (code, as_json(out)["verdict"]) == (0, "not_worse")
    noise = [
        one["noise"] for one in json.loads(Path("answers.json").read_text("utf-8"))["measured"]["questions"].values()
    ]
    assert {"lexical_faithfulness": 0.0} in noise


def test_the_power_is_printed_without_running_anything(saved: Command) -> None:
    code, out, _ = saved(*CHECK, "--power")
    assert code == 0
    assert "useful, 20 questions" in out
    assert len(as_json(saved("benchmark", "list", "--json")[1])["runs"]) == 1


@pytest.mark.slow
def test_a_changed_question_is_refused_by_its_id_and_left_out_if_asked(saved: Command) -> None:
    lines = Path("questions.jsonl").read_text("utf-8").splitlines()
    first = json.loads(lines[0])
    first["question"] += " (sic)"
    new = json.dumps({"id": "new-1", "question": "¿Quién?", "kind": "far"})
    Path("questions.jsonl").write_text("\n".join([json.dumps(first), *lines[1:-1], new]), "utf-8")
    code, out, _ = saved(*CHECK, "--json")
    message = as_json(out)["error"]["message"]
    assert (code, as_json(out)["error"]["code"]) == (2, "baseline_questions_differ")
    gone = json.loads(lines[-1])["id"]
    assert f"1 only in the baseline ('{gone}')" in message
    assert "1 only today ('new-1')" in message
    assert f"1 with another text or reference ('{first['id']}')" in message
    code, out, _ = saved(*CHECK, "--common-only", "--json")
    assert (code, as_json(out)["questions"], as_json(out)["left_out"]) == (0, 28, 3)


def test_a_changed_text_is_refused_and_accepted_if_asked(saved: Command) -> None:
    Path("kb.md").write_text(KB.read_text("utf-8") + "\n## Otra\n\nUn párrafo que no estaba.\n", "utf-8")
    code, out, _ = saved(*CHECK, "--json")
    assert (code, as_json(out)["error"]["code"]) == (2, "baseline_content_differs")
    assert "the text of the knowledge base changed" in as_json(out)["error"]["message"]
    assert saved(*CHECK, "--common-only")[0] in (0, 4)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Invalid JSON"),
        ("{}", "Field required"),
        ('{"format_version": 99}', "format_version is 99; this version reads up to 1"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(command: Command, content: str, reason: str) -> None:
    Path("baseline.json").write_text(content, "utf-8")
    code, out, _ = command(*CHECK, "--json")
    assert (code, as_json(out)["error"]["code"]) == (2, "baseline_unreadable")
    assert reason in as_json(out)["error"]["message"]


def test_bad_usage_is_2(saved: Command) -> None:
    assert saved("gate")[0] == 2
    assert saved(*CHECK, "--report", "pdf")[0] == 2
    assert saved(*CHECK, "--metric", "nonsense")[0] == 2
    assert saved(*CHECK, "--tolerance", "nan")[0] == 2
    code, out, _ = saved(*SAVE, "--json")
    assert (code, as_json(out)["error"]["code"]) == (2, "gate_source_missing")


@pytest.mark.slow
def test_the_assertion_for_pytest_fails_with_the_questions_that_fell(
    saved: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("kb.md", "questions.jsonl", "baseline.json")
    assert check_not_worse(*given).verdict == "not_worse"
    monkeypatch.setenv("KB_TOP_K", "1")
    with pytest.raises(AssertionError, match=r"cannot tell[^$]*fell \(3\)[^$]*k07  1.000 -> 0.000"):
        check_not_worse(*given, tolerance=0.02)
    assert check_not_worse(*given, allow_unclear=True).verdict == "unclear"
    assert check_not_worse(*given, metrics=["hit@1"]).verdict == "not_worse"
