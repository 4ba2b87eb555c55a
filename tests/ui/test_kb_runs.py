"""Runs over a knowledge base on the pages: listed with a badge, opened, compared, stopped and resumed."""

from __future__ import annotations

import re

import pytest

from chatbot_mvp.api import KbRecord, RunResult
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.types import Progress, ProgressCallback
from streamlit_app.shared.state import get_app
from tests.ui.test_mykb_page import KB, asked, results, wait, with_set
from tests.ui.test_pages import every_question, finished_run, open_page, texts

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture
def kb() -> KbRecord:
    return get_app().kbs.add("normas.md", KB.encode())


def stopped(kb: KbRecord, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stop a run of the page after its first question; return its id."""
    runs = vars(get_app().runs)["_part"]  # behind the gate of the pages
    execute = runs.execute

    def stopping(run: PreparedRun, progress: ProgressCallback) -> RunResult:
        def report(state: Progress) -> None:
            if state.phase == "retrieve" and state.done == 1:
                raise RunStopped(run_id="?")
            progress(state)

        return execute(run, report)

    with monkeypatch.context() as patch:
        patch.setattr(runs, "execute", stopping)
        return asked(kb, with_set(kb))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("language", "badge"), [("es", "Preguntas sobre una base"), ("en", "Questions about a")])
def test_a_run_over_a_knowledge_base_has_a_badge_in_the_list_and_on_its_page(
    kb: KbRecord, language: str, badge: str
) -> None:
    run_id = asked(kb, with_set(kb))
    page = open_page("evaluation", language)
    assert not page.exception
    [listed] = [each.value for each in page.dataframe if f"{kb.kb_name} · mías" in list(each.value.iloc[0])]
    assert {"es": "sin modelo", "en": "no model"}[language] in list(listed.iloc[0])
    solved = {"es": r"\d+ de 3 · Resueltas bien", "en": r"\d+ of 3 · Solved"}[language]
    assert any(re.match(solved, str(cell)) for cell in listed.iloc[0]), list(listed.iloc[0])
    board = open_page("evaluation", language, view="leaderboard").dataframe[0].value
    assert {"es": "sin modelo", "en": "no model"}[language] in list(board.iloc[0])
    page = page.text_input(key="runs-search").set_value(f"{kb.kb_name} {language}").run()
    assert page.info, "a word that is nowhere"
    page = page.text_input(key="runs-search").set_value(kb.kb_name).run()
    assert not page.info, "the name that is shown finds the run"
    assert badge in texts(page)
    page = page.button(key="runs-open").click().run()
    assert not page.exception
    assert page.query_params["run"] == run_id
    values = {metric.label: metric.value for metric in page.metric}
    assert len(values) == 3
    assert {"es": "Altura del primer acierto", "en": "How high the first hit is"}[language] in values
    [cell] = [str(cell) for cell in listed.iloc[0] if re.match(solved, str(cell))]
    right = cell[0]
    said = {
        "es": f"De 3 preguntas, el chat resuelve bien {right}.",
        "en": f"Of 3 questions, the chat gets {right} right.",
    }
    assert f"## {said[language]}" in texts(page), "as the list says it"
    home = {metric.label: metric.value for metric in open_page("home", language).metric}
    assert home == {{"es": "Resueltas bien", "en": "Solved"}[language]: cell.partition(" · ")[0]}, "as the list says it"
    assert "AUROC" in texts(page)
    page = every_question(page)
    [shown] = [box for box in page.selectbox if box.key == f"query-{run_id}"]
    for position in range(len(shown.options)):
        page = page.selectbox(key=f"query-{run_id}").set_value(position).run()
        assert not page.exception


@pytest.mark.slow
def test_the_list_can_show_only_such_runs(kb: KbRecord) -> None:
    asked(kb, with_set(kb))
    finished_run()
    page = open_page("evaluation")
    page = page.multiselect(key="runs-kinds").set_value(["kb"]).run()
    assert not page.exception
    assert "1 de 2" in texts(page)


def test_two_of_them_are_compared_from_the_page_of_the_questions(kb: KbRecord) -> None:
    set_id = with_set(kb)
    one = asked(kb, set_id)
    get_app().live.change("kb_min_evidence", 0.95)
    two = asked(kb, set_id)
    page = results()
    assert page.button(key="mykb_open_run").label == "Abrir en Evaluación"
    page = page.selectbox(key=f"mykb-compare-{two}").set_value(one).run()
    assert page.button(key="mykb_compare_runs").label == "Comparar en Evaluación"
    page = open_page("evaluation")
    page.query_params["compare"] = f"{one},{two}"
    page = page.run()
    assert not page.exception
    assert any("Aceptadas" in set(table.value.iloc[:, 0]) for table in page.dataframe)
    assert "**Resueltas bien**" in texts(page)
    [by] = [box for box in page.selectbox if str(box.key).startswith("compare-metric-")]
    assert by.value == "solved", "the figure that stands above"
    [base] = [box for box in page.selectbox if box.key == "compare-base"]
    assert all("solo palabras" in option for option in base.options)
    page = page.selectbox(key="language").set_value("en").run()
    assert not page.exception
    [base] = [box for box in page.selectbox if box.key == "compare-base"]
    assert base.proto.set_value, "the browser hears the name in the other language"
    assert "words only" in base.proto.raw_value


def test_a_stopped_run_is_resumed_where_the_questions_are(kb: KbRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = stopped(kb, monkeypatch)
    [begun] = get_app().archive.unfinished()
    assert (begun.run_id, begun.recorded, begun.queries) == (run_id, 1, 4)
    page = open_page("mykb")
    assert "Lo que estaba hecho se conserva" in texts(page)
    page = page.button(key="mykb_resume").click().run()
    assert not page.exception
    assert wait(kb) == run_id
    assert get_app().archive.unfinished() == []
    assert [result.result_id for result in get_app().kb_evaluation.results(kb.kb_id)] == [run_id]
    assert not [button for button in page.run().button if button.key == "mykb_resume"]


def test_the_form_of_admin_measures_a_knowledge_base_with_any_configuration(kb: KbRecord) -> None:
    set_id = with_set(kb)
    reference = f"kb:{kb.kb_id}/{set_id}"
    page = open_page("admin")
    chosen = page.selectbox(key="run_dataset")
    assert any("normas.md · mías" in option for option in chosen.options)
    page = chosen.set_value(reference).run()
    page = page.toggle(key="run_generate").set_value(False).run()
    page = page.button(key="run_plan").click().run()
    assert not page.exception
    assert "preguntas: 4" in texts(page).lower() or "4 preguntas" in texts(page)
    page = page.button(key="run_start").click().run()
    assert not page.exception
    run_id = wait(kb)
    assert get_app().archive.run(run_id).kind == "kb"
