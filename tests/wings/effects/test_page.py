"""The step *Cambios*: asks both versions, says what became of the answers, publishes or drops the draft."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.wings.effects.service import Effects
from streamlit_app.shared.state import get_app
from tests.ui.test_pages import open_page, texts
from tests.waiting import wait_until
from tests.wings.effects.kb import QUESTIONS, made, staged

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture
def kb_id(data_dir: Path, no_keys: None) -> str:
    return made(get_app())


def with_set(kb_id: str) -> None:
    sets = get_app().question_sets
    rows = tuple(map(SetQuestion, QUESTIONS))
    sets.save(replace(sets.empty_set(kb_id, "mías"), questions=rows))


def changes(language: str = "es") -> AppTest:
    page = open_page("mykb", language)
    page.session_state["mykb_step"] = "effects"
    page = page.run()
    assert not page.exception, page.exception
    return page


def compared(kb_id: str, language: str = "es") -> AppTest:
    page = changes(language).button(key="effects_start").click().run()
    assert not page.exception, page.exception
    wait_until(lambda: get_app().get(Effects).comparisons(kb_id)[0].finished, 60, "the end of the job")
    wait_until(lambda: not get_app().get(Effects).comparisons(kb_id)[0].active, 60, "the end of the job's state")
    return changes(language)


def test_a_knowledge_base_with_one_version_has_nothing_to_compare(kb_id: str) -> None:
    page = changes()
    assert "Esta base solo tiene una versión" in texts(page)
    assert "effects_start" not in {button.key for button in page.button}


@pytest.mark.parametrize(
    ("language", "headline", "verdict"),
    [
        ("es", "De 5 preguntas, 1 cambia de respuesta, 1 se pierde y 1 se gana", "no se puede saber"),
        ("en", "Of 5 questions, 1 changes its answer, 1 is lost and 1 is gained", "cannot tell"),
    ],
)
def test_the_draft_is_compared_and_the_answers_stand_side_by_side(
    kb_id: str, language: str, headline: str, verdict: str
) -> None:
    with_set(kb_id)
    staged(get_app(), kb_id)
    page = compared(kb_id, language)
    told = texts(page)
    assert headline in told
    assert verdict in told
    labels = [one.label for one in page.expander]
    assert sum(QUESTIONS[2].question in label for label in labels) == 1
    assert not any(QUESTIONS[4].question in label for label in labels), "what both decline is shown on demand"
    assert "48 euros" in told and "53 euros" in told
    assert "vacaciones.md" in told and "rrhh/vacaciones.md" in told


def test_publishing_makes_the_draft_the_current_version(kb_id: str) -> None:
    with_set(kb_id)
    version = staged(get_app(), kb_id)
    page = compared(kb_id).button(key="effects_publish").click().run()
    assert not page.exception
    assert get_app().kbs.store.record(kb_id).version == version
    page = changes()
    assert "effects_publish" not in {button.key for button in page.button}
    assert "De 5 preguntas" in texts(page), "the comparison stays"


def test_a_draft_is_dropped_only_after_a_confirmation(kb_id: str) -> None:
    with_set(kb_id)
    staged(get_app(), kb_id)
    page = compared(kb_id).button(key="effects_drop").click().run()
    assert not page.exception
    assert page.button(key="effects_drop_yes").label == "Descartar el borrador"
    assert get_app().kb_changes.staged(kb_id) is not None


def test_without_questions_the_page_says_what_is_missing(kb_id: str) -> None:
    staged(get_app(), kb_id)
    page = changes().button(key="effects_start").click().run()
    assert "No se conserva ninguna pregunta del chat" in texts(page)


def test_an_unfinished_comparison_is_continued_from_the_page(kb_id: str) -> None:
    with_set(kb_id)
    staged(get_app(), kb_id)
    service = get_app().get(Effects)
    effects_id = service.create(service.plan(kb_id))
    page = changes()
    assert "Sin terminar: 0 de 10 respuestas" in texts(page)
    page.button(key=f"effects_resume_{effects_id}").click().run()
    wait_until(lambda: service.comparisons(kb_id)[0].finished, 60, "the end of the job")
    assert "De 5 preguntas" in texts(changes())
