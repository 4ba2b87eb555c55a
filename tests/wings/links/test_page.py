"""The link among the ways to share an answer, and what another visitor sees who opens it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from streamlit_app.shared.state import get_app
from tests.ui.test_pages import open_page, texts

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")

QUESTION, OTHER = (
    "¿Cuántos días laborables de vacaciones tiene cada persona?",
    "¿Cuánto se paga por kilómetro en coche propio?",
)


def test_an_answer_is_sent_by_its_link_read_by_another_visitor_and_withdrawn() -> None:
    get_app().kbs.add_sample()
    page = open_page("chat")
    for question in (QUESTION, OTHER):
        page.chat_input[0].set_value(question).run()
    next(button for button in page.button if button.label == "Crear un enlace").click().run()
    assert not page.exception, page.exception
    [address] = [code.value for code in page.code if "answer=" in code.value]
    [token] = parse_qs(urlsplit(address).query)["answer"]

    other = open_page("chat", answer=token)
    assert not other.exception, other.exception
    assert QUESTION in texts(other) and "23 días laborables" in texts(other)
    assert OTHER not in texts(other)  # the rest of the conversation stays its owner's
    assert not other.chat_input
    assert not [button for button in other.button if (button.key or "").startswith(("thumbs", "link", "again"))]

    next(button for button in page.button if button.label == "Anular el enlace").click().run()
    assert not page.exception, page.exception
    other = open_page("chat", answer=token)
    assert "no abre ninguna respuesta" in other.error[0].value
    assert QUESTION not in texts(other)
