"""Two runs compared in a real browser, and the search of one of them taken into the chat."""

from __future__ import annotations

import json

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.evaluation.own_questions import ENOUGH_OWN
from chatbot_mvp.settings.model import load_settings
from tests.e2e.test_tour import ask, choose, settle, visit

pytestmark = [pytest.mark.e2e]


@pytest.mark.slow
def test_two_runs_are_compared_and_one_goes_into_the_chat(page, server) -> None:  # type: ignore[no-untyped-def]
    """A forest plot with its table; the answer's record has the run's strategy, until the way back is taken."""
    app = build_app(load_settings(data_dir=server.data_dir, generation_enabled=False))
    app.runs.run_now(retrieval_strategy="BRIDGE")
    lexical = app.runs.run_now(retrieval_strategy="LEXICAL", kb_top_k=2).run_id
    app.kbs.add_sample()

    visit(page, server, f"Evaluacion?run={lexical}")
    page.get_by_role("tab", name="Curvas").click()
    page.get_by_text("Distribución de", exact=True).wait_for()
    settle(page)
    page.get_by_role("radio", name="Comparación").click()
    page.get_by_role("combobox", name="Ejecución de partida").wait_for()
    settle(page)
    choose(page, "Comparada con", "palabras y enlaces")
    page.get_by_text("Punto relleno").wait_for()
    settle(page)
    page.locator("[role='graphics-document'][aria-label^='Diferencia con la de partida'] svg").wait_for()
    page.get_by_text("Diferencias de configuración").wait_for()
    choose(page, "Ver una pregunta en todas", "¿")
    page.locator("strong").filter(has_text="A · solo palabras").wait_for()
    settle(page)

    page.get_by_role("radio", name="Una ejecución").click()
    page.get_by_role("tab", name="Configuración completa").click()
    page.get_by_role("button", name="Usar esta configuración en el chat").click()
    page.get_by_text("El chat busca con la configuración de la ejecución").wait_for()
    ask(page, "¿Cuántos días laborables de vacaciones tiene cada persona?")
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)
    page.get_by_role("button", name="Volver a la habitual").click()
    page.get_by_text("El chat busca con la configuración de la ejecución").wait_for(state="detached")
    [conversation] = (server.data_dir / "conversations").rglob("*.jsonl")
    entries = [json.loads(line) for line in conversation.read_text("utf-8").splitlines()]
    [debug] = [entry["answer"]["debug"] for entry in entries if entry.get("answer")]
    assert debug["strategy"] == "LEXICAL"
    assert len(debug["chunks_final"]) <= 2 + debug["stitching_added_count"]


FAR = """
const send = WebSocket.prototype.send, every = window.setInterval;
WebSocket.prototype.send = function (message) { setTimeout(() => send.call(this, message), 800); };
window.setInterval = (act, ms, ...more) => every(act, ms / 8, ...more);
"""
"""What a page draws anew each second is asked for some times more than the server expects."""


@pytest.mark.slow
def test_a_comparison_that_opens_by_itself_stays_in_a_browser_far_away(page, server) -> None:  # type: ignore[no-untyped-def]
    app = build_app(load_settings(data_dir=server.data_dir, generation_enabled=False))
    kb_id = app.kbs.add_sample().kb_id
    app.own_questions.keep(kb_id, "Maletas", {f"¿Quién lleva {number} maletas?": None for number in range(ENOUGH_OWN)})
    page.add_init_script(FAR)
    visit(page, server, "Evaluar_mi_KB")
    page.get_by_role("button", name="Medir y comparar formas de buscar").click()
    page.wait_for_url("**/Evaluacion?compare=*")
    page.get_by_text("Diferencias de configuración").wait_for()
    page.wait_for_timeout(5_000)
    assert page.get_by_text("Diferencias de configuración").is_visible()
