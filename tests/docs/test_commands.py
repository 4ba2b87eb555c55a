"""Commands that stand in the pages exist with their options, and do what a reader expects: they run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import openai
import pytest
import typer

from chatbot_mvp.app import build_app
from chatbot_mvp.cli.commands import cli
from chatbot_mvp.cli.lazy import DefaultGroup, LazyCommand
from chatbot_mvp.settings.model import Settings
from tests.conftest import Command
from tests.docs.pages import PAGES, PROGRAMS, ROOT, Block, blocks, mentioned
from tests.documents.made import pdf
from tests.server.test_openai import TOKEN, running

OF_A_FILE = re.compile(r"^`[^`\n]+`[^`\n]*:\n\n```\w+\n(?P<text>.*?)^```$", re.M | re.S)
"""A block of code below the name of its file, for tests/docs/test_plugin_examples.py and tests/cli/."""

UsageError = typer.BadParameter.mro()[1]

LACKING = {
    "make run": "it serves until it is stopped; tests/e2e starts the pages",
    "make test": "it runs this suite",
    "make check": "it runs this suite",
    "make coverage": "it runs this suite",
    "make attack": "it takes a quarter of an hour",
    "kb promise": "three questions are no promise, so it exits with 4; tests/wings/promise runs it",
    "kb effects": "it needs a draft; tests/wings/effects runs it",
    "chatbot-mvp sync": "it needs an S3 server; tests/wings/sharing runs it",
    "ragas prompts adapt": "it needs a judge; tests/wings/ragas/test_assets.py runs it",
    "--language fr": "it needs a judge; tests/wings/ragas/test_assets.py runs it",
    "pip install": "it downloads packages; that the extras exist is checked",
    "optimum-cli": "it is another project's program and downloads a model",
    "ct2-transformers-converter": "it is another project's program and downloads a model",
    "-m benchmarks": "it takes minutes, and most need data sets beside the project",
    "../shared/": "it needs data sets beside the project",
}
"""What a line of a page contains -> why it is not run here."""


def shell_blocks(page: str) -> list[Block]:
    return [block for block in blocks(page) if block.language in ("bash", "sh")]


WITH_COMMANDS = [page for page in PAGES if shell_blocks(page)]


def lacking(line: str) -> str:
    return next((reason for part, reason in LACKING.items() if part in line), "")


def parsed(line: str) -> None:
    """Parse a line of the program ``chatbot-mvp`` as the program does.

    Raises:
        UsageError
    """
    words = shlex.split(line, comments=True)[1:]
    command, path = cli, ["chatbot-mvp"]
    while words and not isinstance(command, LazyCommand):
        if isinstance(command, DefaultGroup):
            words = command.named(words)
        name = words.pop(0)
        if name not in command.commands:
            if name in ("--help", "--version", "--show-completion", "--install-completion"):
                return
            raise typer.BadParameter(f"there is no command {name!r}")
        command = command.commands[name]
        path.append(name)
    if isinstance(command, LazyCommand):
        command.load().make_context(" ".join(path), words)


def test_a_block_of_commands_is_labelled_bash() -> None:
    unlabelled = [
        f"{block.page}:{block.line}"
        for page in PAGES
        if page != "docs/reference/commands.md"  # usage lines with optional parts in brackets
        for block in blocks(page)
        if not block.language
        and any(line.startswith(tuple(f"{name} " for name in PROGRAMS)) for line in block.commands)
    ]
    assert unlabelled == []


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_each_line_of_a_block_is_accepted_by_its_program(page: str) -> None:
    for block in shell_blocks(page):
        for line in block.commands:
            for part in line.split(" && "):
                accepted(part)


def accepted(line: str) -> None:
    words = shlex.split(
        line.translate(str.maketrans("", "", "[]…")) if "-m benchmarks" in line else line, comments=True
    )
    program = Path(words[0]).name
    if program == "chatbot-mvp":
        parsed(line)
    elif program == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.M), line
    elif program == "python":
        if words[1:3] == ["-m", "benchmarks"]:
            words = [program, f"benchmarks/{words[3]}.py", *words[4:]]
        script = (ROOT / words[1]).read_text("utf-8") + (ROOT / "benchmarks" / "script.py").read_text("utf-8")
        assert [word for word in words[2:] if word.startswith("--") and f'"{word}"' not in script] == [], line
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
        assert "chatbot-mvp[" not in line, "the package is in no index; write pip install -e '.[extra]'"
        for extra in re.findall(r"-e '\.\[(\w+)\]'", line):
            assert extra in extras, line
    else:
        assert lacking(line) or re.fullmatch(r"[A-Z]\w*=\S+", line), f"no rule says what {line!r} is"


@pytest.mark.parametrize("page", PAGES)
def test_a_command_in_a_sentence_exists_with_its_options(page: str) -> None:
    for line in mentioned(page):
        try:
            parsed(line)
        except UsageError as error:
            # A sentence may leave out values, or name them as N.
            assert "requires an argument" in str(error) or "for '--" in str(error) or is_missing(error), (page, line)
        except typer.Exit:
            pass


def is_missing(error: Exception) -> bool:
    return type(error).__name__ == "MissingParameter"


def test_the_parser_of_these_tests_refuses_what_the_program_refuses() -> None:
    for line in ("benchmark run --nonsense", "benchmark nothing", "kb ask a b c d", "benchmark export RUN --form trec"):
        with pytest.raises(UsageError):
            parsed(f"chatbot-mvp {line}")


def test_pages_name_no_package_that_cannot_be_installed() -> None:
    for page in PAGES:
        if not page.startswith("docs/reference/"):  # these name what an installed program prints
            assert "pip install 'chatbot-mvp[" not in (ROOT / page).read_text("utf-8"), page


def test_each_extra_that_a_page_names_is_one_of_the_package() -> None:
    there = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = re.compile(r"(?:extra `|pip install (?:-e )?'(?:\.|chatbot[_-]mvp)[^\s'\[]*)\[([\w,]+)\]")
    found = {
        name for page in PAGES for names in named.findall((ROOT / page).read_text("utf-8")) for name in names.split(",")
    }
    assert len(found) > 8
    assert found <= set(there)


def test_each_reason_not_to_run_a_line_is_needed() -> None:
    lines = [line for page in WITH_COMMANDS for block in shell_blocks(page) for line in block.commands]
    assert [part for part in LACKING if not any(part in line for line in lines)] == []


# --- running


class Reader:
    """Does what a page says, in a folder with files of the names that the pages use."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder = folder
        self._command = command
        kb = ROOT / "data" / "samples" / "kb"
        text = (kb / "politica_empresa.md").read_text("utf-8")
        (folder / "manual.pdf").write_bytes(pdf([[(line, 11.0) for line in text.splitlines() if line.strip()][:40]]))
        shutil.copy(kb / "politica_empresa.md", folder / "manual.md")
        shutil.copy(kb / "preguntas.jsonl", folder / "preguntas.jsonl")
        for name in ("answers.jsonl", "respuestas.jsonl", "data.jsonl"):
            shutil.copy(ROOT / "data" / "samples" / "ragas_es.jsonl", folder / name)
        shutil.copy(ROOT / "data" / "ragas_config.example.yaml", folder / "config.yaml")
        (folder / "documentos" / "viajes").mkdir(parents=True)
        (folder / "documentos" / "gastos.md").write_text("# Gastos\n\nSe pagan en 30 días.\n", "utf-8")
        (folder / "documentos" / "viajes" / "tren.txt").write_text("Los billetes se compran en la oficina.\n", "utf-8")
        (folder / "run.json").write_text('{"q01": {"d001": 1.0}}', "utf-8")
        self._names: dict[str, Callable[[], str]] = {}

    def run(self, line: str) -> None:
        words = shlex.split(self._filled(line), comments=True)[1:]
        code, out, err = self._command(*words)
        assert code == 0, (line, err)
        assert out.strip(), line

    def _filled(self, line: str) -> str:
        """Replace the names that stand for something of the reader's own."""
        if re.search(r"\b(RUN_A|EJECUCION_A|OTHER|resume RUN)\b", line):
            one, other = self._runs(unfinished="resume" in line)
            for name, value in (("_A", one), ("_B", other)):
                line = re.sub(rf"\b(RUN|EJECUCION){name}\b", value, line)
            line = re.sub(r"\bRUN\b", one, re.sub(r"\bOTHER\b", other, line))
        if "kb:manual-1a2b3c4d5e6f708192a3b4c5/" in line:
            [kb_id] = [path.name for path in (self.folder / "data" / "kb").glob("manual-*")]
            line = line.replace("manual-1a2b3c4d5e6f708192a3b4c5/", f"{kb_id}/{self.folder}/")
        return re.sub(r"\bRUN\b", self._runs()[0], line) if re.search(r"\bRUN\b", line) else line

    def _runs(self, unfinished: bool = False) -> tuple[str, str]:
        """Return the ids of two runs over equal questions; ``unfinished`` takes the end off the first one."""
        run = ("benchmark", "run", "--max-queries", "5", "--no-generation", "--json", "--strategy")
        ids = [json.loads(self._command(*run, strategy)[1])["run_id"] for strategy in ("LEXICAL", "BRIDGE")]
        if unfinished:
            folder = self.folder / "data" / "results" / ids[0]
            (folder / f"{ids[0]}.json").unlink()
            records = (folder / "records.jsonl").read_text("utf-8").splitlines(keepends=True)
            (folder / "records.jsonl").write_text("".join(records[:2]), "utf-8")
        return ids[0], ids[1]


@pytest.fixture
def reader(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    return Reader(tmp_path, command)


def runnable(page: str) -> list[str]:
    return [line for block in shell_blocks(page) for line in block.commands if not lacking(line)]


@pytest.mark.parametrize("line", [line for line in runnable("README.md") if " doctor" in line or " kb ask" in line])
def test_the_first_commands_of_the_readme_run(reader: Reader, line: str) -> None:
    reader.run(line)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in WITH_COMMANDS if runnable(page)])
def test_the_commands_of_a_page_run_in_their_order(reader: Reader, page: str) -> None:
    for line in runnable(page):
        reader.run(line)


@pytest.mark.slow
def test_the_example_of_the_endpoint_runs(settings: Settings) -> None:
    app = build_app(settings.with_changes(retrieval_strategy="LEXICAL"))
    text = (ROOT / "data" / "samples" / "kb" / "politica_empresa.md").read_bytes()
    kb_id = app.kbs.add("manual.md", text).kb_id
    [block] = [block for block in blocks("docs/operate/serve.md") if block.language == "python"]
    with running(app) as url:
        code = block.text.replace("http://127.0.0.1:8600/v1", url).replace("manual-1a2b3c4d5e6f708192a3b4c5", kb_id)
        names: dict[str, object] = {"openai": openai, "TOKEN": TOKEN}
        exec(code.replace("¿…?", "¿Cuántos días laborables de vacaciones tiene cada persona?"), names)
    reply = names["reply"]
    assert getattr(reply, "outcome", None) == "answered"
    assert getattr(reply, "sources", None)


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.language == "python" for block in blocks(page))])
def test_each_block_of_python_is_run_by_a_test(page: str) -> None:
    found = [block.text for block in blocks(page) if block.language == "python"]
    if page in ("docs/operate/serve.md", "docs/guide/ragas.md"):
        assert len(found) == 1  # the test above, and one in tests/llm/test_huggingface.py
        return
    carried_out = {match["text"] for match in OF_A_FILE.finditer((ROOT / page).read_text("utf-8"))}
    assert [text for text in found if text not in carried_out] == []
