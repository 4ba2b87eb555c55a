"""``--preset`` at the command line: below explicit options, above the environment, and named in what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.retrieval.systems import SYSTEMS
from tests.conftest import Command

KB = "# Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones por año trabajado.\n"
QUESTION = "¿De cuántos días de vacaciones dispone cada persona?"


@pytest.fixture(autouse=True)
def quick(clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER", "demo")
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    (clean_env / "manual.md").write_text(KB, "utf-8")
    row = {"id": "a", "question": QUESTION, "kind": "answerable", "paragraph": KB.split("\n\n")[1].strip()}
    (clean_env / "q.jsonl").write_text(json.dumps(row) + "\n", "utf-8")


def printed(done: tuple[int, str, str], code: int = 0) -> dict[str, Any]:
    assert done[0] == code, done
    [line] = done[1].splitlines()
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


def manifest(folder: Path, run_id: str) -> dict[str, Any]:
    found = json.loads((folder / "data" / "results" / run_id / "manifest.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def test_a_run_goes_by_the_preset_and_its_records_name_it(command: Command, tmp_path: Path) -> None:
    run = ("benchmark", "run", "--no-generation", "--max-queries", "3", "--preset", "kb_chat")
    result = printed(command(*run, "--json"))
    assert (result["preset"], result["strategy"], result["queries"]) == ("kb_chat", "KB_CHAT", 3)
    recorded = manifest(tmp_path, result["run_id"])
    assert recorded["preset"] == "kb_chat"
    changes = SYSTEMS["kb_chat"].changes
    assert {name: recorded["settings_masked"][name] for name in changes} == dict(changes)
    assert printed(command("benchmark", "show", result["run_id"], "--json"))["preset"] == "kb_chat"
    assert "kb_chat: KB_CHAT" in command("benchmark", "show", result["run_id"])[1]


def test_an_explicit_option_takes_precedence_over_the_preset(command: Command, tmp_path: Path) -> None:
    run = ("benchmark", "run", "--no-generation", "--max-queries", "3", "--preset", "kb_chat", "--strategy", "LEXICAL")
    result = printed(command(*run, "--json"))
    assert (result["preset"], result["strategy"]) == ("kb_chat", "LEXICAL")
    assert manifest(tmp_path, result["run_id"])["settings_masked"]["kb_top_k"] == 4


def test_the_preset_takes_precedence_over_the_environment(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_TOP_K", "9")
    plan = printed(command("benchmark", "run", "--no-generation", "--preset", "kb_chat", "--dry-run", "--json"))
    assert (plan["preset"], plan["strategy"]) == ("kb_chat", "KB_CHAT")


def test_the_default_changes_nothing(command: Command, tmp_path: Path) -> None:
    run = ("benchmark", "run", "--no-generation", "--max-queries", "3", "--json")
    with_default, without = printed(command(*run, "--preset", "default")), printed(command(*run))
    assert with_default["preset"] == "default"
    assert "preset" not in without
    assert (with_default["strategy"], with_default["fingerprint"]) == (without["strategy"], without["fingerprint"])
    assert with_default["metrics"] == without["metrics"]
    of_both = [manifest(tmp_path, result["run_id"])["settings_masked"] for result in (with_default, without)]
    assert of_both[0] == of_both[1]


def test_a_document_is_asked_and_evaluated_as_the_system_does(command: Command) -> None:
    answer = printed(command("kb", "ask", "manual.md", QUESTION, "--preset", "kb_chat", "--json"))
    assert (answer["preset"], answer["outcome"]) == ("kb_chat", "answered")
    assert "preset" not in printed(command("kb", "ask", "manual.md", QUESTION, "--json"))
    figures = printed(command("kb", "evaluate", "manual.md", "q.jsonl", "--preset", "kb_chat", "--json"))
    assert (figures["preset"], figures["hit@1"], figures["accepted"]) == ("kb_chat", 1.0, {"answerable": 1.0})
    shown = printed(command("benchmark", "show", figures["run_id"], "--json"))
    assert (shown["preset"], shown["strategy"]) == ("kb_chat", "KB_CHAT")


@pytest.mark.parametrize(
    "arguments",
    [
        ("benchmark", "run", "--no-generation"),
        ("kb", "ask", "manual.md", QUESTION),
        ("kb", "evaluate", "manual.md", "q.jsonl"),
        ("serve",),
    ],
)
def test_another_name_ends_with_2_and_says_which_are_legal(command: Command, arguments: tuple[str, ...]) -> None:
    machine = () if arguments == ("serve",) else ("--json",)
    code, out, err = command(*arguments, "--preset", "rag_v9", *machine)
    assert code == 2
    assert all(name in out + err for name in ("rag_v9", *SYSTEMS))


@pytest.mark.parametrize("preset", ["rag_v2", "rag_p_contextual_hybrid"])
def test_a_system_that_needs_a_model_says_so_where_there_is_none(command: Command, preset: str) -> None:
    for arguments in (
        ("benchmark", "run", "--no-generation"),
        ("kb", "ask", "manual.md", QUESTION),
        ("kb", "evaluate", "manual.md", "q.jsonl"),
    ):
        error = printed(command(*arguments, "--preset", preset, "--json"), 2)["error"]
        assert error["code"] == "needs_language_model"


ENV_OF_RAG_P = """RETRIEVAL_K=7
RETRIEVAL_PRE_FUSION_K=40
RETRIEVAL_RRF_K=30
RETRIEVAL_BM25_WEIGHT=0.25
RETRIEVAL_VECTOR_WEIGHT=0.75
GENERATION_MAX_CONTEXT_CHARS=9000
RETRIEVAL_CONTEXT_MAX_TOKENS=90
"""


def test_the_env_file_of_rag_p_rules_under_its_preset(command: Command, tmp_path: Path) -> None:
    env = tmp_path / "rag_p.env"
    env.write_text(ENV_OF_RAG_P, "utf-8")
    # Any strategy without vectors: the settings are what counts here.
    run = ("benchmark", "run", "--no-generation", "--max-queries", "3", "--strategy", "LEXICAL", "--json")
    named = ("--preset", "rag_p_contextual_hybrid", "--env", str(env))
    recorded = manifest(tmp_path, printed(command(*run, *named))["run_id"])["settings_masked"]
    written = dict(line.lower().split("=") for line in ENV_OF_RAG_P.splitlines())
    assert {name: float(recorded[name]) for name in written} == {name: float(value) for name, value in written.items()}
    assert (recorded["eval_corpus_slice"], recorded["retrieval_fusion"]) == ("blind", "rrf")
    unset = manifest(tmp_path, printed(command(*run, *named[:2]))["run_id"])["settings_masked"]
    assert (unset["retrieval_k"], unset["retrieval_rrf_k"], unset["retrieval_bm25_weight"]) == (20, 60, 0.5)
