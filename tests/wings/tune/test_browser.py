"""The best configuration is searched in a real browser, taken into the chat, and undone."""

from __future__ import annotations

import json

import pytest

from tests.e2e.test_tour import settle, visit

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = {"PROVIDER": "demo"}


@pytest.mark.timeout(900)  # fifty configurations on two busy cores
def test_a_tune_is_applied_the_chat_uses_it_and_it_is_undone(page, server) -> None:  # type: ignore[no-untyped-def]
    saved = server.data_dir / "app_settings.json"
    server.kill()
    saved.write_text(json.dumps({"format_version": 1, "settings": {"retrieval_strategy": "LEXICAL"}}), "utf-8")
    server.start()
    visit(page, server, "Admin")
    page.get_by_role("tab", name="Mejorar").click()
    page.get_by_text("Más opciones").click()
    slider = page.locator(".st-key-tune_most").get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    settle(page)
    page.locator(".st-key-tune_start button").click()
    page.get_by_role("button", name="Usarla en el chat").wait_for(timeout=600_000)
    settle(page)

    page.get_by_role("button", name="Usarla en el chat").click()
    page.get_by_role("button", name="Deshacer").wait_for()
    settle(page)
    applied = json.loads(saved.read_text("utf-8"))["settings"]
    assert applied["retrieval_strategy"] != "LEXICAL"

    visit(page, server, "Chat")
    page.locator(".st-key-kb_sample button").click()
    settle(page)
    box = page.locator("[data-testid='stChatInput'] textarea")
    box.fill("¿Cuántos días de vacaciones tengo?")
    box.press("Enter")
    page.get_by_text("23").first.wait_for(timeout=120_000)
    settle(page)
    log = (server.data_dir / "logs" / "retrieval_metrics.jsonl").read_text("utf-8").splitlines()
    [found] = server.data_dir.glob("tunes/*/result.json")
    winner = json.loads(found.read_text("utf-8"))["winner"]["config_id"]
    assert json.loads(log[-1])["fingerprint"].startswith(winner)

    visit(page, server, "Admin")
    page.get_by_role("tab", name="Mejorar").click()
    page.get_by_role("button", name="Deshacer").click()
    page.get_by_role("button", name="Deshacer").wait_for(state="detached")
    assert json.loads(saved.read_text("utf-8"))["settings"]["retrieval_strategy"] == "LEXICAL"
