"""Who may use Admin, through AppTest: nobody has to sign in, a password, an identity provider."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from streamlit_app.shared.state import get_app
from tests.ui.test_pages import PAGES, ROOT, EveryTab, open_page, texts

PASSWORD = "una contraseña larga"
AUTH = {
    "auth": {
        "redirect_uri": "http://localhost:8501/oauth2callback",
        "cookie_secret": "x" * 32,
        "client_id": "id",
        "client_secret": "secret",
        "server_metadata_url": "https://id.example/.well-known/openid-configuration",
    }
}

ANA = {"is_logged_in": True, "email": "ana@example.org"}

pytestmark = pytest.mark.usefixtures("data_dir")


def signed_in_as(user: dict[str, object]) -> AppTest:
    page = AppTest.from_file(str(ROOT / "streamlit_app" / "Inicio.py"), default_timeout=120)
    page.session_state["language"], page.session_state["opened_tabs"] = "es", EveryTab()
    page.secrets.update(AUTH)
    page.user = user
    page.run()
    page.switch_page(str(PAGES["admin"])).run()
    assert not page.exception, page.exception
    return page


def is_open(page: AppTest) -> bool:
    return any(button.key == "run_start" for button in page.button)


def enter(page: AppTest, password: str) -> AppTest:
    page.text_input(key="admin-password").input(password)
    [button] = [button for button in page.button if button.label == "Entrar"]
    button.click().run()
    assert not page.exception, page.exception
    return page


def test_without_a_password_the_page_is_open_and_says_so_in_a_line() -> None:
    page = open_page("admin")
    assert is_open(page)
    [line] = [caption for caption in page.caption if "Cualquiera que tenga acceso" in caption.value]
    assert "ADMIN_PASSWORD" in line.help
    assert not any(button.key == "admin-sign-out" for button in page.button)


@pytest.mark.slow
def test_a_wrong_password_is_refused_the_right_one_opens_and_signing_out_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    page = open_page("admin")
    assert not is_open(page)
    enter(page, "otra cosa")
    assert "La contraseña no es correcta" in page.error[0].value
    assert not is_open(page)
    enter(page, PASSWORD)
    assert is_open(page)
    assert not page.error
    assert PASSWORD not in texts(page) + str(page.query_params)
    assert "admin" not in str(page.query_params).casefold()
    # The other pages too let this session delete, and offer to sign out.
    assert page.switch_page(str(PAGES["chat"])).run().button(key="admin-sign-out")
    page.switch_page(str(PAGES["admin"])).run()
    page.button(key="admin-sign-out").click().run()
    assert not is_open(page)


def test_guessing_is_slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    # As after many wrong ones: this machine may take longer to click than the first waits last.
    monkeypatch.setattr("chatbot_mvp.settings.password._FREE_TRIES", -10)
    monkeypatch.setattr("streamlit_app.shared.guard._asker", lambda: "192.0.2.7")
    page = open_page("admin")
    enter(page, "otra cosa")
    enter(page, PASSWORD)
    assert "Espere" in page.error[0].value
    assert not is_open(page)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("user", "opens", "said"),
    [
        ({"is_logged_in": False}, False, ""),
        ({**ANA, "email_verified": True}, True, ""),
        ({**ANA, "email": "ANA@example.org", "email_verified": "true"}, True, ""),
        (ANA, False, "no está en ADMIN_EMAILS"),
        ({**ANA, "email_verified": None}, False, "no está en ADMIN_EMAILS"),
        ({**ANA, "email_verified": False}, False, "no está en ADMIN_EMAILS"),
        ({**ANA, "email": "strasse@example.org", "email_verified": True}, False, "no está en ADMIN_EMAILS"),
        ({**ANA, "email": "ana@example.org\u017f", "email_verified": True}, False, "no está en ADMIN_EMAILS"),
        ({**ANA, "iss": "https://id.example", "sub": "00u1"}, True, ""),
        ({**ANA, "iss": "https://id.example", "sub": "00U1"}, False, "id.example"),
        ({**ANA, "iss": "https://other.example", "sub": "00u1"}, False, "no está en ADMIN_EMAILS"),
        ({"is_logged_in": True, "email": "eva@example.org", "email_verified": True}, False, "no está en ADMIN_EMAILS"),
        ({"is_logged_in": True}, False, "no está en ADMIN_EMAILS"),
    ],
    ids=[
        *(
            "nobody",
            "listed",
            "other case",
            "verified not said",
            "verified is null",
            "not verified",
            "sharp s",
            "long s",
        ),
        *("identity", "another subject", "another issuer", "not listed", "no address"),
    ],
)
def test_an_identity_provider_opens_for_the_people_named(
    monkeypatch: pytest.MonkeyPatch, user: dict[str, object], opens: bool, said: str
) -> None:
    monkeypatch.setenv("ADMIN_EMAILS", "ana@example.org, luis@example.org, straße@example.org, https://id.example#00u1")
    monkeypatch.setattr("streamlit_app.shared.guard.find_spec", lambda name: object())
    page = signed_in_as(user)
    assert is_open(page) == opens
    assert said in texts(page)
    offered = any(button.label == "Entrar con la cuenta de la organización" for button in page.button)
    assert offered == (not user["is_logged_in"])


def test_without_anybody_named_the_identity_provider_opens_for_nobody() -> None:
    page = signed_in_as({"is_logged_in": True, "email": "ana@example.org"})
    assert not is_open(page)
    assert page.warning


def test_in_chat_a_conversation_is_deleted_only_by_who_signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    get_app().kbs.add_sample()
    chat = open_page("chat")
    chat.chat_input[0].set_value("¿Cuántos días de vacaciones hay?").run()
    chat.run()  # the list stands above the question, so that it has it from the next run on
    [menu] = chat.menu_button
    assert "Eliminar la conversación" not in menu.options
    enter(chat.switch_page(str(PAGES["admin"])).run(), PASSWORD)
    chat.switch_page(str(PAGES["chat"])).run()
    [menu] = chat.menu_button
    assert "Eliminar la conversación" in menu.options


def test_who_signed_in_elsewhere_can_sign_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_EMAILS", "ana@example.org")
    page = signed_in_as({**ANA, "email_verified": True})
    assert is_open(page)
    page.button(key="admin-sign-out").click().run()
    assert not page.exception
    assert not is_open(page)
