"""Evaluate my KB: two tabs edit the same question set."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import KbQuestion, KbRecord, SetQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSet
from streamlit_app.shared.state import get_app
from tests.ui.test_pages import open_page, texts

KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
MINE, THEIRS = "¿Cuánto cuesta la dieta?", "¿Qué se paga de dieta?"

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture
def kb(data_dir: Path, no_keys: None) -> KbRecord:
    return get_app().kbs.add("normas.md", KB.encode())


@pytest.fixture
def first(kb: KbRecord) -> QuestionSet:
    """The set as both tabs have it at first."""
    sets = get_app().question_sets
    rows = (SetQuestion(KbQuestion("a", "¿Y la dieta?", "far")), SetQuestion(KbQuestion("b", "¿Y el vino?", "far")))
    return sets.save(replace(sets.empty_set(kb.kb_id, "mías"), questions=rows))


def typed(page: AppTest, rows: dict[int, dict[str, Any]], press: str = "") -> AppTest:
    """Run the page with edits in the table, as its widget sends them with every interaction."""
    if press:
        page.button(key=press).click()
    [table] = page.dataframe
    edited = json.dumps({"edited_rows": rows, "added_rows": [], "deleted_rows": []})
    states = page._tree.get_widget_states()
    states.widgets.append(WidgetState(id=table.proto.id, string_value=edited))
    page = page._run(states)
    assert not page.exception, page.exception
    return page


def other_tab_saves(first: QuestionSet, row: int, text: str) -> None:
    rows = list(first.questions)
    rows[row] = rows[row].changed_to(replace(rows[row].question, question=text), True)
    get_app().question_sets.save(replace(first, questions=tuple(rows)))


def asked(first: QuestionSet) -> list[str]:
    found = get_app().question_sets.question_set(first.kb_id, first.set_id)
    return [each.question.question for each in found.questions]


def test_what_is_typed_stays_and_is_joined_with_what_the_other_tab_saved(first: QuestionSet) -> None:
    page = typed(open_page("mykb"), {0: {"question": MINE}})
    other_tab_saves(first, 1, THEIRS)
    page = typed(page, {0: {"question": MINE}})
    assert "Otra persona ha cambiado estas preguntas" in texts(page)
    assert "Hay cambios sin guardar" in texts(page)
    page = typed(page, {0: {"question": MINE}}, press="mykb_save")
    assert asked(first) == [MINE, THEIRS]
    assert "se han unido" in texts(page)
    assert "Otra persona ha cambiado estas preguntas" not in texts(page)


def test_a_question_that_both_changed_is_there_in_both_versions(first: QuestionSet) -> None:
    page = typed(open_page("mykb"), {0: {"question": MINE}})
    other_tab_saves(first, 0, THEIRS)
    # "Save" is the first interaction after the other tab's.
    page = typed(page, {0: {"question": MINE}}, press="mykb_save")
    assert asked(first) == [THEIRS, MINE, "¿Y el vino?"]
    assert "cambiaron ambos: 1." in texts(page)


@pytest.mark.parametrize("language", ["es", "en"])
def test_a_question_typed_in_the_form_is_added_to_what_the_other_tab_saved(first: QuestionSet, language: str) -> None:
    page = open_page("mykb", language)
    other_tab_saves(first, 1, THEIRS)
    [text] = [area for area in page.text_area if str(area.key).startswith("mykb-q-")]
    text.input(MINE)
    [send] = [button for button in page.button if str(button.key).startswith("mykb-one-save-")]
    page = send.click().run()
    assert not page.exception
    assert asked(first) == ["¿Y la dieta?", THEIRS, MINE]


def test_the_other_version_can_be_loaded_instead(first: QuestionSet) -> None:
    page = typed(open_page("mykb"), {0: {"question": MINE}})
    other_tab_saves(first, 0, THEIRS)
    page = typed(page, {0: {"question": MINE}})
    page = typed(page, {0: {"question": MINE}}, press="mykb_load")
    assert "Hay cambios sin guardar" not in texts(page)
    assert "Otra persona ha cambiado estas preguntas" not in texts(page)
    assert asked(first) == [THEIRS, "¿Y el vino?"]


def test_a_set_that_the_other_tab_deleted_stays_until_it_is_saved_or_given_up(first: QuestionSet) -> None:
    page = typed(open_page("mykb"), {0: {"question": MINE}})
    get_app().question_sets.delete_set(first.kb_id, first.set_id)
    page = typed(page, {0: {"question": MINE}})
    assert "Otra persona ha eliminado estas preguntas" in texts(page)
    page = typed(page, {0: {"question": MINE}}, press="mykb_save")
    assert asked(first) == [MINE, "¿Y el vino?"]
    get_app().question_sets.delete_set(first.kb_id, first.set_id)
    page = page.run()
    assert "Otra persona ha eliminado estas preguntas" in texts(page)
    page = page.button(key="mykb_load").click().run()
    assert not page.exception
    assert "Otra persona ha eliminado estas preguntas" not in texts(page)


def test_reviewed_questions_of_another_version_are_saved_with_what_is_typed(kb: KbRecord, first: QuestionSet) -> None:
    later = get_app().kbs.add("normas.md", KB.replace("48", "52").encode())
    copied = get_app().question_sets.copy_set(kb.kb_id, first.set_id, later.kb_id)
    page = typed(open_page("mykb"), {0: {"question": MINE}})
    page = typed(page, {0: {"question": MINE}}, press="mykb_accept")
    assert "para otra versión del documento" not in texts(page)
    assert asked(copied)[0] == MINE
