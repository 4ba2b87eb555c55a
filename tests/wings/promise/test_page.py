"""The promise below the results of Evaluate my KB: made, used in the chat, taken back with the reason."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.api import KbQuestion, KbRecord, SetQuestion
from chatbot_mvp.storage.jsonl import append_lines
from chatbot_mvp.wings.promise.service import Promises
from streamlit_app.shared.state import get_app
from tests.ui.test_mykb_page import DIET, KB, QUESTIONS, results
from tests.ui.test_pages import texts

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture
def kb(data_dir: Path, no_keys: None) -> KbRecord:
    return get_app().kbs.add("normas.md", KB.encode())


def with_promise(kb: KbRecord, right: int) -> str:
    """Save and run a set of questions that people labelled, and return the id of its result."""
    rng = random.Random(1)
    words = ["".join(rng.choices("bcdfgmnprst", k=8)) for _ in range(3 * right)]  # so that no question repeats another
    asked = [
        SetQuestion(KbQuestion(f"r{n}", f"¿dieta completa {' '.join(words[n::right])}?", "answerable", DIET))
        for n in range(right)
    ]
    sets = get_app().question_sets
    made = sets.save(replace(sets.empty_set(kb.kb_id, "de *personas*"), questions=tuple(asked)))
    return str(get_app().kb_evaluation.evaluate(kb.kb_id, made.set_id)["run_id"])


def test_the_promise_says_how_many_labels_are_missing_and_what_was_left_out(kb: KbRecord) -> None:
    with_promise(kb, 3)
    page = results().button(key="mykb_promise_make").click().run()
    assert not page.exception
    told = texts(page)
    assert "Todavía no se puede prometer 5 %" in told
    assert "Precio" in told
    assert "Preguntas de otros temas: para prometer 5 % faltan 59" in told
    assert "mykb_promise_apply" not in {button.key for button in page.button}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("language", "promise", "back"),
    [
        ("es", "como máximo 20 % serán equivocadas, con una confianza de 95 %", "La configuración de la búsqueda"),
        ("en", "At most 20% of the answers with a ✓ are wrong, with 95% confidence", "The configuration of the search"),
    ],
)
def test_a_promise_is_said_used_in_the_chat_and_taken_back_with_the_reason(
    kb: KbRecord, ticked: None, language: str, promise: str, back: str
) -> None:
    with_promise(kb, 30)
    get_app().live.change("kb_min_proof", 2.0)
    page = results(language).select_slider(key="mykb_promise_level").set_value(0.2).run()
    page = page.toggle(key="mykb_promise_singly").set_value(True).run()
    page = page.button(key="mykb_promise_make").click().run()
    assert not page.exception
    assert promise in texts(page).replace("\xa0", " ")
    page = page.button(key="mykb_promise_apply").click().run()
    assert not page.exception
    state = get_app().get(Promises).state(kb.kb_id)
    assert state is not None and state.in_chat and state.applies
    assert get_app().settings.kb_min_proof == state.promise.threshold == 1.0
    get_app().live.change("kb_top_k", get_app().settings.kb_top_k + 1)
    told = texts(results(language))
    assert back in told and promise not in told


def test_questions_of_rules_get_an_error_in_place_of_a_promise(kb: KbRecord) -> None:
    sets = get_app().question_sets
    rules = [replace(one, origin="rules") for one in QUESTIONS]
    made = sets.save(replace(sets.empty_set(kb.kb_id, "reglas"), questions=tuple(rules)))
    get_app().kb_evaluation.evaluate(kb.kb_id, made.set_id)
    page = results().button(key="mykb_promise_make").click().run()
    assert not page.exception
    assert get_app().get(Promises).state(kb.kb_id) is None
    assert "Ninguna de las 4 preguntas de «reglas» sirve para una promesa" in " ".join(one.value for one in page.error)


@pytest.mark.slow
def test_live_questions_that_differ_raise_an_alarm_and_visitors_do_not_see_their_words(
    kb: KbRecord, ticked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_app().get(Promises).make(kb.kb_id, with_promise(kb, 30), 0.2, "question")
    state = get_app().get(Promises).state(kb.kb_id)
    assert state is not None and state.applies
    line = {
        "kb_id": kb.kb_id,
        "timestamp": "9999-01-01T00:00:00Z",
        "fingerprint": state.promise.basis.fingerprint,
        "query": "una pregunta ajena",
        "format_version": 1,
        "outcome": "answered",
        "query_hash": "ab",
        "evidence": 0.01,
    }
    path = get_app().settings.metrics_log_path
    path.parent.mkdir(parents=True, exist_ok=True)
    append_lines(path, [line] * 50)
    page = results()
    assert "distintas de las que usted etiquetó" in texts(page)
    assert "queda anulada. Las preguntas del chat son distintas" in texts(page).replace("\n", " ")
    assert [frame for frame in page.dataframe if "una pregunta ajena" in frame.value.to_string()]
    monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
    get_app.clear()
    page = results()
    assert "distintas de las que usted etiquetó" not in texts(page)
    assert not [frame for frame in page.dataframe if "una pregunta ajena" in frame.value.to_string()]


def test_the_name_of_a_set_appears_literally_beside_its_promise(kb: KbRecord) -> None:
    get_app().get(Promises).make(kb.kb_id, with_promise(kb, 3), 0.05)
    [basis] = [one.value for one in results().caption if "Calculada con" in one.value]
    assert r"\*personas\*" in basis
