"""Every page, driven through AppTest with real parts behind it; strategy LEXICAL, so that no test waits for vectors."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from streamlit_app.shared import state
from streamlit_app.shared.i18n import number
from streamlit_app.shared.state import get_app
from tests.waiting import wait_for_jobs

ROOT = Path(__file__).resolve().parents[2]
PAGES = {name: None if name == "home" else f"views/{Path(path).name}" for name, (path, _) in state.PAGES.items()}


class EveryTab(set[tuple[str, str]]):
    """Tabs that were all opened before: AppTest cannot open one."""

    def __contains__(self, tab: object) -> bool:
        return True


def open_page(name: str, language: str = "es", visitor: str = "", **address: str) -> AppTest:
    """A page under an address (``run=…``, ``compare=…``), in the browser of a visitor if one is named.

    It is the first page that the visitor opens, as by a bookmark.
    """
    app = AppTest.from_file(str(ROOT / "streamlit_app" / "Inicio.py"), default_timeout=120)
    app.session_state["language"] = language
    app.session_state["opened_tabs"] = EveryTab()
    if visitor:
        app.session_state["chat_session"] = visitor  # AppTest has no cookies
    if PAGES[name]:
        app.switch_page(PAGES[name])
        for key, value in address.items():
            app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception
    return app


def every_question(app: AppTest) -> AppTest:
    """The list of a run's questions without its first filter, which shows what failed."""
    [only] = [each for each in app.segmented_control if str(each.key).startswith("only-")]
    return only.set_value("all").run()


def first_question(app: AppTest) -> AppTest:
    """The details of a run's first question."""
    [chosen] = [each for each in every_question(app).selectbox if str(each.key).startswith("query-")]
    return chosen.set_value(0).run()


def texts(app: AppTest) -> str:
    kinds = ("title", "header", "markdown", "caption", "info", "success", "warning", "error", "text")
    shown = [str(element.value) for kind in kinds for element in getattr(app, kind)]
    bodies = [re.sub("<style>.*?</style>", "", element.proto.body, flags=re.DOTALL) for element in app.get("html")]
    return "\n".join([*shown, *(html.unescape(body) for body in bodies if body)])


def sources(app: AppTest) -> list[str]:
    """The number and section of each source of the chat's answers."""
    opens = [button for button in app.button if (button.key or "").startswith("open-source-")]
    return [button.label.replace("\\", "") for button in opens]


def passages(app: AppTest) -> list[str]:
    """The number and section of each passage in a box that can be opened."""
    bodies = [element.proto.body for element in app.get("html")]
    return [html.unescape(name) for body in bodies for name in re.findall("<summary>(.*?)</summary>", body)]


def open_sources(app: AppTest) -> AppTest:
    """Show the first source of the newest answer beside it."""
    [*_, opens] = [button for button in app.button if (button.key or "").startswith("sources-")]
    opens.click().run()
    assert not app.exception, app.exception
    return app


def open_newest(language: str = "es") -> AppTest:
    """The newest run in full."""
    return open_page("evaluation", language, run=str(get_app().archive.runs()[0][0].run_id))


def finished_run() -> str:
    return str(build_app(load_settings()).runs.run_now().run_id)


@pytest.mark.parametrize("language", ["es", "en"])
@pytest.mark.parametrize("name", list(PAGES))
def test_page_without_any_data_says_what_to_do_next(data_dir: Path, name: str, language: str) -> None:
    app = open_page(name, language)
    assert not app.error
    assert app.button or app.info


def test_sample_kb_then_chat_in_strict_mode(data_dir: Path) -> None:
    """One click loads the sample; an answer names its provider and shows sources; without evidence neither."""
    admin = open_page("admin")
    admin.button(key="kb_sample").click().run()
    assert "politica_empresa.md" in texts(admin)
    chat = open_page("chat")
    chat.chat_input[0].set_value("¿Cuántos días laborables de vacaciones tiene cada persona?").run()
    assert "23 días laborables" in texts(chat)
    assert "demo" in texts(chat)
    assert sources(chat)[0].startswith("[1] Vacaciones")
    chat.chat_input[0].set_value("¿Qué temperatura tiene la superficie de Venus?").run()
    assert "No encuentro en la base de conocimiento" in texts(chat)


def test_truncated_kb_says_so_on_both_pages(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_MAX_CHARS", "1000")
    record = get_app().kbs.add("largo.txt", ("Un párrafo sobre nada. " * 10 + "\n\n").encode() * 20)
    assert record.kb_truncated
    for page in ("admin", "chat"):
        kept = number(record.chars), number(record.original_chars)
        [warning] = [one.value for one in open_page(page).warning if "se conservan" in one.value]
        assert "se conservan {} de {} caracteres".format(*kept) in warning
        assert "suba una versión resumida" in warning


@pytest.mark.usefixtures("known_vectors")
def test_launch_from_admin_and_read_the_result(data_dir: Path) -> None:
    """The launcher's run goes through the job thread and appears in Evaluación with its scored counts."""
    admin = open_page("admin")
    admin.button(key="run_start").click().run()
    wait_for_jobs(get_app().runs.jobs)
    evaluation = first_question(open_newest())
    assert "Lo primero, correcto" in {metric.label for metric in evaluation.metric}
    figures = {name for each in evaluation.dataframe if "Métrica" in each.value for name in each.value["Métrica"]}
    assert figures >= {
        "Lo primero, correcto",
        "Recall@5",
        "Calidad del orden, 10 primeros",
        "Altura del primer acierto",
    }
    assert "40 de 40 puntuadas" in texts(evaluation)
    assert "Recuperados" in texts(evaluation)
    assert "no son comparables con las publicadas" in texts(evaluation)
    # With answers, which are the default, by the provider that needs no model; nobody judges them.
    assert "Coste" in {metric.label for metric in evaluation.metric}
    assert figures >= {"Acierto", "Similitud semántica"}
    assert "Fidelidad" not in figures
    for text in ("Sin juez", "Respuesta del modelo"):
        assert text in texts(evaluation)
    assert any("en el contexto" in expander.label for expander in evaluation.expander)
    [table] = [table.value for table in evaluation.dataframe if "Qué mide" in table.value]
    assert "Coincidencia exacta" in set(table["Métrica"])


def test_folder_that_is_no_data_set_is_told_on_the_page(data_dir: Path) -> None:
    admin = open_page("admin")
    admin.selectbox(key="run_dataset").select_index(1).run()
    admin.text_input(key="run_folder").input(str(data_dir)).run()
    admin.button(key="run_start").click().run()
    assert "le falta el archivo" in admin.error[0].value


@pytest.mark.usefixtures("known_vectors")
def test_damaged_submission_lines_are_counted_shown_and_kept(data_dir: Path) -> None:
    finished_run()
    path = data_dir / "submissions.jsonl"
    before = path.read_bytes() + b'{"run_id": "torn\n[1, 2]\n'
    path.write_bytes(before)
    evaluation = open_newest()
    assert "submissions.jsonl: 2" in evaluation.warning[0].value
    assert evaluation.metric
    assert path.read_bytes() == before


@pytest.mark.usefixtures("known_vectors")
def test_run_whose_files_are_gone_is_an_error_on_the_page(data_dir: Path) -> None:
    run_id = finished_run()
    (data_dir / "results" / run_id / f"{run_id}.json").unlink()
    assert "No existe la ejecución" in open_newest().error[0].value


@pytest.mark.usefixtures("known_vectors")
def test_run_over_a_data_set_that_is_gone_still_shows_its_figures(data_dir: Path) -> None:
    run_id = finished_run()
    manifest = data_dir / "results" / run_id / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text("utf-8")), "dataset_ref": "/gone"}), "utf-8")
    evaluation = first_question(open_newest())
    assert "solo se muestran los identificadores" in texts(evaluation)
    assert evaluation.metric


def test_home_leaves_the_list_of_providers_to_admin_where_each_is_tried(data_dir: Path, no_keys: None) -> None:
    assert not [one for one in open_page("home").expander if "proveedores" in one.label]
    assert get_app().providers.statuses()[-1].check is None
    admin = open_page("admin").button(key="try-demo").click().run()
    assert "responde · " in texts(admin)


def test_a_provider_is_chosen_in_admin_and_kept(data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-very-secret")
    admin = open_page("admin")
    assert admin.button(key="provider-gemini").disabled
    assert "**Gemini** :gray-badge[falta la clave]" in texts(admin)
    admin.button(key="provider-groq").click().run()
    assert not admin.exception
    assert "**Groq** :green-badge[:material/check: en uso]" in texts(admin)
    saved = json.loads((data_dir / "app_settings.json").read_text("utf-8"))
    assert saved == {"format_version": 1, "provider": "groq"}
    get_app.clear()
    assert get_app().settings.provider == "groq"
    assert "gsk-very-secret" not in texts(admin) + texts(open_page("home"))


def test_a_provider_that_does_not_answer_is_told_with_the_next_step(
    data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_MODEL_NAME", "llama3.2")
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:1/v1")
    admin = open_page("admin")
    admin.button(key="try-ollama").click().run()
    assert "no está en marcha" in texts(admin)
    assert "NIM_REQUEST_TIMEOUT" in texts(admin)


def test_a_provider_that_is_set_outside_cannot_be_changed_in_admin(
    data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIDER", "demo")
    monkeypatch.setenv("GROQ_API_KEY", "gsk-very-secret")
    admin = open_page("admin")
    assert any("PROVIDER=demo" in info.value for info in admin.info)
    assert admin.button(key="provider-groq").disabled


@pytest.mark.slow
@pytest.mark.usefixtures("known_vectors")
def test_the_list_of_questions_is_kept_to_one_cause(data_dir: Path) -> None:
    run_id = str(get_app().runs.run_now(kb_top_k=3).run_id)
    lost = [row for row in get_app().archive.run(run_id).per_query if row.cause == "below_cut"]
    assert lost
    evaluation = open_newest()
    assert "Un cuadro por pregunta" in texts(evaluation)
    evaluation = evaluation.selectbox(key=f"cause-{run_id}").set_value("below_cut").run()
    [questions] = [table.value for table in evaluation.dataframe if "Documentos correctos" in table.value]
    assert set(questions["Pregunta"]) == {row.question for row in lost}


# --- comparing runs


def comparison_widgets(app: AppTest) -> dict[str, Any]:
    boxes = [*app.selectbox, *app.multiselect]
    return {box.key.split("-")[1]: box for box in boxes if (box.key or "").startswith("compare-")}


@pytest.mark.usefixtures("known_vectors")
def test_a_single_run_cannot_be_compared_and_its_tiles_have_intervals(data_dir: Path) -> None:
    run_id = finished_run()
    assert "Intervalo del 95 %: 0," in texts(open_newest())
    comparison = open_page("evaluation", compare=run_id)
    assert "hacen falta dos ejecuciones" in texts(comparison)
    assert comparison_widgets(comparison) == {}


def said_of_others(app: AppTest) -> str:
    """Why runs cannot be compared."""
    return "\n".join(str(cell) for table in app.dataframe for cell in table.value.to_numpy().ravel())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("language", "verdict"), [("es", "casualidad"), ("en", "chance")])
@pytest.mark.usefixtures("known_vectors")
def test_two_runs_are_compared_with_intervals_p_and_what_differs(data_dir: Path, language: str, verdict: str) -> None:
    app = get_app()
    worse = str(app.runs.run_now(retrieval_k=10).run_id)
    better = str(app.runs.run_now(retrieval_strategy="BRIDGE").run_id)
    app.runs.run_now(eval_max_queries=3)  # other questions: not offered
    evaluation = open_page("evaluation", language, compare=worse)
    widgets = comparison_widgets(evaluation)
    assert widgets["base"].value == worse
    assert len(widgets["others"].options) == 1
    assert "Tiene otras preguntas" in said_of_others(evaluation) or language == "en"
    evaluation = widgets["others"].set_value([better]).run()
    assert not evaluation.exception
    assert verdict in texts(evaluation)
    tables = [table.value for table in evaluation.dataframe]
    [deltas] = [table for table in tables if {"p corregida", "corrected p"} & set(table)]
    expected = app.archive.compare([worse, better]).runs[0].metrics
    assert list(deltas.iloc[:, 7]) == [len(metric.improved) for metric in expected]
    [changes] = [table for table in tables if {"RETRIEVAL_STRATEGY", "FINGERPRINT"} <= set(table.iloc[:, -1])]
    assert changes.iloc[:, -1].to_list()[-1] == "FINGERPRINT"
    metric = comparison_widgets(evaluation)["metric"]
    evaluation = metric.set_value("mrr").run()
    assert not evaluation.exception


@pytest.mark.usefixtures("known_vectors")
def test_runs_whose_data_differ_are_refused_on_the_page_with_the_reason(data_dir: Path) -> None:
    one, two = finished_run(), finished_run()
    path = data_dir / "results" / one / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "dataset_sha256": "0" * 64}), "utf-8")
    evaluation = open_page("evaluation", compare=two)
    assert comparison_widgets(evaluation)["base"].value == two
    evaluation = comparison_widgets(evaluation)["others"].set_value([one]).run()
    assert "no usan los mismos datos" in evaluation.error[0].value
