"""Inicio through AppTest: with nothing, a little, a lot, and with a provider that never answers; the guided tour."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import UserContext
from streamlit_app.home import tour
from streamlit_app.shared.runs import main_figure
from streamlit_app.shared.state import get_app
from tests.loopback import LoopbackServer
from tests.made_results import LINE, made_line
from tests.ui.test_pages import ROOT, open_page, texts
from tests.waiting import wait_for_jobs, wait_until


def keys(app: AppTest) -> set[str]:
    return {button.key for button in app.button if button.key}


def settle_health() -> None:
    wait_until(lambda: all(health.state != "checking" for health in get_app().health.states()), 30, "every check")


def write_runs(folder: Path, count: int, **changes: Any) -> None:
    """Lines of finished runs, the newest last."""
    with (folder / "submissions.jsonl").open("a", encoding="utf-8") as file:
        for number in range(count):
            run = {
                **LINE,
                "run_id": f"{changes.get('dataset', 'valle')}-{number:03}",
                "dataset": "valle",
                "strategy": "BRIDGE",
                "metrics": {"recall@5": 0.5 + number / 1_000, "mrr": 0.4},
                "scored": {"recall@5": [40, 40], "mrr": [40, 40]},
                "intervals": {"recall@5": [0.45, 0.8]},
                "started_at": f"2026-11-{1 + number // 24:02}T{number % 24:02}:00:00+00:00",
                **changes,
            }
            file.write(json.dumps(run) + "\n")


# --- state


def test_with_nothing_every_tile_has_a_word_and_a_next_step(data_dir: Path, no_keys: None) -> None:
    open_page("home")
    settle_health()
    home = open_page("home")
    said = texts(home)
    for text in ("Proveedor del chat", "Modelo de vectores", "Bases", "Conjuntos de datos"):
        assert f"**{text}**" in said
    for word in ("Solo lo básico", "Listo", "Falta"):
        assert word in said
    assert "Almacenamiento S3" not in said
    assert "kb_sample" in keys(home)
    assert "Aún no hay ejecuciones" in home.info[0].value


def test_the_box_to_upload_becomes_the_box_to_ask_which_leads_into_the_chat(data_dir: Path) -> None:
    home = open_page("home")
    assert (len(home.get("file_uploader")), len(home.chat_input)) == (1, 0)
    home = home.button(key="kb_sample").click().run()
    [kb] = get_app().kbs.records()
    assert kb.kb_name == "politica_empresa.md"
    assert "politica_empresa.md" in texts(home)
    assert (len(home.get("file_uploader")), len(home.chat_input)) == (0, 1)
    for question in ("¿Cuántos días de vacaciones hay?", "¿De cuánto es la dieta?"):  # each begins a conversation
        chat = home.chat_input(key="home_input").set_value(question).run()
        [turn] = get_app().chat.conversations(str(chat.session_state["chat_session"]), kb.kb_id)[0].turns
        assert (turn.question, turn.state) == (question, "done")
        home = chat.switch_page("views/0_Inicio.py").run()


def test_what_is_not_set_up_is_one_line_and_nothing_is_orange(data_dir: Path, no_keys: None) -> None:
    open_page("home")
    settle_health()
    home = open_page("home")
    [state] = [one for one in home.expander if "configurar" in one.label]
    assert state.label == "Por configurar: Proveedor del chat, Bases, Conjuntos de datos"
    assert ":orange" not in texts(home)


def test_own_data_sets_are_named(data_dir: Path) -> None:
    for name in ("uno", "dos", "tres", "cuatro"):
        folder = data_dir / "datasets" / name
        (folder / "qrels").mkdir(parents=True)
        for file in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
            (folder / file).touch()
    assert "cuatro, dos, tres y 1 más" in texts(open_page("home"))


class Hanging(BaseHTTPRequestHandler):
    """Takes a request and says nothing until it is let go."""

    gate = threading.Event()

    def do_GET(self) -> None:
        self.gate.wait(20)

    def log_message(self, *_: object) -> None:
        pass


def test_a_provider_that_hangs_holds_nobody(data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    open_page("home")  # what is slow only once
    get_app.clear()
    Hanging.gate.clear()
    with LoopbackServer(Hanging) as server:
        monkeypatch.setenv("PROVIDER", "ollama")
        monkeypatch.setenv("OLLAMA_MODEL_NAME", "llama3.2")
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{server.url}/v1")
        home = open_page("home")  # drawn while the check is still waiting
        assert "Comprobando…" in texts(home)
        assert "ollama/llama3.2" in texts(home)
        Hanging.gate.set()
        settle_health()
    home = open_page("home")
    assert "No responde" in texts(home)
    [again] = [button for button in home.button if button.label == "Comprobar otra vez"]
    before = {status.name: status.check for status in get_app().providers.statuses()}["ollama"]
    again.click().run()
    settle_health()
    after = {status.name: status.check for status in get_app().providers.statuses()}["ollama"]
    assert before is not None
    assert after is not before


# --- last runs


def test_many_runs_are_a_few_charts_and_a_button_opens_one(data_dir: Path) -> None:
    write_runs(data_dir, 200)
    write_runs(data_dir, 3, dataset="respuestas", kind="ragas", metrics={"faithfulness": 0.9, "mrr": None})
    open_page("home")
    home = open_page("home")
    assert {metric.label: metric.value for metric in home.metric} == {"Recall@5": "0,699", "Fidelidad": "0,900"}
    assert len(home.get("arrow_vega_lite_chart")) + len(home.get("vega_lite_chart")) == 2
    assert "Intervalo del 95 %: 0,450 – 0,800" in texts(home)
    [choice] = [box for box in home.selectbox if box.key == "run-choice-0"]
    assert len(choice.options) == 10
    home = choice.select_index(2).run()
    home = home.button(key="open-run-0").click().run()
    assert home.session_state["run_id"] == "valle-197"


@pytest.mark.parametrize(
    ("kind", "metrics", "expected"),
    [
        ("", {"recall@5": 0.2, "hit@1": 0.1}, "hit@1"),
        ("kb", {"hit@1": 0.1, "solved": 0.5}, "solved"),
        ("", {"mrr": 0.1, "recall@5": 0.2}, "recall@5"),
        ("", {"recall@5": None, "mrr": 0.1}, "mrr"),
        ("ragas", {"ragas_faithfulness": None, "ragas_context_recall": 0.2}, "ragas_context_recall"),
        ("ragas", {"own_metric": 0.2}, "own_metric"),
        ("", {"recall@5": None}, "recall@5"),
        ("", {}, ""),
    ],
)
def test_the_metric_that_stands_for_a_run(kind: str, metrics: dict[str, Any], expected: str) -> None:
    line = made_line(kind=kind or "benchmark", metrics=metrics, scored=dict.fromkeys(metrics, (40, 40)))
    assert main_figure(line).name == expected


def test_a_run_without_any_value_is_told_as_such(data_dir: Path) -> None:
    write_runs(data_dir, 2, metrics={"recall@5": None})
    assert open_page("home").metric[0].value == "sin puntuar"


# --- the tour


def test_the_tour_does_each_step_and_knows_it_after_a_reload(data_dir: Path, no_keys: None) -> None:
    """Each step is read off what is there: another session, or a server that was started again, goes on."""
    home = open_page("home").button(key="tour-show").click().run()
    assert {key for key in keys(home) if key.startswith("tour-go")} == {"tour-go-kb"}
    home = home.button(key="tour-go-kb").click().run()
    assert home.query_params["tour"] == "on"
    get_app.clear()

    home = open_page("home").button(key="tour-show").click().run()
    assert "1 de 4 pasos hechos" in str([bar.proto.text for bar in home.get("progress")])
    chat = home.button(key="tour-go-ask").click().run()
    draft = chat.chat_input[0].proto.value
    assert draft in get_app().kbs.suggested_questions(get_app().kbs.records()[0].kb_id, 12)
    assert "la pregunta está escrita abajo" in texts(chat)
    chat = chat.chat_input[0].set_value(draft).run()
    home = chat.button(key="tour-go-on").click().run()

    home = home.button(key="tour-go-measure").click().run()
    wait_for_jobs(get_app().runs.jobs)
    home = home.run()
    home = home.button(key="tour-go-read").click().run()
    [run] = get_app().archive.runs()[0]
    assert home.session_state["run_id"] == run.run_id
    [asked] = get_app().question_sets.sets(kb_id := get_app().kbs.records()[0].kb_id)
    assert (run.dataset, run.queries, run.generator) == (f"{kb_id}/{asked.name}", len(asked.kept), "")
    assert len(asked.kept) == 30
    home = home.switch_page("views/0_Inicio.py").run()
    assert "Ya conoce el recorrido completo" in texts(home)


def test_what_was_done_with_another_base_is_no_step_of_the_tour(data_dir: Path, no_keys: None) -> None:
    first = get_app().kbs.add_sample()
    visitor = "0123456789abcdef0123456789abcdef"
    own = get_app().chat.start(visitor, first.kb_id, first.kb_name)
    assert get_app().chat.begin(visitor, own, "¿Cuántos días de vacaciones hay?", UserContext()).join(60)
    write_runs(data_dir, 1)  # of a data set
    home = open_page("home", visitor=visitor).button(key="tour-show").click().run()
    assert "2 de 4 pasos hechos" in str([bar.proto.text for bar in home.get("progress")])
    get_app().kbs.add("otra.md", b"# Otra\n\nEl plazo es de nueve semanas.\n")
    home = open_page("home", visitor=visitor).button(key="tour-show").click().run()
    assert "1 de 4 pasos hechos" in str([bar.proto.text for bar in home.get("progress")])
    assert "tour-go-ask" in keys(home)


def test_the_tour_is_closed_and_called_back(data_dir: Path) -> None:
    home = open_page("home").button(key="tour-show").click().run()
    home = home.button(key="tour-dismiss").click().run()
    assert home.query_params["tour"] == "off"
    assert "tour-go-kb" not in keys(home)
    reloaded = AppTest.from_file(str(ROOT / "streamlit_app" / "Inicio.py"), default_timeout=120)
    reloaded.query_params["tour"] = "off"
    reloaded.run()
    assert "tour-go-kb" not in keys(reloaded)
    reloaded = reloaded.button(key="tour-show").click().run()
    assert "tour-go-kb" in keys(reloaded)


def test_those_who_have_been_here_are_not_guided(data_dir: Path) -> None:
    get_app().kbs.add_sample()
    write_runs(data_dir, 1)
    home = open_page("home")
    assert "tour-show" in keys(home)
    home = home.button(key="tour-show").click().run()
    assert "tour-go-ask" in keys(home)


def test_a_benchmark_that_fails_says_why_and_can_be_launched_again(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tour._RUN, "retrieval_strategy", "nowhere")
    get_app().kbs.add_sample()
    home = open_page("home")
    home.session_state["tour"] = "on"
    home = home.run()
    chat = home.button(key="tour-go-ask").click().run()
    chat = chat.chat_input[0].set_value("¿Qué hay sobre días pendientes?").run()
    home = chat.switch_page("views/0_Inicio.py").run()
    home = home.button(key="tour-go-measure").click().run()
    assert "nowhere" in home.error[0].value
    assert "tour-go-measure" in keys(home)


def test_a_storage_that_refuses_is_a_tile_of_its_own(
    data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"ENDPOINT": "http://127.0.0.1:1", "ACCESS_KEY": "ak-secret", "SECRET_KEY": "sk-secret"}.items():
        monkeypatch.setenv(f"MINIO_{name}", value)
    monkeypatch.setenv("MINIO_BUCKET_NAME", "conjuntos")
    open_page("home")
    settle_health()
    home = open_page("home")
    assert "**Almacenamiento S3**" in texts(home)
    assert "conjuntos ·" in texts(home)
    assert "No responde" in texts(home)
    assert "sk-secret" not in texts(home)
