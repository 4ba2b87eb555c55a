"""Evaluations of answers on the pages: started in Admin from each source, read and compared in Evaluación."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.wings.ragas.config import RagasConfig
from chatbot_mvp.wings.ragas.judging import JUDGED, UNJUDGED, load_prompts
from chatbot_mvp.wings.ragas.rows import rows_from
from chatbot_mvp.wings.ragas.service import RagasService
from streamlit_app.shared.state import get_app
from tests.ui.test_evaluation_page import table
from tests.ui.test_pages import comparison_widgets, finished_run, open_newest, open_page, texts
from tests.waiting import wait_for_jobs, wait_until
from tests.wings.ragas.conftest import LABELLED, given
from tests.wings.ragas.judging.judge_stub import JudgeStub

LEXICAL = RagasConfig(metrics=("lexical_faithfulness",))


@pytest.fixture
def judge(data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeStub]:
    with JudgeStub(load_prompts("es"), 0.0) as stub:
        values = {"PROVIDER": "openai", "OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": stub.url}
        for name, value in {**values, "OPENAI_MODEL_NAME": "judge"}.items():
            monkeypatch.setenv(name, value)
        get_app.clear()
        yield stub


def finished() -> str:
    """The id of the run whose job ended last."""
    wait_for_jobs(get_app().runs.jobs)
    [job] = get_app().runs.jobs()
    assert job.state == "done", job
    return job.job_id


def start(admin: AppTest) -> AppTest:
    admin = admin.button(key="ragas_start").click().run()
    assert not admin.exception
    assert not admin.error, admin.error[0].value
    return admin


@pytest.mark.parametrize(("language", "told"), [("es", "No hay juez"), ("en", "There is no judge")])
def test_without_a_judge_the_page_says_so_and_offers_what_needs_none(
    data_dir: Path,
    no_keys: None,
    language: str,
    told: str,
) -> None:
    admin = open_page("admin", language)
    assert told in texts(admin)
    assert len(admin.multiselect(key="ragas_metrics").options) == len(UNJUDGED)


def test_without_rows_nothing_is_started(data_dir: Path) -> None:
    admin = open_page("admin").button(key="ragas_start").click().run()
    assert "Elija primero" in admin.warning[0].value
    assert get_app().runs.jobs() == []


def test_the_answers_of_a_run_are_evaluated_from_admin(judge: JudgeStub) -> None:
    run = get_app().runs.run_now(eval_max_queries=3, judge_metrics="", provider="demo")
    admin = open_page("admin")
    assert "Juez: **openai/judge**" in texts(admin)
    assert len(admin.multiselect(key="ragas_metrics").options) == len(JUDGED) + len(UNJUDGED)
    admin = admin.radio(key="ragas_source").set_value("run").run()
    admin = admin.multiselect(key="ragas_metrics").set_value(["ragas_context_recall", "ragas_faithfulness"]).run()
    start(admin)
    result = get_app().archive.run(finished())
    assert result.dataset == run.run_id
    assert result.scored == {"ragas_context_recall": (3, 3), "ragas_faithfulness": (3, 3)}


@pytest.mark.slow
def test_the_chats_of_the_session_are_evaluated_from_admin(data_dir: Path, no_keys: None) -> None:
    app = open_page("admin")
    app.button(key="kb_sample").click().run()
    app = app.radio(key="ragas_source").set_value("chat").run()
    assert "Todavía no hay conversaciones" in texts(app)
    app = app.switch_page("views/2_Chat.py").run()
    app.chat_input[0].set_value("¿Cuántos días laborables de vacaciones tiene cada persona?").run()
    app = app.switch_page("views/3_Admin.py").run()
    app = app.radio(key="ragas_source").set_value("chat").run()
    app = app.multiselect(key="ragas_metrics").set_value(["lexical_faithfulness"]).run()
    start(app)
    assert get_app().archive.run(finished()).scored == {"lexical_faithfulness": (1, 1)}


def test_an_evaluation_is_shown_with_tiles_rows_and_what_was_judged(judge: JudgeStub) -> None:
    lacking: list[dict[str, Any]] = given(count=3)
    del lacking[0]["reference"]
    run_id = get_app().get(RagasService).run_now("mío", rows_from(lacking, "x"), RagasConfig(repeats=2)).run_id
    page = open_newest()
    labels = {metric.label for metric in page.metric}
    assert {"Fidelidad (Ragas)", "Recall del contexto (juez)", "Coste"} <= labels
    shown = texts(page)
    for text in (
        "2 de 3 puntuadas",
        "Sin puntuar: falta una columna (1)",
        "juez: openai/judge",
        "Variación: desviación",
    ):
        assert text in shown
    for text in ("Curvas", "Un cuadro por pregunta", "Recuperados"):
        assert text not in shown
    assert not [button for button in page.button if button.key == "bundle-make"]
    tables = [table.value for table in page.dataframe]
    assert any("Variación" in table and "Columna" in table for table in tables)
    [verdicts] = [table for table in tables if "Afirmación" in table and "Veredicto" in table]
    assert len(verdicts) > 0
    assert "Pasajes (" in shown
    assert lacking[0]["retrieved_contexts"][0][:20] in shown
    assert page.query_params["run"] == run_id


def test_replies_that_cannot_be_read_are_shown_as_they_came(judge: JudgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.wings.ragas.judging.judge_stub.perhaps_broken", lambda *_: "No sabría decirle.")
    get_app().get(RagasService).run_now(
        "roto", rows_from(given(count=2), "x"), RagasConfig(metrics=("ragas_context_recall",))
    )
    page = open_newest()
    assert "el juez no contestó con el formato pedido (2)" in texts(page)
    assert any("Recall del contexto (juez): 2" in warning.value for warning in page.warning)
    assert "No sabría decirle." in [code.value for code in page.code]


@pytest.mark.parametrize(("language", "title"), [("es", "Acuerdo con personas"), ("en", "Agreement with people")])
def test_labels_show_agreement_with_intervals_and_errors_found(
    data_dir: Path,
    no_keys: None,
    language: str,
    title: str,
) -> None:
    get_app().get(RagasService).run_now("acuerdo", rows_from(given(LABELLED), "x"), LEXICAL)
    page = open_newest(language)
    assert title in texts(page)
    values = {metric.label: metric.value for metric in page.metric}
    kappa = values["κ de Cohen" if language == "es" else "Cohen's κ"]
    assert kappa == ("0,59" if language == "es" else "0.59")
    kinds = [table.value for table in page.dataframe if len(table.value.columns) == 2]
    assert any(len(table) == 6 for table in kinds)


def test_two_systems_answers_are_compared_whatever_their_files_are_called(
    data_dir: Path,
    no_keys: None,
) -> None:
    desk = get_app().get(RagasService)
    other = [{**row, "response": "Nada de eso: 99 cosas."} for row in given(count=5)]
    one = desk.run_now("uno", rows_from(given(count=5), "x"), LEXICAL).run_id
    desk.run_now("otras preguntas", rows_from(given(count=4), "x"), LEXICAL)
    two = desk.run_now("dos", rows_from(other, "x"), LEXICAL).run_id
    assert {metric.label for metric in open_page("home").metric} == {"Fidelidad por palabras"}
    page = open_page("evaluation", compare=two)
    widgets = comparison_widgets(page)
    assert widgets["base"].value == two
    assert len(widgets["others"].options) == 1
    page = widgets["others"].set_value([one]).run()
    assert not page.exception
    assert any("p corregida" in table.value for table in page.dataframe)
    page = comparison_widgets(page)["query"].select_index(0).run()
    assert not page.exception
    assert "99 cosas" in texts(page)
    assert {"**A · dos**", "**B · uno**"} <= {value.value for value in page.markdown}


@pytest.mark.slow
def test_the_means_so_far_are_shown_while_it_runs(judge: JudgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIM_MAX_CONCURRENT_REQUESTS", "1")
    get_app.clear()
    judge.piece_delay = 0.4
    run_id = (
        get_app()
        .get(RagasService)
        .start("lento", rows_from(given(count=20), "x"), RagasConfig(metrics=("ragas_faithfulness",)))
    )
    wait_until(lambda: get_app().runs.so_far(run_id)["ragas_faithfulness"][1], 30, "the first score")
    admin = open_page("admin")
    get_app().runs.stop_run(run_id)
    judge.piece_delay = 0.0
    assert "Medias hasta ahora: Fidelidad (Ragas)" in texts(admin)
    assert json.loads((get_app().settings.results_dir / run_id / "manifest.json").read_text("utf-8"))["kind"] == "ragas"


@pytest.mark.slow
@pytest.mark.usefixtures("known_vectors")
def test_evaluations_of_answers_show_a_metric_of_their_own(data_dir: Path) -> None:
    finished_run()
    config = RagasConfig(metrics=("lexical_faithfulness",))
    get_app().get(RagasService).run_now("respuestas", rows_from(given(count=2), "x"), config)
    shown = table(open_page("evaluation"))
    assert "Fidelidad por palabras" in shown["Métrica principal"].iloc[0]
    assert "Respuestas acertadas" in shown["Métrica principal"].iloc[1]
    assert "sin puntuar" not in shown.to_string()
