"""Each wing is deleted from a copy of the tree: the rest starts and lists its commands; without all it is tested."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cases import draws

ROOT = Path(__file__).resolve().parents[2]
WINGS = sorted({path.parent.name for path in ROOT.glob("*/wings/*/entry_points.txt")})
COPIED = ("chatbot_mvp", "streamlit_app", "tests", "data", "docs", "deploy", ".streamlit", "benchmarks")
DELETED = ("chatbot_mvp/wings/{}", "streamlit_app/wings/{}", "tests/wings/{}", "benchmarks/wings/{}", "deploy/{}")
KERNEL_TESTS = (
    "tests/ui/test_pages.py",
    "tests/ui/test_actions.py",
    "tests/cli/test_main.py",
    "tests/evaluation/benchmark/test_runner.py",
    "tests/test_app.py",
)
"""What is run of the kernel's tests: they open every page and run every kind of work."""
MARKS = "not slow" if draws(1, 0) else "not slow and not costly"
FORKING = """
import gc, json, os, sys
from importlib import import_module
gc.disable()
for name in sys.argv[1:]:
    import_module(name)
for line in sys.stdin:
    if not (child := os.fork()):
        os.dup2(2, 1)
        exec(json.loads(line), {"__name__": "__main__"})
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Carries out each program of stdin, a JSON text a line, in a child that has the packages of ``argv`` already."""
COMMAND = "import runpy, sys; sys.argv[1:] = ['{}']; runpy.run_module('chatbot_mvp.cli', run_name='__main__')"
PACKAGES = """
altair boto3 httpx hypothesis mcp numpy openai pandas PIL.Image playwright.sync_api pyarrow.parquet pydantic_settings
pytest scipy.stats starlette.testclient streamlit.testing.v1 typer uvicorn
""".split()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, with links instead of copies of what no test changes."""
    place = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "*.sqlite"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, place / path.name)
    return place


@pytest.fixture
def without(copy: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The copy without the folders of the wings that the test is for; they come back afterwards."""
    folders = [copy / folder.format(wing) for wing in request.param.split() for folder in DELETED]
    moved = {folder: tmp_path / str(number) for number, folder in enumerate(folders) if folder.is_dir()}
    for folder, aside in moved.items():
        shutil.move(folder, aside)
    request.addfinalizer(lambda: [shutil.move(aside, folder) for folder, aside in moved.items()])
    return copy


def environment_of(tree: Path) -> dict[str, str]:
    """Return that of a program whose packages are the tree's, before the installed ones."""
    return {**os.environ, "PYTHONPATH": str(tree), "DATA_DIR": str(tree / "own-data")}


def python(tree: Path, *arguments: str) -> str:
    """Run Python in a tree whose packages come before the installed ones; fail if it fails."""
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=tree, env=environment_of(tree), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-4_000:] + ended.stderr[-4_000:]
    return ended.stdout


@pytest.fixture(scope="module")
def program(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Carry out a program in the copy as it then is, and return what it says; fail if it fails.

    No two import what is installed.
    """
    command = [sys.executable, "-c", FORKING, *(name for name in PACKAGES if find_spec(name.partition(".")[0]))]
    said = tmp_path_factory.mktemp("said") / "stderr.txt"
    pipe = subprocess.PIPE
    with (
        said.open("wb") as file,
        subprocess.Popen(command, cwd=copy, env=environment_of(copy), stdin=pipe, stdout=pipe, stderr=file) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def run(code: str) -> str:
            before = said.stat().st_size
            asked.write(f"{json.dumps(code)}\n".encode())
            asked.flush()
            ended = told.readline()
            found = said.read_bytes()[before:].decode()
            assert ended == b"0\n", found[-4_000:]
            return found

        yield run


@pytest.mark.sampled(1)
@pytest.mark.parametrize("without", WINGS, indirect=True, ids=WINGS)
def test_what_is_left_without_a_wing_starts_and_lists_its_commands(
    without: Path, program: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    wing = request.node.callspec.params["without"]
    program(COMMAND.format("--help"))
    said = program(f"import {', '.join(sorted(modules_of(without)))}; {COMMAND.format('plugins')}")
    assert "(" in said
    assert f"({wing})" not in said
    assert "NO " not in said


def modules_of(tree: Path) -> set[str]:
    """Every module of the core: all can be imported."""
    paths = (path for path in (tree / "chatbot_mvp").rglob("*.py") if not re.search(r"/(wings|data)/", str(path)))
    names = {str(path.relative_to(tree).with_suffix("")).replace("/", ".") for path in paths}
    return {name.removesuffix(".__init__") for name in names if not name.endswith("__main__")}


def test_a_test_that_needs_a_wing_of_others_is_skipped_without_it() -> None:
    """What a test imports when it is read, also through helpers; importing all tests without each wing took minutes."""
    wrong = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        own = path.relative_to(ROOT).parts[2] if path.is_relative_to(ROOT / "tests" / "wings") else ""
        skipped = set(re.findall(r'importorskip\("chatbot_mvp\.wings\.(\w+)', path.read_text("utf-8")))
        wrong += [f"{path.relative_to(ROOT)}: {wing}" for wing in sorted(wings_needed(path) - skipped - {own})]
    assert wrong == []


@cache
def wings_needed(path: Path) -> frozenset[str]:
    """Return the wings without which a module of the tests or benchmarks cannot be imported."""
    found, helpers = set(), set()
    for node in ast.parse(path.read_text("utf-8")).body:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [f"{node.module}.{each.name}" for each in node.names] if isinstance(node, ast.ImportFrom) else []
        names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            package, *rest = name.split(".")
            if rest[:1] == ["wings"] and rest[1:2] and rest[1] in WINGS:
                found.add(rest[1])
            elif package in ("tests", "benchmarks") and (module := ROOT / f"{name.replace('.', '/')}.py").is_file():
                helpers.add(module)
    return frozenset(found).union(*map(wings_needed, helpers - {path}))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("without", [" ".join(WINGS)], indirect=True, ids=["all"])
def test_what_is_left_without_wings_opens_every_page_and_passes_its_tests(without: Path) -> None:
    python(without, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", MARKS, *KERNEL_TESTS)
