"""Absurd addresses and things that another tab has deleted: a page says what is missing, and no exception is shown."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import KbQuestion, SetQuestion
from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import load_settings
from tests.ui.test_pages import PAGES, ROOT, open_page, texts

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")

PARAMETERS = ("lang", "s", "tour", "view", "run", "query", "compare")
ABSURD: dict[str, str | list[str]] = {
    "long": "x" * 10_000,
    "many": ",".join(f"run{position}" for position in range(2_000)),
    "nul": "a\0b",
    "no character": "a\ufffd\uffffb",  # what the server makes of bytes that are no UTF-8
    "list": ["a", "b"],
    "path": "../../etc/passwd",
    "braces": "{0} {name} %s",
    "nothing": "",
    "spaces": " \t\n ",
}
KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("filled")
    app = build_app(
        load_settings(data_dir=made, retrieval_strategy="LEXICAL", generation_enabled=False, provider="demo")
    )
    kb = app.kbs.add("normas.md", KB.encode())
    question = SetQuestion(
        KbQuestion("a", "¿De cuánto es la dieta?", "answerable", "La dieta completa es de 48 euros.")
    )
    app.question_sets.save(replace(app.question_sets.empty_set(kb.kb_id, "mías"), questions=(question,)))
    for _ in range(2):
        app.runs.run_now(eval_max_queries=2)
    return made


@pytest.fixture
def filled(folder: Path, data_dir: Path) -> App:
    shutil.copytree(folder, data_dir, dirs_exist_ok=True)
    return build_app(load_settings())


def open_at(name: str, address: dict[str, Any]) -> AppTest:
    """The page as a reload opens it: with its address, and without a session."""
    page = AppTest.from_file(str(ROOT / "streamlit_app" / "Inicio.py"), default_timeout=120)
    for key, value in address.items():
        page.query_params[key] = value
    page.run()
    if PAGES[name]:
        page.switch_page(str(PAGES[name]))
        for key, value in address.items():
            page.query_params[key] = value
        page.run()
    return page


@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize(
    "name", ["evaluation", *(pytest.param(name, marks=pytest.mark.slow) for name in PAGES if name != "evaluation")]
)
def test_no_absurd_address_fails(filled: App, name: str, value: str) -> None:
    page = open_at(name, dict.fromkeys(PARAMETERS, ABSURD[value]))
    assert not page.exception
    assert page.title or page.header


@pytest.mark.slow
@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_no_absurd_parameter_fails_on_the_page_of_runs(filled: App, parameter: str, value: str) -> None:
    first = filled.archive.runs()[0][0].run_id
    page = open_at("evaluation", ({"run": first} if parameter == "query" else {}) | {parameter: ABSURD[value]})
    assert not page.exception
    assert page.title
    assert all(len(warning.value) < 3_000 for warning in page.warning)


# --- what another tab deletes while a page is open


def without_run(app: App) -> None:
    shutil.rmtree(app.settings.results_dir / app.archive.runs()[0][0].run_id)


def without_runs(app: App) -> None:
    shutil.rmtree(app.settings.results_dir)
    app.settings.submissions_path.unlink()


def without_kb(app: App) -> None:
    for record in app.kbs.records():
        app.kbs.delete(record.kb_id)


def without_set(app: App) -> None:
    for record in app.kbs.records():
        for one in app.question_sets.sets(record.kb_id):
            app.question_sets.delete_set(record.kb_id, one.set_id)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "delete"),
    [
        ("home", without_run),
        ("home", without_runs),
        ("home", without_kb),
        ("evaluation", without_run),
        ("evaluation", without_runs),
        ("chat", without_kb),
        ("admin", without_kb),
        ("admin", without_runs),
        ("mykb", without_kb),
        ("mykb", without_set),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_page_that_is_open_survives_what_another_tab_deletes(
    filled: App, name: str, delete: Callable[[App], None]
) -> None:
    newest = filled.archive.runs()[0][0].run_id
    page = open_page(name, **({"run": newest} if name == "evaluation" else {}))
    delete(filled)
    page.run()
    assert not page.exception
    assert page.title or page.header
    if delete is without_run and name == "evaluation":
        assert newest in texts(page)


def pressed(page: AppTest, key: str) -> AppTest:
    found = [button for button in page.button if str(button.key).startswith(key) and not button.disabled]
    return found[0].click().run() if found else page


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "delete", "key"),
    [
        ("home", without_runs, "open-run-0"),
        ("admin", without_kb, "use-"),
        ("admin", without_kb, "look-"),
        ("admin", without_kb, "reindex-"),
        ("mykb", without_kb, "mykb_run"),
        ("mykb", without_kb, "mykb_propose"),
        ("mykb", without_kb, "mykb_empty"),
        ("mykb", without_kb, "mykb_rename"),
        ("mykb", without_set, "mykb_run"),
        ("mykb", without_set, "mykb_rename"),
        ("evaluation", without_run, "use-in-chat-"),
        ("evaluation", without_runs, "use-in-chat-"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_button_on_what_another_tab_has_deleted_says_so(
    filled: App, name: str, delete: Callable[[App], None], key: str
) -> None:
    newest = filled.archive.runs()[0][0].run_id
    page = open_page(name, **({"run": newest} if name == "evaluation" else {}))
    assert any(str(button.key).startswith(key) for button in page.button), [button.key for button in page.button]
    delete(filled)
    page = pressed(page, key)
    assert not page.exception
    assert page.title or page.header


def test_a_question_to_a_knowledge_base_that_another_tab_has_deleted_asks_for_one(filled: App) -> None:
    page = open_page("chat")
    without_kb(filled)
    page.chat_input[0].set_value("¿De cuánto es la dieta?").run()
    assert not page.exception
    assert page.info
