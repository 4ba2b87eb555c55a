"""Admin behind a password, in a real browser: sign in, bring a data set, run on it."""

from __future__ import annotations

import pytest

from chatbot_mvp.settings.password import hash_password
from tests.datasets.test_uploads import BEIR, packed
from tests.e2e.test_tour import settle, visit

pytestmark = [pytest.mark.e2e]

PASSWORD = "la contraseña del faro"


SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL", "ADMIN_PASSWORD": hash_password(PASSWORD)}


def sign_in(page, password: str) -> None:  # type: ignore[no-untyped-def]
    page.get_by_label("Contraseña").first.fill(password)
    page.get_by_role("button", name="Entrar", exact=True).click()


@pytest.mark.slow
def test_sign_in_upload_a_data_set_and_see_a_run_on_it_finish(page, server) -> None:  # type: ignore[no-untyped-def]
    visit(page, server, "Admin")
    assert page.get_by_role("tab").count() == 0
    sign_in(page, "otra cosa")
    page.get_by_text("La contraseña no es correcta").wait_for()
    sign_in(page, PASSWORD)
    page.get_by_role("tab", name="Datos").click()
    assert PASSWORD not in page.url
    assert "password" not in page.url

    file = {"name": "costa.zip", "mimeType": "application/zip", "buffer": packed(BEIR, "costa/").getvalue()}
    panel = page.get_by_role("tabpanel", name="Datos")
    panel.locator("[data-testid='stFileUploader'] input[type=file]").set_input_files(files=[file])
    panel.get_by_role("button", name="Comprobar y guardar").click()
    page.get_by_text("costa está listo").wait_for()
    settle(page)

    page.get_by_role("tab", name="Ejecuciones").click()
    panel = page.get_by_role("tabpanel", name="Ejecuciones")
    panel.get_by_role("combobox", name="Conjunto de datos").click()
    page.get_by_role("option", name="costa").click()
    settle(page)
    panel.get_by_role("button", name="Lanzar la ejecución").click()
    panel.get_by_text("Terminada: costa").wait_for()
    settle(page)

    # What was brought goes again, after a question.
    page.get_by_role("tab", name="Datos").click()
    panel = page.get_by_role("tabpanel", name="Datos")
    panel.get_by_role("combobox", name="Ver un conjunto de datos").click()
    page.get_by_role("option", name="costa").click()
    panel.get_by_role("button", name="Eliminar").click()
    page.get_by_role("dialog").get_by_role("button", name="Eliminar el conjunto de datos").click()
    page.get_by_text("costa ya no está en la lista").wait_for()
    assert not (server.data_dir / "datasets" / "costa").exists()

    page.get_by_role("button", name="Salir de Administración").click()
    page.get_by_label("Contraseña").first.wait_for()
    assert page.get_by_role("tab").count() == 0
