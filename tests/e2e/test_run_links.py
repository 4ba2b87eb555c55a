"""Somebody opens the address of a run, and what they write about it is there for the next one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.e2e.conftest import ROOT
from tests.e2e.test_tour import settle

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("e2e")]


def test_a_run_is_opened_by_its_address_found_tagged_and_still_tagged_after_a_reload(page, server) -> None:  # type: ignore[no-untyped-def]
    environment = {**os.environ, "DATA_DIR": str(server.data_dir), "RETRIEVAL_STRATEGY": "LEXICAL"}
    command = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--no-generation", "--max-queries", "5"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    [run_id] = [path.name for path in (server.data_dir / "results").iterdir()]

    page.goto(f"{server.url}/Evaluacion?run={run_id}")
    page.get_by_text("Curvas").wait_for()
    settle(page)
    page.get_by_role("button", name="Enlace").click()
    assert f"Evaluacion?run={run_id}" in page.locator("[data-testid='stCode']").inner_text()
    page.keyboard.press("Escape")

    page.get_by_role("radio", name="Lista").click()
    page.get_by_role("textbox", name="Buscar").fill("valle lexical")
    page.keyboard.press("Enter")
    tags = page.get_by_role("combobox", name="Etiquetas").last
    tags.fill("línea base")
    tags.press("Enter")
    page.get_by_role("button", name="Abrir").wait_for()
    settle(page)
    page.reload()
    page.locator("[data-baseweb='tag']", has_text="línea base").wait_for()
    page.get_by_role("textbox", name="Buscar").fill("linea")
    page.keyboard.press("Enter")
    settle(page)
    page.get_by_role("button", name="Abrir").click()
    page.wait_for_url(f"**/Evaluacion?run={run_id}*")
    page.get_by_text("Etiquetas y nota · línea base").wait_for()
