"""Pages say how old a cited text is, what has become of it, and of the passages that questions expect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.api import KbQuestion, KbRecord, SetQuestion
from chatbot_mvp.knowledge_base.changes import Remove
from streamlit_app.shared.state import get_app
from tests.moving import ALLOWANCES, HOLIDAYS, HOW_MANY_DAYS, PARKING, WHOSE_PLACE, document, moving_kb
from tests.ui.test_mykb_page import results
from tests.ui.test_pages import open_page, open_sources, texts

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")
NEW_DAYS = HOLIDAYS.replace("23 días", "25 días")


@pytest.fixture
def kb(data_dir: Path, no_keys: None) -> KbRecord:
    app = get_app()
    return app.kbs.store.record(moving_kb(app))


def with_set(kb: KbRecord) -> str:
    rows = [
        SetQuestion(KbQuestion("days", HOW_MANY_DAYS, "answerable", HOLIDAYS.split("\n\n")[1])),
        SetQuestion(KbQuestion("place", WHOSE_PLACE, "answerable", PARKING.split("\n\n")[1])),
    ]
    sets = get_app().question_sets
    return sets.save(replace(sets.empty_set(kb.kb_id, "mías"), questions=tuple(rows))).set_id


def changed(kb: KbRecord) -> None:
    get_app().kb_changes.change(kb.kb_id, [Remove("edificio/")], [document("personas/vacaciones.md", NEW_DAYS)])


@pytest.mark.parametrize(
    ("language", "age", "said"),
    [
        (
            "es",
            "versión 1 de la base, actualizado hoy",
            "Este texto ha cambiado desde la respuesta. Qué dice ahora personas/",
        ),
        (
            "en",
            "version 1 of the base, updated today",
            "This text has changed since the answer. What personas/",
        ),
    ],
)
def test_an_old_answer_shows_what_it_cited_then_and_what_stands_there_now(
    kb: KbRecord, language: str, age: str, said: str
) -> None:
    page = open_page("chat", language)
    page.chat_input[0].set_value(HOW_MANY_DAYS).run()
    before = texts(open_sources(page))
    assert f"personas/vacaciones.md, {age}" in before
    assert said not in before
    changed(kb)
    after = texts(page.run())
    assert said in after
    assert "23 días" in after and "25 días" in after


def test_the_page_of_questions_shows_changed_passages_and_takes_the_new_one(kb: KbRecord) -> None:
    set_id = with_set(kb)
    assert "Pasajes esperados" not in texts(open_page("mykb"))
    changed(kb)
    page = open_page("mykb")
    assert not page.exception
    [shown] = [one for one in page.expander if "Pasajes esperados" in one.label]
    assert "cambiados: 1 · desaparecidos: 1" in shown.label
    assert "25 días" in texts(page)
    page = page.button(key="mykb_take_days").click().run()
    assert not page.exception
    saved = get_app().question_sets.question_set(kb.kb_id, set_id)
    assert saved.questions[0].question.paragraph == NEW_DAYS.split("\n\n")[1]
    assert len(saved.questions) == 2


def test_a_result_of_an_earlier_version_names_it_and_shows_its_passages(kb: KbRecord) -> None:
    get_app().kb_evaluation.evaluate(kb.kb_id, with_set(kb))
    changed(kb)
    assert "Esta ejecución es de la versión 1; la actual es la 2." in texts(results())


def test_a_comparison_of_two_versions_says_so(kb: KbRecord) -> None:
    set_id = with_set(kb)
    first = get_app().kb_evaluation.evaluate(kb.kb_id, set_id)["run_id"]
    changed(kb)
    second = get_app().kb_evaluation.evaluate(kb.kb_id, set_id)["run_id"]
    page = open_page("evaluation", compare=f"{first},{second}")
    assert not page.exception
    assert "Versiones distintas de la base: 1, 2." in texts(page)
    assert "cambió entre ellas: 2 (days, place)" in texts(page)


def test_text_that_was_purged_is_said_to_be(kb: KbRecord) -> None:
    page = open_page("chat")
    page.chat_input[0].set_value(WHOSE_PLACE).run()
    assert "Zabalbeascoa" in texts(open_sources(page))
    get_app().kb_changes.purge(kb.kb_id, ["edificio/aparcamiento.md"])
    after = texts(page.run())
    assert "Zabalbeascoa" not in after
    assert after.count("Este texto se retiró de todas partes el") == 1
    said = [one.value for kind in (page.markdown, page.caption) for one in kind if "retirado 20" in one.value]
    assert len(said) == 1, "in the answer's place alone"
    assert ALLOWANCES.split("\n\n")[1] in get_app().kbs.document(kb.kb_id).text


def test_the_page_asks_before_a_document_is_purged(kb: KbRecord) -> None:
    page = open_page("admin")
    assert page.button(key=f"purge-{kb.kb_id}").disabled
    page = page.multiselect(key=f"purge-paths-{kb.kb_id}").set_value(["edificio/aparcamiento.md"]).run()
    page = page.button(key=f"purge-{kb.kb_id}").click().run()
    assert not page.exception
    assert "No se puede deshacer" in texts(page)
    assert page.button(key="purge_yes").label == "Retirar de todas partes"
    assert "edificio/aparcamiento.md" in get_app().kbs.store.record(kb.kb_id).files
