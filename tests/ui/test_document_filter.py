"""The chat's choice of documents, and what the page shows of others: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from streamlit_app.shared.state import get_app
from tests.knowledge_base import test_filters as filters
from tests.knowledge_base.test_filters import HIDDEN, OPEN, SECRET, new, plain
from tests.ui.test_pages import open_page, texts

# What the reader typed stands on the page, so these questions name nothing that is hidden.
QUESTIONS = [question for question in filters.QUESTIONS if not any(word in plain(question) for word in HIDDEN)]


@pytest.fixture
def kb_id(data_dir: Path) -> str:
    documents = [*(new(*one) for one in OPEN.items()), new("dirección/secreto.md", SECRET, tags=("secreto",))]
    return get_app().kbs.store.keep(documents, 100_000).kb_id


def everything(page: AppTest) -> str:
    """All strings of the page but the names in the choice itself."""
    return plain([texts(page), [str(button.label) for button in page.button]])


def test_the_chat_asks_only_the_chosen_documents_and_says_so(kb_id: str) -> None:
    page = open_page("chat")
    folders = page.multiselect(key=f"filter-folders-{kb_id}")
    assert folders.options == ["dirección", "rrhh", "rrhh/2026"]
    folders.set_value(["rrhh"]).run()
    assert bar(page)[0] == "Solo en 2 de 4 documentos"
    for question in QUESTIONS:
        page.chat_input[0].set_value(question).run()
        assert not page.exception, page.exception
    shown = everything(page)
    assert "Preguntado solo a: Carpetas: rrhh" in texts(page).replace("\\", "")
    assert "23 dias" in shown
    assert not [word for word in HIDDEN if word in shown]
    again = open_page("chat", visitor=str(page.session_state["chat_session"]))
    assert texts(again).replace("\\", "").count("Preguntado solo a: Carpetas: rrhh") == len(QUESTIONS)


def bar(page: AppTest) -> list[str]:
    """The labels of the boxes that open, the one of the filter first."""
    return [box.proto.popover.label for box in page.get("popover")]


def test_a_new_conversation_asks_all_documents_and_one_document_is_named_in_the_bar(kb_id: str) -> None:
    page = open_page("chat")
    page.multiselect(key=f"filter-documents-{kb_id}").set_value(["rrhh/vacaciones.md"]).run()
    page.chat_input[0].set_value(QUESTIONS[0]).run()
    assert bar(page)[0] == "Solo en: rrhh/vacaciones.md"
    page.button(key="talk-new").click().run()
    assert bar(page)[0] == "Todos los documentos"
    page.chat_input[0].set_value(QUESTIONS[0]).run()
    assert "Preguntado solo a" not in texts(page)
    for _ in range(2):  # and it stays with its conversation while the page is left
        page.multiselect(key=f"filter-folders-{kb_id}-1").set_value(["rrhh"]).run()
        page = page.switch_page("views/1_Evaluacion.py").run().switch_page("views/2_Chat.py").run()
        assert bar(page)[0] == "Solo en 2 de 4 documentos"


def test_no_document_is_said_before_and_after_asking(kb_id: str) -> None:
    page = open_page("chat")
    page.multiselect(key=f"filter-folders-{kb_id}").set_value(["rrhh"]).run()
    page.multiselect(key=f"filter-tags-{kb_id}").set_value(["secreto"]).run()
    assert "Ningún documento cumple el filtro" in texts(page)
    page.chat_input[0].set_value(QUESTIONS[0]).run()
    assert "así que no se ha buscado nada" in texts(page)
    assert "Sin respuesta" not in texts(page)
    page.button[[str(button.label) for button in page.button].index("Quitar el filtro")].click().run()
    assert "Ningún documento cumple el filtro. Cámbielo" not in texts(page)


def test_one_document_needs_no_choice(data_dir: Path) -> None:
    get_app().kbs.add_sample()
    assert not open_page("chat").multiselect
