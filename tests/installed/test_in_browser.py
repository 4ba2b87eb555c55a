"""From the wheel to the first answer: ``chatbot-mvp ui`` in an empty folder, clicked through in a real browser."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tests.browser import SOON_MS
from tests.e2e.test_tour import ask, settle, upload, visit
from tests.installed.conftest import Installed
from tests.loopback import free_port
from tests.ui.test_start_of_pages import addresses
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("installed"), pytest.mark.slow, pytest.mark.timeout(600)]

DOCUMENT = "# Garantía\n\nLa garantía del molino dura treinta y siete meses desde la compra.\n"


@contextmanager
def started(installed: Installed, home: str) -> Iterator[SimpleNamespace]:
    """``chatbot-mvp ui`` with nothing in its environment but a home."""
    port = free_port()
    log = installed.folder / f"{home}.log"
    with log.open("wb") as out:
        process = installed.start("ui", "--port", str(port), home=home, out=out, err=out)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return True
        except OSError:
            return False

    try:
        wait_until(answers, 60, "the pages", 0.2)
        yield SimpleNamespace(url=f"http://127.0.0.1:{port}", port=port)
    finally:
        process.terminate()
        process.wait(20)


def test_the_installed_wheel_answers_measures_and_takes_an_upload(page, installed: Installed) -> None:  # type: ignore[no-untyped-def]
    from playwright.sync_api import expect

    page.context.set_default_timeout(SOON_MS)
    with started(installed, "newcomers") as server:
        assert addresses(server.port) == {"0100007F"}
        visit(page, server)
        page.get_by_role("button", name="Visita guiada").click()
        page.get_by_role("button", name="Cargar el manual de ejemplo").click()
        page.get_by_role("button", name="Abrir el chat con una pregunta").click()
        question = page.get_by_role("textbox", name="Pregunte algo sobre el documento")
        expect(question).to_have_value(re.compile("^¿"), timeout=SOON_MS)
        question.press("Enter")
        page.locator("[class*='st-key-sources-']").wait_for()
        settle(page)
        page.locator("[data-testid='stChatMessage']").last.get_by_role("link").first.click()
        page.get_by_role("button", name="Seguir con el paso 3").click()
        page.get_by_role("button", name="Medir con sus preguntas").click()
        page.get_by_role("button", name="Abrir el resultado").click()
        page.get_by_text("de 30 puntuadas").first.wait_for()

        visit(page, server, "Chat")
        page.get_by_role("button", name="Subir").click()
        upload(page, "molino.md", DOCUMENT.encode())
        page.get_by_text("está lista").wait_for()
        settle(page)
        page.keyboard.press("Escape")
        ask(page, "¿Cuánto dura la garantía del molino?")
        page.locator("[data-testid='stChatMessage']").get_by_text("treinta y siete meses").first.wait_for()
        settle(page)
    assert not any((installed.folder / "empty").iterdir())
    data = installed.folder / "newcomers" / ".local" / "share" / "chatbot-mvp"
    assert len(list(data.glob("kb/*/kb.json"))) == 2
    assert len(list(data.glob("results/*/*_summary.csv"))) == 1
