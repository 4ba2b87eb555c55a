"""Somebody opens the address of a run, and what they write about it is there for the next one."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.e2e.test_tour import settle

pytestmark = [pytest.mark.e2e]


@pytest.mark.slow
def test_a_run_is_opened_by_its_address_found_tagged_and_still_tagged_after_a_reload(page, server) -> None:  # type: ignore[no-untyped-def]
    settings = load_settings(data_dir=server.data_dir, retrieval_strategy="LEXICAL", generation_enabled=False)
    run_id = build_app(settings).runs.run_now(eval_max_queries=5).run_id

    page.goto(f"{server.url}/Evaluacion?run={run_id}")
    page.get_by_role("tab", name="Curvas").wait_for()
    settle(page)
    page.get_by_role("button", name="Enlace").click()
    assert f"Evaluacion?run={run_id}" in page.locator("[data-testid='stCode']").inner_text()
    page.keyboard.press("Escape")

    page.get_by_role("radio", name="Lista").click()
    settle(page)
    page.get_by_role("textbox", name="Buscar").fill("valle lexical")
    page.keyboard.press("Enter")
    settle(page)
    tags = page.get_by_role("combobox", name="Etiquetas").last
    tags.fill("línea base")
    tags.press("Enter")
    tags.press("Escape")  # the list of other tags
    settle(page)
    opens = page.get_by_role("button", name="Abrir").filter(has_text="Abrir")  # the arrow of a list has no text
    opens.wait_for()
    settle(page)
    page.reload()
    page.get_by_test_id("stMultiSelect").get_by_text("línea base").wait_for()
    page.get_by_role("textbox", name="Buscar").fill("linea")
    page.keyboard.press("Enter")
    settle(page)
    opens.click()
    page.wait_for_url(f"**/Evaluacion?run={run_id}*")
    page.get_by_text("Etiquetas y nota · línea base").wait_for()
