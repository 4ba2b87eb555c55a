"""What the card of the project says of its kind, packages and top level."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import tomllib

import pytest
from _pytest.mark.expression import Expression

from docs.generator.statements import read_statements
from streamlit_app.shared.i18n import LANGUAGE_NAMES
from streamlit_app.shared.state import PAGES
from tests.docs.pages import ROOT
from tests.seeds.ran import not_shown

PACKAGES = """
streamlit google-generativeai groq openai chromadb tantivy rapidfuzz boto3 pyarrow pandas httpx pytest
""".split()
TOP_LEVEL = {
    "streamlit_app": ("pyproject.toml", 'include = ["chatbot_mvp*", "streamlit_app*"]'),
    "chatbot_mvp": ("pyproject.toml", 'include = ["chatbot_mvp*", "streamlit_app*"]'),
    "data": ("setup.py", '"data/samples": '),
    "tests": ("pyproject.toml", 'testpaths = ["tests"]'),
    ".streamlit": ("setup.py", '".streamlit/config.toml": '),
    "pyproject.toml": ("pyproject.toml", 'build-backend = "setuptools.build_meta"'),
    "requirements.txt": ("Makefile", "--require-hashes -r requirements.txt"),
    "DEV_NOTES.md": ("README.md", "(DEV_NOTES.md)"),
}
"""Name -> the file that looks for it at the top level, and where it says so."""


def tracked() -> list[str]:
    """Paths of the files that git keeps, or of those that are there without git."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    return listed.stdout.splitlines() or [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*")]


def configuration() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_of_the_card_is_required_and_pinned(package: str) -> None:
    assert re.search(rf"^{re.escape(package)}(\[[\w,-]+\])?==", (ROOT / "requirements.txt").read_text("utf-8"), re.M)


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_the_top_level_has_what_the_card_names(name: str) -> None:
    assert any(path == name or path.startswith(f"{name}/") for path in tracked())
    file, says = TOP_LEVEL[name]
    assert says in (ROOT / file).read_text("utf-8")


def test_the_pages_of_the_card_are_in_the_menu() -> None:
    assert (ROOT / "streamlit_app" / "Inicio.py").is_file()
    assert {"home", "evaluation", "chat", "admin"} <= PAGES.keys()
    for path, _ in PAGES.values():
        assert (ROOT / "streamlit_app" / path).is_file()
    assert set(LANGUAGE_NAMES) == {"es", "en"}


def test_the_core_can_be_imported_without_streamlit() -> None:
    code = "import sys; sys.modules['streamlit'] = None; import chatbot_mvp.app, chatbot_mvp.cli.main"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_pytest_finds_the_tests_without_options() -> None:
    assert configuration()["pytest"]["ini_options"]["testpaths"] == ["tests"]  # type: ignore[index]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/seeds/test_card.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "::test_nothing_is_left_of_reflex" in found.stdout


def test_nothing_is_left_of_reflex() -> None:
    assert "reflex" not in (ROOT / "requirements.txt").read_text("utf-8")
    assert [path for path in tracked() if path.startswith((".states/", "chatbot_mvp/components/"))] == []
    imports = re.compile(r"^\s*(import|from) reflex\b", re.M)
    sources = [path for path in tracked() if path.endswith(".py")]
    assert [path for path in sources if imports.search((ROOT / path).read_text("utf-8"))] == []


def test_the_core_is_typed_strictly() -> None:
    overrides = configuration()["mypy"]["overrides"]
    assert {"module": "chatbot_mvp.*", "strict": True} in overrides  # type: ignore[operator]
    assert (ROOT / "chatbot_mvp" / "py.typed").is_file()
    assert "$(BIN)/mypy" in (ROOT / "Makefile").read_text("utf-8")


def test_the_core_has_no_event_loop_of_its_own() -> None:
    """Where a framework runs a loop, as the server of the endpoint does, its loop is used."""
    started = re.compile(r"asyncio\.run\(|new_event_loop|_run_async|run_until_complete")
    sources = (ROOT / "chatbot_mvp").rglob("*.py")
    assert [path for path in sources if started.search(path.read_text("utf-8"))] == []


def expressions_of_ci() -> list[str]:
    """What CI gives to pytest's ``-m``: by the target of README.md, then by others."""
    rules = re.findall(r"^(\w+):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    commands = {name: re.findall(r'WHICH="([^"]+)"', recipe) for name, recipe in rules}
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    calls = re.findall(r'^part .* make (\w+)(?: WHICH="([^"]+)")?$', run, re.M)
    return [expression for target, which in calls for expression in ([which] if which else commands[target])]


def test_ci_runs_the_command_of_the_readme_and_leaves_no_test_out() -> None:
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert re.search(r"^part .* make test$", (ROOT / ".ci" / "run").read_text("utf-8"), re.M)
    called = [Expression.compile(expression) for expression in expressions_of_ci()]
    names = ("slow", "costly")
    for marks in itertools.product((False, True), repeat=len(names)):
        has = {name for name, marked in zip(names, marks, strict=True) if marked}
        assert any(expression.evaluate(has.__contains__) for expression in called), f"nobody runs what is {has}"


def test_a_statement_is_missed_if_none_of_its_tests_ran() -> None:
    ran = {f"tests/{test}" for statement in read_statements() for test in statement.tests}
    assert not_shown(ran) == []
    without = ran - {"tests/knowledge_base/test_store.py::test_a_kb_is_there_for_a_new_store_over_the_same_folder"}
    assert "K12" in {each.id for each in not_shown(without)}
