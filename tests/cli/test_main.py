"""The command line: one JSON object on stdout, everything else on stderr, exit codes that tell."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chatbot_mvp import __version__
from chatbot_mvp.cli import main as command_line
from chatbot_mvp.cli.commands import cli as COMMANDS
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.conftest import Command
from tests.datasets.hub_stub import HubStub
from tests.datasets.test_hotpotqa import hub_bytes
from tests.datasets.test_layouts import FORMS, table, write
from tests.llm.openai_stub import OpenAiStub

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
RUN = ("benchmark", "run", "--strategy", "LEXICAL", "--max-queries", "5", "--no-generation")
KB = "# Manual\n\n## Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones.\n"


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Cli:
    """Runs the command in a folder of its own, over an empty data folder.

    In this process, since a process of its own takes seconds to start; ``process`` starts one.
    """

    def __init__(self, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.env = {"DATA_DIR": str(self.data), "RETRIEVAL_STRATEGY": "LEXICAL"}
        self._command = command
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(folder)

    def __call__(self, *arguments: str, code: int = 0) -> Done:
        for name, value in self.env.items():
            self._monkeypatch.setenv(name, value)
        done = Done(*self._command(*arguments))
        assert done.returncode == code, done.stderr
        return done

    def process(self, *arguments: str, code: int = 0) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "chatbot_mvp.cli", *arguments],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def environment(self) -> dict[str, str]:
        """Of a process: no setting but the own ones, and the code beside these tests, whatever is installed."""
        settings = {name.upper() for name in Settings.model_fields}
        return {name: value for name, value in os.environ.items() if name.upper() not in settings} | {
            "PYTHONPATH": str(PROJECT_ROOT),
            **self.env,
        }

    def json(self, *arguments: str) -> dict[str, Any]:
        """The one JSON object on stdout."""
        return one_object(self(*arguments, "--json").stdout)


def one_object(text: str) -> dict[str, Any]:
    """The one JSON object that stdout is."""
    [line] = text.splitlines()
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


@pytest.fixture
def cli(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, command, monkeypatch)


@pytest.fixture
def hub() -> Iterator[HubStub]:
    with HubStub() as server:
        yield server


def test_a_run_prints_exactly_the_contract_and_show_and_list_the_same(cli: Cli) -> None:
    result = one_object(cli.process(*RUN, "--json").stdout)
    assert set(result) == CONTRACT
    assert (result["dataset"], result["strategy"], result["queries"]) == ("valle_multihop", "LEXICAL", 5)
    assert {"recall@5", "hit@1", "mrr", "ndcg@10"} <= set(result["metrics"])
    assert set(map(tuple, result["scored"].values())) == {(5, 5)}
    assert cli.json("benchmark", "show", result["run_id"]) == result
    listed = cli.json("benchmark", "list")
    assert [run["run_id"] for run in listed["runs"]] == [result["run_id"]]
    assert listed["runs"][0]["metrics"] == result["metrics"]
    assert (listed["unfinished"], listed["damaged_lines"]) == ([], 0)


def test_one_command_answers_scores_and_exports(cli: Cli, tmp_path: Path) -> None:
    done = cli("benchmark", "run", "--strategy", "LEXICAL", "--max-queries", "5", "--export", "hotpotqa", "--json")
    result = json.loads(done.stdout)
    assert result["generator"] == "demo"
    assert {"generation_score", "answer_contains", "semantic_similarity"} <= set(result["metrics"])
    [path] = (tmp_path / "data" / "results").glob("*/*_hotpotqa.json")
    assert len(json.loads(path.read_text("utf-8"))["answer"]) == 5


def test_without_json_a_run_prints_its_metrics_and_progress_goes_to_stderr(cli: Cli) -> None:
    done = cli(*RUN, "-v")
    assert "recall@5" in done.stdout
    assert "(5/5)" in done.stdout
    assert "retrieve: 5/5" in done.stderr
    assert "retrieve:" not in done.stdout


def test_nothing_has_run_yet(cli: Cli) -> None:
    assert cli.json("benchmark", "list") == {"runs": [], "unfinished": [], "damaged_lines": 0}


def test_a_damaged_line_is_told_by_list_and_left_in_the_file(cli: Cli) -> None:
    cli.data.mkdir()
    path = cli.data / "submissions.jsonl"
    path.write_text("{torn\n", "utf-8")
    assert cli.json("benchmark", "list")["damaged_lines"] == 1
    assert "1 damaged" in cli("benchmark", "list").stderr
    assert path.read_text("utf-8") == "{torn\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("benchmark", "run", "--strategy", "MAGIC"), "LEXICAL, SIMPLE_VECTOR, HYBRID"),
        (("benchmark", "run", "--dataset", "nope"), "'nope'"),
        (("benchmark", "run", "--max-queries", "-1"), "--max-queries"),
        (("benchmark", "run", "--budget", "-1"), "--budget"),
        (("benchmark", "run", "--export", "paper"), "markdown"),
        (("benchmark", "run", "--no-generation", "--export", "hotpotqa"), "--generation"),
        (("benchmark", "run", "--env", "nope.env"), "nope.env"),
        (("benchmark", "run", "--dry-run", "--dataset", "nope"), "'nope'"),
        (("benchmark", "run", "--dry-run", "--dataset", "s3://lakehouse/some/uno"), "MINIO_ENDPOINT"),
        (("datasets", "fetch", "hotpotqa", "--split", "test"), "validation or train"),
        (("benchmark", "run", "--nonsense"), "--nonsense"),
        (("benchmark", "show", "nope"), "'nope'"),
        (("benchmark", "resume", "nope"), "'nope'"),
        (("kb", "ask", "nope.md", "¿qué?"), "nope.md"),
        (("kb", "ask", "manual.md", "¿?", "--mode", "loose"), "strict or general"),
        (("kb", "evaluate", "manual.md", "bad.jsonl"), "line 2"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_usage_ends_with_2_one_message_on_stderr_and_nothing_written(
    cli: Cli, arguments: tuple[str, ...], said: str
) -> None:
    (cli.folder / "manual.md").write_text(KB, "utf-8")
    (cli.folder / "bad.jsonl").write_text('{"question": "¿?"}\n{nope\n', "utf-8")
    done = cli(*arguments, code=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (cli.data / "results").exists()


@pytest.mark.slow
def test_bad_usage_of_a_process_is_told_alike(cli: Cli) -> None:
    arguments = ("benchmark", "run", "--strategy", "MAGIC")
    alone, here = cli.process(*arguments, code=2), cli(*arguments, code=2)
    assert (alone.stdout, alone.stderr) == (here.stdout, here.stderr)


def told(done: Done) -> str:
    """The text of the one error line on stderr."""
    [line] = done.stderr.splitlines()
    return line.removeprefix("chatbot-mvp: ")


WITH_JSON = [name for name, lazy in COMMANDS.leaves() if any("--json" in option.opts for option in lazy.load().params)]


@pytest.mark.parametrize("name", WITH_JSON)
def test_every_command_with_json_prints_a_usage_error_as_one_object(cli: Cli, name: str) -> None:
    done = cli(*name.split(), "--nonsense", "--json", code=2)
    hint = f"chatbot-mvp {name} --help lists the options."
    assert one_object(done.stdout) == {"error": {"code": "usage", "message": told(done), "hint": hint, "exit_code": 2}}
    assert "--nonsense" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("benchmark", "compare"), "A B [C"),
        (("benchmark", "export", "some"), "--format"),
        (("kb", "questions", "some", "--out", "x", "--count", "many"), "--count"),
        (("kb", "nonsense"), "nonsense"),
        (("benchmark",), "--json"),
        (("nonsense",), "nonsense"),
    ],
)
def test_with_json_a_missing_or_unknown_word_is_one_object_too(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    [(key, error)] = one_object(cli(*arguments, "--json", code=2).stdout).items()
    assert (key, error["code"], error["exit_code"]) == ("error", "usage", 2)
    assert said in error["message"]
    assert "--help" in error["hint"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("benchmark", "run", "--strategy", "MAGIC"), "unknown_choice"),
        (("benchmark", "run", "--max-queries", "-1"), "usage"),
        (("benchmark", "show", "nope"), "run_not_found"),
        (("datasets", "push", "nope"), "dataset_not_found"),
        (("kb", "ask", "nope.md", "¿qué?"), "usage"),
        (("doctor", "--env", "nope.env"), "invalid_setting"),
    ],
)
def test_with_json_an_error_is_the_one_object_on_stdout(cli: Cli, arguments: tuple[str, ...], code: str) -> None:
    done = cli(*arguments, "--json", code=2)
    error = one_object(done.stdout)["error"]
    assert (error["code"], error["message"], error["exit_code"]) == (code, told(done), 2)
    assert error["hint"]
    assert code == "usage" or error["message"].endswith(error["hint"])


def test_with_json_a_defect_is_an_object_too_and_its_traceback_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect(**_: object) -> None:
        raise ZeroDivisionError("of nothing")

    monkeypatch.setattr(command_line, "cli", defect)
    monkeypatch.setattr(sys, "argv", ["chatbot-mvp", "doctor", "--json"])
    with pytest.raises(ZeroDivisionError):
        command_line.main()
    hint = "This is a defect of the program; the traceback is on stderr."
    error = {"code": "unexpected", "message": "ZeroDivisionError: of nothing", "hint": hint, "exit_code": 1}
    expected = {"error": error}
    assert json.loads(capsys.readouterr().out) == expected


@pytest.mark.parametrize(
    ("name", "content"), [("vacio.md", b""), ("foto.txt", b"\x89PNG\x00\x01"), ("informe.pdf", b"texto")]
)
def test_a_document_that_cannot_be_used_ends_with_2_and_its_name(
    cli: Cli, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    done = cli("kb", "ask", name, "¿qué?", "--json", code=2)
    assert f"chatbot-mvp: '{name}'" in done.stderr
    assert one_object(done.stdout)["error"]["code"].startswith("upload_")


def test_a_finished_run_that_is_resumed_ends_with_1(cli: Cli) -> None:
    run_id = cli.json(*RUN)["run_id"]
    done = cli("benchmark", "resume", run_id, "--json", code=1)
    assert run_id in done.stderr
    error = one_object(done.stdout)["error"]
    assert (error["code"], error["message"], error["exit_code"]) == ("run_already_finished", told(done), 1)
    assert error["hint"] == f"Show it with: chatbot-mvp benchmark show {run_id}"


def test_a_damaged_result_ends_with_1(cli: Cli) -> None:
    run_id = cli.json(*RUN)["run_id"]
    (cli.data / "results" / run_id / f"{run_id}.json").write_text("{", "utf-8")
    assert run_id in cli("benchmark", "show", run_id, "--json", code=1).stderr


@pytest.mark.slow
@pytest.mark.parametrize("context", ["chat", "retrieved"])
def test_a_dry_run_sends_no_request(cli: Cli, context: str) -> None:
    """Whatever is configured: generator, judge, embedding model and reranker are all at an address that counts."""
    with OpenAiStub() as server:
        cli.env |= {
            "LLM_BASE_URL": f"{server.url}/v1",
            "EMBEDDING_BASE_URL": f"{server.url}/v1",
            "JUDGE_PROVIDER": "nim",
        }
        cli.env |= {"RERANKER_ENABLED": "true", "RERANKER_BASE_URL": f"{server.url}/v1", "GENERATION_CONTEXT": context}
        plan = cli.json("benchmark", "run", "--dry-run", "--strategy", "HYBRID")
        assert (plan["provider"].partition("/")[0], plan["reranker"].partition(":")[0]) == ("nim", "nim")
        assert {"generate", "judge", "embed_corpus", "rerank"} <= set(plan["phases"])
        assert "no request sent" in cli("benchmark", "run", "--dry-run", "--strategy", "HYBRID").stdout
        assert server.requests == []


def test_settings_come_from_the_env_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "small.env").write_text("EVAL_MAX_QUERIES=3\nRETRIEVAL_K=2\n", "utf-8")
    result = cli.json("benchmark", "run", "--env", "small.env")
    assert result["queries"] == 3
    assert [name for name in result["metrics"] if name.startswith("recall")] == ["recall@1", "recall@2"]


def test_a_question_has_its_outcome_in_the_json_and_offsets_into_the_document(cli: Cli, tmp_path: Path) -> None:
    """None of the outcomes is a failure: each ends with 0."""
    (tmp_path / "manual.md").write_text(KB, "utf-8")
    answered = cli.json("kb", "ask", "manual.md", "¿De cuántos días de vacaciones dispone cada persona?")
    assert (answered["outcome"], answered["why"], answered["nearest"]) == ("answered", None, None)
    assert "23 días laborables" in answered["answer"]
    assert (answered["abstained"], answered["model"], answered["kb_truncated"]) == (False, "demo", False)
    [statement], [source] = answered["statements"], answered["sources"]
    assert statement["text"] == "Cada persona dispone de 23 días laborables de vacaciones."
    assert [KB[start:end] for start, end in source["highlights"]] == [statement["text"]]
    assert (answered["from_kb"], statement["supported"], statement["numbers"]) == (True, True, [1])
    ask_near = ("kb", "ask", "manual.md", "¿Cuántas vacaciones dan en la torre Eiffel?")
    near = cli.json(*ask_near)
    assert (near["outcome"], near["why"], near["from_kb"], near["statements"]) == ("nearest", "evidence", False, [])
    passage = near["nearest"]["passages"][0]
    assert KB[passage["start"] : passage["end"]] == passage["text"]
    assert near["nearest"]["missing"] == ["dan", "torre", "Eiffel"]
    shown = cli(*ask_near).stdout
    assert shown.startswith("No encuentro en la base de conocimiento")
    assert "Lo más cercano en el documento (no es una respuesta):\n- " in shown
    assert "«torre», «Eiffel»" in shown
    refused = cli.json("kb", "ask", "manual.md", "¿Xqzw kjxv?")
    assert (refused["outcome"], refused["nearest"]) == ("refused", None)
    strict = cli.json("kb", "ask", "manual.md", "¿Qué altura tiene la torre Eiffel?", "--mode", "strict")
    assert (strict["abstained"], strict["sources"], strict["model"]) == (True, [], None)


def test_a_question_file_is_evaluated_into_one_object(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "manual.md").write_text(KB, "utf-8")
    paragraph = "Cada persona dispone de 23 días laborables de vacaciones."
    line = {"id": "a", "question": "¿De cuántos días de vacaciones dispone cada persona?", "kind": "answerable"}
    (tmp_path / "q.jsonl").write_text(json.dumps({**line, "paragraph": paragraph}) + "\n", "utf-8")
    result = cli.json("kb", "evaluate", "manual.md", "q.jsonl")
    assert result["questions"] == {"answerable": 1}
    assert (result["hit@1"], result["hit@3"], result["auroc"]) == (1.0, 1.0, {"near": None, "far": None})
    assert set(result) >= {"accepted", "seconds_per_question_p50", "seconds_per_question_p95", "answers"}
    told = cli("kb", "evaluate", "manual.md", "q.jsonl").stdout
    assert "questions: answerable 1\n" in told and "auroc: near not scored, far not scored\n" in told
    assert "answers" not in told and "{" not in told


def test_doctor_tells_what_answers(cli: Cli) -> None:
    checks = cli.json("doctor")
    parts = {"settings", "provider", "embedder", "data", "plugins", "words", "readers", "fences", "providers"}
    assert set(checks) == parts
    providers = checks.pop("providers")
    assert "Landlock" in checks.pop("fences")["detail"] or sys.platform != "linux"
    assert [name for name, check in checks.items() if not check["ok"]] == []
    assert {name for name, status in providers.items() if status["configured"]} == {"demo"}
    assert providers["demo"]["reachable"]
    assert "GEMINI_API_KEY" in providers["gemini"]["missing"]


def test_doctor_tells_who_does_not_answer_what_is_misspelt_and_never_a_key(cli: Cli) -> None:
    cli.env |= {"OPENAI_API_KEY": "sk-very-secret", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "PROVIDER": "openai"}
    cli.env |= {"NIM_TIMEOUT": "3"}
    done = cli("doctor")
    assert "NO  settings: NIM_TIMEOUT (environment) is no setting; did you mean NIM_REQUEST_TIMEOUT?" in done.stdout
    assert "* openai" in done.stdout
    assert "NO answer" in done.stdout
    assert "missing: GROQ_API_KEY" in done.stdout
    assert "sk-very-secret" not in done.stdout + done.stderr


def test_doctor_and_dry_run_tell_which_provider_was_chosen_and_why(cli: Cli) -> None:
    (cli.folder / ".env").write_text("LLM_BASE_URL=http://127.0.0.1:1/v1\nNIM_MAX_RETRIES=0\n", "utf-8")
    line = "nim, because LLM_BASE_URL is set"
    assert f"provider chosen: {line}" in cli("doctor").stdout
    told = cli("benchmark", "run", "--dry-run", "--no-generation").stdout
    assert "provider    nim/nvidia/nemotron-3-nano, because LLM_BASE_URL is set" in told
    plan = cli.json("benchmark", "run", "--dry-run", "--no-generation")
    assert plan["provider_reason"] == "LLM_BASE_URL is set"


def test_a_dry_run_prints_the_plan_and_writes_nothing(cli: Cli) -> None:
    cli.env |= {"NIM_TIMEOUT": "3", "EVAL_MAX_CORPUS": "70"}
    plan = cli.json("benchmark", "run", "--dry-run", "--max-queries", "5")
    assert (plan["dry_run"], plan["dataset"], plan["place"], plan["checked"]) == (
        True,
        "valle_multihop",
        "bundled",
        True,
    )
    assert (plan["queries"], plan["documents"], plan["dataset_queries"], plan["dataset_documents"]) == (5, 70, 40, 80)
    sampling = {"EVAL_MAX_QUERIES": 5, "EVAL_MAX_CORPUS": 70, "CORPUS_SHUFFLE_SEED": 42}
    assert plan["sampling"] == {**sampling, "EVAL_CORPUS_SLICE": "gold_first"}
    phases = ["load", "index", "retrieve", "generate", "similarity", "aggregate", "export"]
    assert plan["phases"] == phases
    assert (plan["index_cached"], plan["vectors"]) == (False, None)
    assert plan["hints"] == ["NIM_TIMEOUT (environment) is no setting; did you mean NIM_REQUEST_TIMEOUT?"]
    cli.env |= {"DEV_MODE": "true", "DEV_QUERIES": "20", "DEV_CORPUS_SIZE": "5"}
    assert "DEV_CORPUS_SIZE=5" in cli("benchmark", "run", "--dry-run", code=2).stderr
    cli.env |= {"DEV_CORPUS_SIZE": "60"}
    told = cli("benchmark", "run", "--dry-run").stdout
    assert [text for text in ("20 of 40", "60 of 80", "NIM_TIMEOUT", "Nothing was run.") if text not in told] == []
    assert not cli.data.exists()


def test_hotpotqa_is_fetched_and_listed_by_its_name(cli: Cli, hub: HubStub) -> None:
    hub.files["distractor/validation-00000-of-00001.parquet"] = hub_bytes()
    fetch = ("datasets", "fetch", "hotpotqa", "--base-url", f"{hub.url}/distractor")
    fetched = cli.json(*fetch)
    assert (fetched["queries"], fetched["documents"], fetched["qrels"], fetched["label_queries"]) == (3, 5, 5, 2)
    assert fetched["expected"] == [7405, 66576, 14810]
    rows = {row["name"]: row for row in cli.json("datasets", "list")["datasets"]}
    assert rows.keys() == {"valle_multihop", "hotpotqa"}
    assert (rows["hotpotqa"]["place"], rows["hotpotqa"]["documents"]) == ("local", 5)
    hub.files.clear()
    assert "already exists" in cli(*fetch).stderr
    assert "no such file" in cli(*fetch, "--force", code=1).stderr


def test_a_stop_before_there_is_a_run_names_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(**_: object) -> None:
        raise RunStopped(run_id="?")

    monkeypatch.setattr(command_line, "cli", stopped)
    with pytest.raises(SystemExit) as raised:
        command_line.main()
    assert raised.value.code == 130
    said = capsys.readouterr().err
    assert "stopped; what was done is kept" in said
    assert "resume" not in said


SLOW = """
import time
from chatbot_mvp.cli import main as cli
from chatbot_mvp.cli.progress import ProgressLine
plain = ProgressLine.__call__
def slow(self, progress):
    plain(self, progress)
    if progress.phase == "retrieve":
        print("at work", flush=True)
        for _ in range(200):
            time.sleep(0.05)
            plain(self, progress)
ProgressLine.__call__ = slow
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_a_run_at_a_clean_place_with_130(cli: Cli, tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW, "utf-8")
    process = subprocess.Popen(
        [sys.executable, str(script), *RUN],
        cwd=tmp_path,
        env={**cli.environment(), "PYTHONPATH": str(PROJECT_ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait(timeout=10)
    assert process.returncode == 130
    assert "was stopped" in stderr
    assert "Traceback" not in stderr
    [unfinished] = cli.json("benchmark", "list")["unfinished"]
    assert cli.json("benchmark", "resume", unfinished["run_id"])["queries"] == 5


def test_runs_are_compared_as_one_object_and_as_a_table(cli: Cli) -> None:
    one = cli.json(*RUN)["run_id"]
    two = cli.json("benchmark", "run", "--strategy", "BRIDGE", "--max-queries", "5", "--no-generation")["run_id"]
    found = cli.json("benchmark", "compare", one, two)
    assert (found["base"], found["queries"], [run["run_id"] for run in found["runs"]]) == (one, 5, [two])
    told = cli("benchmark", "compare", one, two, "--metric", "mrr", "--metric", "recall@5").stdout
    assert "retrieval_strategy: LEXICAL -> BRIDGE" in told
    assert [line.split()[0] for line in told.splitlines() if line.startswith(("  mrr", "  recall"))] == [
        "mrr",
        "recall@5",
    ]
    other = cli.json("benchmark", "run", "--max-queries", "3", "--no-generation")["run_id"]
    assert "same questions" in cli("benchmark", "compare", one, other, code=2).stderr
    assert "nothing to compare" in cli("benchmark", "compare", one, code=2).stderr


def test_a_run_is_exported_into_the_folder_that_was_asked_for(cli: Cli, tmp_path: Path) -> None:
    run_id = cli.json(*RUN)["run_id"]
    done = cli.json("benchmark", "export", run_id, "--format", "trec", "--output", "out")
    assert [Path(path).suffix for path in done["files"]] == [".run", ".qrels"]
    assert all((tmp_path / path).is_file() for path in done["files"])
    assert "has no answer" in cli("benchmark", "export", run_id, "--format", "hotpotqa", code=1).stderr
    assert "trec, trec_scores, json, beir" in cli("benchmark", "export", run_id, "--format", "pdf", code=2).stderr


# --- the program itself


def test_version_prints_name_and_version_and_ends_with_0(cli: Cli) -> None:
    assert cli("--version").stdout == f"chatbot-mvp {__version__}\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_each_shell_is_shown(cli: Cli, shell: str) -> None:
    cli.env["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"  # these tests may run without a shell around them
    assert "_CHATBOT_MVP_COMPLETE" in cli.process("--show-completion", shell, code=0).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("chatbot-mvp bench", "benchmark"),
        ("chatbot-mvp benchmark run --spl", "--split"),
    ],
)
def test_a_shell_gets_groups_commands_and_options(cli: Cli, words: str, expected: str) -> None:
    """As bash asks: the words and the place of the last one are in the environment."""
    cli.env |= {"_CHATBOT_MVP_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert expected in cli.process(code=0).stdout.split()


def test_a_port_that_is_used_is_a_message_and_1(cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = cli("serve", "--port", str(port), code=1)
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr
    assert "token" not in done.stderr


# --- splits


def test_a_split_is_measured_planned_and_named(cli: Cli, tmp_path: Path) -> None:
    folder = write(tmp_path / "nfcorpus", FORMS["BEIR zip"])
    plan = cli.json("benchmark", "run", "--dataset", str(folder), "--split", "train", "--dry-run")
    assert (plan["queries"], plan["dataset_queries"], plan["split"]) == (1, 3, "train")
    text = cli("benchmark", "run", "--dataset", str(folder), "--dry-run").stdout
    assert "split       test\n" in text
    assert "queries     1 of 3; 2 without a judgement are not asked\n" in text
    assert cli.json(*RUN, "--dataset", str(folder), "--split", "train")["dataset"] == "nfcorpus/train"
    error = one_object(cli(*RUN, "--dataset", str(folder), "--split", "dev", "--json", code=2).stdout)["error"]
    assert (error["code"], "test, train" in error["message"]) == ("split_unknown", True)
    assert "no splits" in cli(*RUN, "--dataset", "kb:a/b", "--split", "dev", code=2).stderr


def test_nothing_to_score_and_nothing_scored_end_with_5(cli: Cli, tmp_path: Path) -> None:
    folder = write(tmp_path / "nfcorpus", {**FORMS["BEIR zip"], "qrels/test.tsv": table([])})
    error = one_object(cli(*RUN, "--dataset", str(folder), "--json", code=5).stdout)["error"]
    assert (error["code"], error["exit_code"]) == ("nothing_to_score", 5)
    assert not (cli.data / "results").exists()
    # A grade of 0 is a judgement, but no document is relevant, so that no metric is defined.
    (folder / "qrels" / "test.tsv").write_bytes(table([("PLAIN-2", "MED-10", 0)]))
    error = one_object(cli(*RUN, "--dataset", str(folder), "--json", code=5).stdout)["error"]
    [run] = cli.json("benchmark", "list")["runs"]
    assert (error["code"], run["run_id"] in error["hint"]) == ("nothing_scored", True)
    assert cli.json("benchmark", "show", run["run_id"])["scored"]["recall@5"] == [0, 1]
