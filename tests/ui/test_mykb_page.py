"""Evaluate my KB: without a knowledge base, with one, with questions, with results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import KbQuestion, KbRecord, SetQuestion
from chatbot_mvp.chat.prompting import no_evidence
from chatbot_mvp.runs.payloads import Said
from streamlit_app.mykb import jobs
from streamlit_app.mykb.rows import why
from streamlit_app.shared.state import get_app
from tests.llm.saying_server import SayingServer
from tests.ui.test_pages import open_page, passages, texts
from tests.waiting import wait_until

DIET = "La dieta completa es de 48 euros."
KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
QUESTIONS = (
    SetQuestion(KbQuestion("a", "¿De cuánto es la dieta completa?", "answerable", "La dieta completa es de 48 euros.")),
    SetQuestion(KbQuestion("b", "¿De cuántos días dispone cada persona?", "answerable", "Esto no está.")),
    SetQuestion(KbQuestion("c", "¿Qué altura tiene la torre Eiffel?", "far")),
    SetQuestion(KbQuestion("d", "¿Quién inventó la dieta completa?", "near")),
)

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture
def kb(data_dir: Path, no_keys: None) -> KbRecord:
    return get_app().kbs.add("normas.md", KB.encode())


CITIES = ("Lima", "Oslo", "Roma", "Quito", "Berna", "Praga", "Viena", "Turín", "Cork", "Bari")


def test_a_deleted_set_is_had_back_where_it_was(kb: KbRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit_app.mykb.questions.confirm", lambda *asked: asked[-1]())
    made = with_set(kb)
    page = open_page("mykb")
    page.button(key="mykb_delete").click().run()
    assert get_app().question_sets.sets(kb.kb_id) == []
    page.run()
    assert "Se ha eliminado «mías»" in texts(page)
    page.button(key=f"undelete-{made}").click().run()
    assert [one.set_id for one in get_app().question_sets.sets(kb.kb_id)] == [made]


def with_set(kb: KbRecord, name: str = "mías") -> str:
    sets = get_app().question_sets
    return sets.save(replace(sets.empty_set(kb.kb_id, name), questions=QUESTIONS)).set_id


def wait(kb: KbRecord) -> str:
    """The id of what the latest job made."""
    wait_until(lambda: not get_app().kb_evaluation.jobs(kb.kb_id)[0].status.active, 60, "the end of the job")
    return get_app().kb_evaluation.jobs(kb.kb_id)[0].made


def asked(kb: KbRecord, set_id: str) -> str:
    get_app().kb_evaluation.start(kb.kb_id, set_id)
    return wait(kb)


def every_question(page: AppTest) -> AppTest:
    """The list of a result's questions without its first filter, which shows what failed."""
    [shown] = [control for control in page.segmented_control if str(control.key).startswith("mykb-filter-")]
    return shown.set_value("all").run()


def results(language: str = "es") -> AppTest:
    page = open_page("mykb", language)
    page.session_state["mykb_step"] = "results"
    page = page.run()
    assert not page.exception, page.exception
    return page


def test_without_a_knowledge_base_the_sample_is_one_click_away() -> None:
    page = open_page("mykb")
    assert "hace falta una base" in texts(page)
    page = page.button(key="kb_sample").click().run()
    assert not page.exception
    assert page.button(key="mykb_propose")


@pytest.mark.parametrize(("language", "told"), [("es", "Sin modelo de lenguaje"), ("en", "Without a language model")])
def test_with_a_knowledge_base_it_proposes_and_shows_what_was_proposed(kb: KbRecord, language: str, told: str) -> None:
    page = open_page("mykb", language)
    assert told in texts(page)
    page = page.select_slider(key="mykb_count").set_value(12).run()
    page = page.button(key="mykb_propose").click().run()
    assert not page.exception
    set_id = wait(kb)
    page = page.run()
    assert page.session_state["mykb_set"] == set_id
    counts = get_app().question_sets.question_set(kb.kb_id, set_id).counts()
    assert counts["answerable"] > 0
    assert str(sum(counts.values())) in page.button(key="mykb_run").label


def test_a_job_that_ends_while_the_page_is_drawn_shows_its_result(
    kb: KbRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_set(kb)
    page = open_page("mykb")
    looks: list[bool] = []
    taken = jobs.take_ended

    def look(kb: KbRecord) -> None:
        """See the job at work in the run after the click, though it ends before the rest of the page is drawn."""
        started = bool(get_app().kb_evaluation.jobs(kb.kb_id))
        if started and any(looks):
            taken(kb)
        elif started:
            wait(kb)
        looks.append(started)

    monkeypatch.setattr(jobs, "take_ended", look)
    page = page.button(key="mykb_run").click().run()
    assert not page.exception
    assert page.session_state["mykb_step"] == "results"


def test_a_step_that_is_no_longer_there_gives_way_to_the_first(kb: KbRecord) -> None:
    page = open_page("mykb")
    page.session_state["mykb_step"] = "of a package that was removed"
    page = page.run()
    assert not page.exception, page.exception
    assert page.session_state["mykb_step"] == "questions"


def test_a_question_is_added_and_another_changed_in_the_form(kb: KbRecord) -> None:
    set_id = with_set(kb)
    page = open_page("mykb")
    assert "Pasajes esperados que no están en el documento tal cual: 1" in texts(page)

    def place() -> str:
        return f"{set_id}-{get_app().question_sets.question_set(kb.kb_id, set_id).changed_at}"

    at = f"{place()}-new"
    chunk = get_app().kbs.chunks(kb.kb_id)[0]
    page.text_area(key=f"mykb-q-{at}").set_value("¿Cuántas vacaciones hay?")
    page.selectbox(key=f"mykb-c-{at}").set_value(chunk.chunk_id)
    page = page.button(key=f"mykb-one-save-{at}").click().run()
    assert not page.exception
    added = get_app().question_sets.question_set(kb.kb_id, set_id).questions[-1]
    assert (added.question.question, added.origin) == ("¿Cuántas vacaciones hay?", "person")
    assert (added.question.paragraph, added.question.heading) == (chunk.text, chunk.section)

    page = page.selectbox(key=f"mykb-one-{set_id}").set_value("b").run()
    at = f"{place()}-b"
    page.text_area(key=f"mykb-p-{at}").set_value("Cada persona dispone de 23 días.")
    page = page.button(key=f"mykb-one-save-{at}").click().run()
    questions = get_app().question_sets.question_set(kb.kb_id, set_id)
    assert get_app().question_sets.check(questions).lost == ()
    assert "no están en el documento" not in texts(page)


def test_a_set_of_another_version_says_so_until_it_is_reviewed(kb: KbRecord) -> None:
    set_id = with_set(kb)
    later = get_app().kbs.add("normas.md", KB.replace("48", "52").encode())
    page = open_page("mykb")
    page = page.button(key="mykb_copy").click().run()
    assert "para otra versión del documento" in texts(page)
    assert "tal cual: 2" in texts(page)
    page = page.button(key="mykb_accept").click().run()
    assert "para otra versión del documento" not in texts(page)
    [copied] = get_app().question_sets.sets(later.kb_id)
    assert copied.set_id != set_id


def test_a_run_leads_to_its_result_and_a_failed_proposal_says_why(kb: KbRecord) -> None:
    with_set(kb)
    page = open_page("mykb")
    page = page.button(key="mykb_run").click().run()
    result_id = wait(kb)
    page = page.run()
    assert page.session_state["mykb_step"] == "results"
    assert page.session_state["mykb_result"] == result_id
    nothing = get_app().kbs.add("nada.txt", b"uno dos tres")
    get_app().kb_evaluation.propose(nothing.kb_id, "x", 12)
    wait(nothing)
    assert "No se pudo hacer ninguna pregunta" in open_page("mykb").error[0].value


@pytest.mark.parametrize("language", ["es", "en"])
def test_a_result_has_figures_with_counts_and_says_that_they_are_few(kb: KbRecord, language: str) -> None:
    asked(kb, with_set(kb))
    page = results(language)
    values = {metric.label: metric.value for metric in page.metric}
    first, wrong = (
        ("Lo señalado, el primero", "Sin respuesta y con evidencia")
        if language == "es"
        else (
            "Your passage first",
            "Unanswerable, with evidence",
        )
    )
    assert values[first] == ("100 %" if language == "es" else "100%")
    assert wrong in values
    assert ("Solo hay 2 preguntas con respuesta" if language == "es" else "only 2 answerable") in texts(page)
    assert len(values) == 2 + 2  # above the questions; at the threshold
    [table] = [one.value for one in every_question(page).dataframe if {"Pregunta", "Question"} & set(one.value)]
    assert len(table) == 4
    assert not {"Evidencia", "Evidencia y umbral", "Evidence", "Evidence and threshold"} & set(table)
    [result] = get_app().kb_evaluation.results(kb.kb_id)
    [identity] = [one for one in page.caption if result.fingerprint in (one.proto.help or "")]
    assert result.strategy in identity.proto.help
    assert result.strategy not in identity.value
    assert not any(result.fingerprint in one.value for one in page.caption)


def test_the_filters_count_what_the_chat_says_whatever_the_threshold(kb: KbRecord) -> None:
    result_id = asked(kb, with_set(kb))
    [result] = get_app().kb_evaluation.results(kb.kb_id)
    outcomes = [row.outcome for row in result.rows]
    page = results()
    assert f"resuelve bien {sum(one in ('right', 'declined') for one in outcomes)}" in texts(page)
    page = page.slider(key=f"mykb-threshold-{result_id}").set_value(1.0).run()
    for name, counted in (("unanswered", ("near", "unsure", "missed")), ("false_ticks", ("elsewhere", "made_up"))):
        [filters] = [one for one in page.segmented_control if one.key == f"mykb-filter-{result_id}"]
        page = filters.set_value(name).run()
        count = sum(one in counted for one in outcomes)
        said = f"Se muestran {count} de 4 preguntas." if count else "Ninguna pregunta está en este caso."
        assert said in texts(page), name


def test_the_threshold_moves_the_figures_without_asking_again_and_can_be_taken(kb: KbRecord) -> None:
    result_id = asked(kb, with_set(kb))
    page = results()
    assert page.button(key="mykb_apply").disabled
    page = page.slider(key=f"mykb-threshold-{result_id}").set_value(0.0).run()
    values = {metric.label: metric.value for metric in page.metric}
    assert values["Sin respuesta y con evidencia"] == "100 %"
    assert "2 de 2" in texts(page)
    assert len(get_app().kb_evaluation.jobs(kb.kb_id)) == 1
    page = page.slider(key=f"mykb-threshold-{result_id}").set_value(0.37).run()
    page = page.button(key="mykb_apply").click().run()
    assert not page.exception
    assert get_app().settings.kb_min_evidence == 0.37
    assert "Ahora el chat usa 0,37" in texts(page)


def test_the_slider_of_the_threshold_keeps_its_value_and_never_writes_it_over_a_newer_one(kb: KbRecord) -> None:
    """It is written to the browser when the page is opened, and not each time that the browser has moved it."""
    key = f"mykb-threshold-{asked(kb, with_set(kb))}"
    page = results()
    assert page.slider(key=key).proto.set_value
    page = page.slider(key=key).set_value(0.31).run()
    assert page.slider(key=key).value == 0.31
    assert not page.slider(key=key).proto.set_value
    page = page.switch_page("views/2_Chat.py").run()
    page = page.switch_page("views/4_Evaluar_mi_KB.py").run()
    page.session_state["mykb_step"] = "results"
    page = page.run()
    assert not page.exception
    assert page.slider(key=key).value == 0.31


def test_the_chats_own_knob_follows_a_threshold_that_is_taken(kb: KbRecord) -> None:
    """Unless somebody has moved it."""
    result_id = asked(kb, with_set(kb))
    page = open_page("chat")
    key = f"knob-kb_min_evidence-{kb.kb_id}"
    assert page.slider(key=key).value == 0.5
    page = page.switch_page("views/4_Evaluar_mi_KB.py").run()
    page.session_state["mykb_step"] = "results"
    page = page.run()
    page = page.slider(key=f"mykb-threshold-{result_id}").set_value(0.37).run()
    page = page.button(key="mykb_apply").click().run()
    page = page.switch_page("views/2_Chat.py").run()
    assert not page.exception
    assert page.slider(key=key).value == 0.37
    page = page.slider(key=key).set_value(0.8).run()
    get_app().live.change("kb_min_evidence", 0.2)
    assert page.run().slider(key=key).value == 0.8


def test_the_suggestion_can_be_tried_on_the_chart(kb: KbRecord) -> None:
    sets = get_app().question_sets
    others = [
        SetQuestion(KbQuestion(f"o{row}", f"¿Qué tiempo hace en {city}?", "far")) for row, city in enumerate(CITIES)
    ]
    made = sets.save(replace(sets.empty_set(kb.kb_id, "diez"), questions=(*QUESTIONS, *others)))
    result_id = asked(kb, made.set_id)
    page = results()
    page = page.select_slider(key="mykb_tolerance").set_value(0.0).run()
    shown = texts(page)
    assert "Juzgando cada pregunta con el umbral que eligen las demás" in shown
    assert "al 95 %" in shown
    said = ("puede ser casualidad", "más de lo que da la casualidad", "igual que con 0,50")
    assert sum(text in shown for text in said) == 1
    page = page.button(key="mykb_see").click().run()
    assert not page.exception
    threshold = page.slider(key=f"mykb-threshold-{result_id}").value
    values = {metric.label: metric.value for metric in page.metric}
    assert values["Sin respuesta y con evidencia"] == "0 %"
    assert f"Probar {threshold:.2f}".replace(".", ",") in page.button(key="mykb_see").label


def test_a_threshold_set_outside_is_shown_as_fixed(kb: KbRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(kb, with_set(kb))
    monkeypatch.setenv("KB_MIN_EVIDENCE", "0.6")
    get_app.clear()
    page = results()
    assert page.button(key="mykb_apply").disabled
    assert "está fijado fuera de esta página" in texts(page)


def test_two_results_are_compared_here_and_where_all_runs_are(kb: KbRecord) -> None:
    one = asked(kb, with_set(kb))
    two = asked(kb, with_set(kb, "otras"))
    page = results()
    page = page.selectbox(key=f"mykb-compare-{two}").set_value(one).run()
    assert not page.exception
    assert [metric.delta for metric in page.metric][:2] == ["", ""]  # no arrow where nothing is better
    assert "Con lo que se compara," in texts(page)
    assert page.button(key="mykb_compare_runs") and page.button(key="mykb_open_run")


def test_a_result_of_another_model_than_the_chat_uses_says_so(kb: KbRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(kb, with_set(kb))
    for page in (results(), open_page("home")):
        assert "Medido con" not in texts(page)
    for name, value in {"PROVIDER": "openai", "OPENAI_API_KEY": "k", "OPENAI_MODEL_NAME": "gpt:1"}.items():
        monkeypatch.setenv(name, value)
    get_app.clear()
    for page in (results(), open_page("home")):
        assert r"Medido con demo; el chat contesta ahora con openai/gpt\:1." in texts(page)


def test_a_question_shows_what_was_found_and_what_was_expected(kb: KbRecord) -> None:
    asked(kb, with_set(kb))
    page = every_question(results())
    assert not any("[1] Dietas" in name for name in passages(page))  # none is chosen
    [chosen] = [box for box in page.selectbox if box.label == "Pregunta que se muestra"]
    page = chosen.set_value(next(row for row, text in enumerate(chosen.options) if "dieta completa?" in text)).run()
    assert not page.exception
    assert any("[1] Dietas" in name for name in passages(page))
    [chosen] = [box for box in page.selectbox if box.label == "Pregunta que se muestra"]
    page = chosen.set_value(next(row for row, text in enumerate(chosen.options) if "Eiffel" in text)).run()
    assert "No se espera ningún pasaje" in texts(page) and "Por qué:" not in texts(page)


@pytest.mark.parametrize(
    ("outcome", "places", "rank", "evidence", "told"),
    [
        ("right", True, 1, 0.9, ""),
        (
            "made_up",
            False,
            None,
            0.9,
            "y el chat dio por buena una frase que se parece a la pregunta: «La cuota.»",
        ),
        ("elsewhere", True, 2, 0.9, "otra frase que la señalada: «La cuota.»"),
        ("missed", True, None, 0.9, "no encontró el pasaje esperado"),
        ("near", True, 1, 0.9, "sin lugar a dudas"),
        ("near", True, 1, 0.2, "sin lugar a dudas"),
        ("missed", True, 1, 0.1, "no alcanza el umbral"),
        ("unsure", True, 3, 0.2, "en el puesto 3"),
    ],
)
def test_a_question_that_did_not_go_well_says_why(
    outcome: str, places: bool, rank: int | None, evidence: float, told: str
) -> None:
    said = SimpleNamespace(why="topic" if evidence < 0.2 else "evidence")
    row = SimpleNamespace(outcome=outcome, places=places, rank=rank, said=said)
    reason = why(row, 0.5, "La cuota.", False)  # type: ignore[arg-type]
    assert told in reason and bool(told) == bool(reason)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            "La dieta completa es de 84 euros. [1]",
            "Por qué:** el modelo contestó «La dieta completa es de 84 euros. \\[1\\]»",
        ),
        (no_evidence("es"), "el modelo dijo que los pasajes no la contestan"),
    ],
)
def test_why_a_model_did_not_answer_well_is_what_the_model_said(
    kb: KbRecord, reply: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SayingServer() as server:
        server.text = reply
        own = {"PROVIDER": "openai", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"}
        for name, value in {**own, "KB_MIN_EVIDENCE": "0", "KB_DOUBT_EVIDENCE": "0"}.items():
            monkeypatch.setenv(name, value)
        get_app.clear()
        asked(kb, with_set(kb))
    page = every_question(results())
    [table] = [one.value for one in page.dataframe if "Pregunta" in set(one.value)]
    assert {"Evidencia", "Evidencia y umbral"} <= set(table)
    [chosen] = [box for box in page.selectbox if box.label == "Pregunta que se muestra"]
    page = chosen.set_value(chosen.options.index("¿De cuánto es la dieta completa?")).run()
    assert told in texts(page) and "sin lugar a dudas" not in texts(page)


def test_of_an_older_run_of_a_model_no_other_reason_is_made_up() -> None:
    row = SimpleNamespace(outcome="near", places=True, rank=1, accepted=lambda _: True, said=Said("nearest", False, ()))
    assert "o los pasajes no respaldan" in why(row, 0.5, "", True)  # type: ignore[arg-type]


def test_figures_of_automatic_questions_are_not_taken_for_those_of_people(kb: KbRecord) -> None:
    asked(kb, get_app().question_sets.save(get_app().kb_evaluation.propose_now(kb.kb_id, 12)).set_id)
    page = results()
    assert "Estas cifras son de preguntas propuestas" in texts(page)
    assert not [slider for slider in page.select_slider if slider.key == "mykb_tolerance"]


def test_without_kinds_the_threshold_is_not_judged(kb: KbRecord) -> None:
    sets = get_app().question_sets
    only = (SetQuestion(KbQuestion("x", "¿Dieta?")),)
    asked(kb, sets.save(replace(sets.empty_set(kb.kb_id, "x"), questions=only)).set_id)
    page = results()
    assert "Ninguna pregunta dice si tiene respuesta" in texts(page)
    assert not [button for button in page.button if button.key == "mykb_apply"]


def own_choices(page: AppTest) -> list[Any]:
    """Where each question is answered, in the order of the page."""
    return [control for control in page.segmented_control if "own-choice" in str(control.key)]


def test_own_questions_are_searched_decided_and_become_the_headline(kb: KbRecord) -> None:
    page = open_page("mykb")
    [box] = [area for area in page.text_area if area.label == "Sus preguntas"]
    box.set_value("¿De cuánto es la dieta completa?\n¿Hay piscina?")
    page = page.button(key="own_find").click().run()
    assert not page.exception, page.exception
    shown = [control for control in page.get("button_group") if "own-choice" in str(control.proto.id)]
    assert len(shown) == 2
    assert [control.value for control in own_choices(page)] == [None, None]  # nobody has read anything yet
    assert page.button(key="own_measure").disabled
    another, last = "¿Cuánto dura la visita?", "¿Cuántas son las vacaciones?"
    [box] = [box for box in page.text_input if box.label == "Otra pregunta suya"]
    page = box.set_value(f"{another} {last} ¿Hay piscina?").run()
    asked = ["¿De cuánto es la dieta completa?", "¿Hay piscina?", another, last]  # as they were written
    assert [each.value for each in page.markdown if each.value.strip("*") in asked] == [f"**{one}**" for one in asked]
    page = own_choices(page)[1].set_value("nowhere").run()
    assert "Decididas: 1 de 4." in texts(page)
    assert not page.button(key="own_measure").disabled
    page = own_choices(page)[0].set_value("elsewhere").run()
    [words] = [box for box in page.text_input if "unas palabras del documento" in box.label]
    page = words.set_value("palabras que no están").run()
    assert "Ningún párrafo de los documentos tiene esas palabras" in page.warning[0].value
    assert "Decididas: 1 de 4." in texts(page)
    page = own_choices(page)[0].set_value("A").run()
    page.session_state["mykb_step"] = "results"  # another step, and back
    page.run().session_state["mykb_step"] = "questions"
    page = page.run()
    assert [control.value for control in own_choices(page)] == ["A", "nowhere", None, None]
    page = page.button(key="own_measure").click().run()
    assert not page.exception, page.exception
    wait(kb)
    page = page.run()
    assert "De sus 2 preguntas, el chat resuelve bien" in texts(page)
    assert "Con 8 preguntas más, la cifra dirá algo." in texts(page)


def test_a_failed_job_is_discarded_on_the_page() -> None:
    nothing = get_app().kbs.add("nada.txt", b"uno dos tres")
    get_app().kb_evaluation.propose(nothing.kb_id, "x", 12)
    wait(nothing)
    page = open_page("mykb")
    page = page.button(key="mykb_discard").click().run()
    assert not page.exception
    assert not page.error
    assert get_app().kb_evaluation.jobs(nothing.kb_id) == []


def test_the_promise_says_how_many_questions_are_missing_and_leads_to_them(kb: KbRecord) -> None:
    asked(kb, with_set(kb))
    page = results()
    assert "faltan unas" in str([bar.proto.text for bar in page.get("progress")])
    page = page.button(key="mykb_promise_way_questions").click().run()
    assert page.session_state["mykb_step"] == "questions"


def test_a_threshold_that_decides_more_questions_worse_is_not_suggested(kb: KbRecord) -> None:
    """A question without an answer has the highest evidence: to keep it out, nothing could be answered."""
    sets = get_app().question_sets
    trap = SetQuestion(KbQuestion("trap", QUESTIONS[0].question.question, "near"))
    others = [
        SetQuestion(KbQuestion(f"o{row}", f"¿Qué tiempo hace en {city}?", "far")) for row, city in enumerate(CITIES)
    ]
    made = sets.save(replace(sets.empty_set(kb.kb_id, "trampa"), questions=(*QUESTIONS, trap, *others)))
    asked(kb, made.set_id)
    page = results()
    page = page.select_slider(key="mykb_tolerance").set_value(0.0).run()
    assert "no dan un umbral mejor que 0,50" in texts(page)
    assert "Sugerencia:" not in texts(page)
