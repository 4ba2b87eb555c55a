"""With a password, a visitor who did not sign in changes nothing that is shared, and spends nothing.

Streamlit ignores messages to disabled widgets. Here all widgets are drawn as for an administrator, so that nothing but
the gate before the App refuses.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import KbQuestion, SetQuestion
from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import load_settings
from streamlit_app.shared.permissions import SIGNED_IN
from tests.ui.test_pages import PAGES, open_page

PASSWORD = "una contraseña larga"
KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
QUESTIONS = (
    SetQuestion(KbQuestion("a", "¿De cuánto es la dieta completa?", "answerable", "La dieta completa es de 48 euros.")),
    SetQuestion(KbQuestion("b", "¿Qué altura tiene la torre Eiffel?", "far")),
)
EXPECTED = {
    "home": "open-run-0",
    "evaluation": "bundle-make",
    "chat": "None",
    "admin": "run_start",
    "mykb": "mykb_propose",
    "document": "admin-sign-out",
}
"""Key of one button that a page must have, so that the test knows that it saw the page."""
OPEN_TO_ALL = re.compile(r"kb_sample|suggested-.*|tour-go-kb|use-in-chat-.*|chat-profile-back")
"""Keys of buttons that any visitor may use and that write files: they add the sample, or a conversation of theirs."""

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture
def shared(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """A server with a password that has two knowledge bases with questions, and a run."""
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    monkeypatch.setattr("streamlit_app.shared.guard.is_admin", lambda: True)
    app = build_app(load_settings())
    kb = app.kbs.add("normas.md", KB.encode())
    other = app.kbs.add("otras.md", KB.replace("48", "52").encode())
    app.question_sets.save(replace(app.question_sets.empty_set(other.kb_id, "otras"), questions=QUESTIONS))
    app.question_sets.save(replace(app.question_sets.empty_set(kb.kb_id, "mías"), questions=QUESTIONS))
    run = app.runs.run_now(eval_max_queries=3, generation_enabled=False)
    app.archive.tag(run.run_id, ["línea base"], [])
    app.archive.write_note(run.run_id, "nota", "")
    yield app


def kept(data_dir: Path) -> dict[str, str]:
    """The content of each file that visitors share; no logs, indexes, cached replies and keys."""
    derived = re.compile(r"logs/|cache/|\.lock$|\.sqlite|index|^visitor\.key$")
    paths = (path for path in sorted(data_dir.rglob("*")) if path.is_file())
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if not derived.search(name := str(path.relative_to(data_dir)))
    }


def page_of_kb(app: App, step: str = "questions") -> AppTest:
    newest = next(record for record in app.kbs.records() if record.kb_name == "normas.md")
    page = open_page("mykb")
    page.session_state["kb_id"] = newest.kb_id
    page.session_state["mykb_step"] = step
    return page.run()


def press(page: AppTest, key: str) -> AppTest:
    page.button(key=key).click().run()
    return page


def say(page: AppTest, key: str, text: str) -> AppTest:
    next(field for field in page.text_input if str(field.key).startswith(key)).input(text).run()
    return page


def without_rows(page: AppTest) -> AppTest:
    """Delete all rows of the table of questions, as its widget says it, and press "Save"."""
    [table] = page.dataframe
    edited = json.dumps({"edited_rows": {}, "added_rows": [], "deleted_rows": list(range(len(QUESTIONS)))})
    for step in ("edit", "save"):
        if step == "save":
            page.button(key="mykb_save").click()
        states = page._tree.get_widget_states()
        states.widgets.append(WidgetState(id=table.proto.id, string_value=edited))
        page = page._run(states)
    return page


def one_more(page: AppTest) -> AppTest:
    """Add a question with the form."""
    [text] = [area for area in page.text_area if str(area.key).startswith("mykb-q-")]
    text.input("¿Otra pregunta?")
    [send] = [button for button in page.button if str(button.key).startswith("mykb-one-save-")]
    return send.click().run()


ON_QUESTIONS = {
    "empty the table and save": without_rows,
    "add a question": one_more,
    "rename": lambda page: press(say(page, "mykb-name-", "otro nombre"), "mykb_rename"),
    "propose": lambda page: press(page, "mykb_propose"),
    "evaluate": lambda page: press(page, "mykb_run"),
    "new set": lambda page: press(page, "mykb_empty"),
    "copy a set": lambda page: press(page, "mykb_copy"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("act", list(ON_QUESTIONS))
def test_a_visitor_changes_no_question_sets_and_an_administrator_does(shared: App, data_dir: Path, act: str) -> None:
    before = kept(data_dir)
    page = ON_QUESTIONS[act](page_of_kb(shared))
    assert kept(data_dir) == before
    assert "solo para quien administra" in "".join(error.value for error in page.error)
    administrator = page_of_kb(shared)
    administrator.session_state[SIGNED_IN] = True
    ON_QUESTIONS[act](administrator.run())
    assert kept(data_dir) != before


@pytest.mark.slow
def test_a_visitor_changes_no_tags_and_no_notes_and_an_administrator_does(shared: App, data_dir: Path) -> None:
    run_id = shared.archive.runs()[0][0].run_id
    page = open_page("evaluation", run=run_id)
    before = kept(data_dir)
    page.multiselect(key=f"runs-tags-{run_id}").set_value([]).run()
    assert "solo para quien administra" in page.error[0].value
    page.text_area(key=f"runs-note-{run_id}").input("cambiada").run()
    assert kept(data_dir) == before
    page.session_state[SIGNED_IN] = True
    page.run().multiselect(key=f"runs-tags-{run_id}").set_value([]).run()
    assert kept(data_dir) != before


def test_the_tour_starts_no_run_for_a_visitor(shared: App, data_dir: Path) -> None:
    page = open_page("home")
    page.session_state["tour"] = "on"
    page.run()
    before = kept(data_dir)
    for button in [button for button in page.button if str(button.key).startswith("tour-go-")]:
        press(page, str(button.key))
    assert kept(data_dir) == before


@pytest.mark.slow
@pytest.mark.page_errors
@pytest.mark.parametrize("name", list(PAGES))
def test_no_button_of_any_page_lets_a_visitor_change_what_is_shared(shared: App, data_dir: Path, name: str) -> None:
    """Press every button of the page; only adding the sample writes."""
    address = {"run": shared.archive.runs()[0][0].run_id} if name == "evaluation" else {}
    pressed: dict[str, str] = {}
    while True:
        page = open_page(name, **address)
        found = [button for button in page.button if button.proto.id not in pressed and not button.disabled]
        if not found:
            break
        pressed[found[0].proto.id] = str(found[0].key)
        before = kept(data_dir)
        found[0].click().run()
        assert kept(data_dir) == before or OPEN_TO_ALL.fullmatch(str(found[0].key)), found[0].key
    assert EXPECTED[name] in pressed.values()


def test_widgets_that_a_visitor_may_not_use_are_disabled_and_say_why(
    shared: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamlit_app.shared.guard.is_admin", lambda: False)
    page = page_of_kb(shared)
    for key in ("mykb_save", "mykb_run", "mykb_propose", "mykb_empty", "mykb_copy", "mykb_rename", "mykb_delete"):
        assert page.button(key=key).disabled, key
        assert "Administración" in page.button(key=key).help
    [table] = page.dataframe
    assert table.proto.disabled
