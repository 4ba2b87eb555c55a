"""Uploads and knowledge bases on the pages, through AppTest with real parts behind it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from streamlit_app.shared.state import get_app
from tests.documents.made import docx_with, pdf
from tests.ui.test_pages import open_page, open_sources, sources, texts
from tests.waiting import wait_until

DOCX = docx_with(("Heading 1", "Ayuda de comedor"), ("Normal", "La empresa paga once euros por cada día de comedor."))
PDF = pdf([[("Gastos de viaje", 18.0), ("El kilómetro se paga a veintiséis céntimos.", 11.0)]])
MIME = "application/octet-stream"


pytestmark = pytest.mark.usefixtures("data_dir")


def upload(page: AppTest, *files: tuple[str, bytes]) -> AppTest:
    """Drop the files and wait until they are done."""
    page.file_uploader[0].set_value([(name, content, MIME) for name, content in files]).run()
    assert not page.exception, page.exception
    return settled(page)


def chosen(chat: AppTest) -> str:
    """Name of the knowledge base that is asked."""
    [name] = [str(box.value) for box in chat.selectbox if box.label == "Base"]
    return name


def settled(page: AppTest) -> AppTest:
    wait_until(lambda: not get_app().uploads.uploads(), 60, "the end of all uploads")
    page.run()
    assert not page.exception, page.exception
    return page


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("page", "language", "said"),
    [("admin", "es", ("está lista", "indexado", "mismo texto que comedor.docx", "está dañado")),
     ("chat", "en", ("is ready", "indexed", "same text as comedor.docx", "damaged"))],
)  # fmt: skip
def test_several_files_are_taken_and_the_state_of_each_is_told(page: str, language: str, said: tuple[str, ...]) -> None:
    files = [("comedor.docx", DOCX), ("viajes.pdf", PDF), ("copia.docx", DOCX), ("roto.pdf", b"%PDF-1.4 x")]
    shown = texts(upload(open_page(page, language), *files))
    assert [text for text in said if text not in shown] == []
    [record] = get_app().kbs.records()
    assert record.files == ("comedor.docx", "viajes.pdf")
    assert page == "chat" or record.kb_name in shown


@pytest.mark.slow
def test_a_single_file_that_cannot_be_read_is_an_error_that_says_what_to_do() -> None:
    page = upload(open_page("admin"), ("escaneo.pdf", pdf([[], []])))
    assert "reconocimiento de texto (OCR)" in page.error[0].value
    assert get_app().kbs.records() == []


def test_what_a_kb_holds_is_shown_page_by_page_with_what_it_repeats() -> None:
    same = "Cada turno empieza con el parte de seguridad firmado."
    text = f"# Turnos\n\n{same}\n\n# Turnos\n\n{same}\n\n" + "".join(
        f"# Asunto {n}\n\nTexto {n}.\n\n" for n in range(20)
    )
    record = get_app().kbs.add("turnos.md", text.encode())
    page = open_page("admin")
    assert f"{record.chunks} fragmentos" in texts(page)
    page.button(key=f"look-{record.kb_id}").click().run()
    page.segmented_control(key=f"view-{record.kb_id}").set_value("chunks").run()
    labels = [expander.label for expander in page.expander]
    assert "Fragmentos repetidos: 1" in labels
    assert "1 · Turnos" in labels
    assert "11 · Asunto 8" not in labels
    page.session_state[f"page-{record.kb_id}-3"] = 2
    page.run()
    assert "11 · Asunto 8" in [expander.label for expander in page.expander]
    page.button(key=f"look-{record.kb_id}").click().run()
    assert not [expander for expander in page.expander if "Asunto" in expander.label]


def test_a_name_that_another_kb_has_is_refused() -> None:
    get_app().kbs.add("viajes.pdf", PDF)
    record = get_app().kbs.add("comedor.docx", DOCX)
    page = open_page("admin")
    page.text_input(key=f"name-{record.kb_id}").set_value("viajes.pdf").run()
    page.button(key=f"rename-{record.kb_id}").click().run()
    assert "Ya hay una base llamada «viajes.pdf»" in page.error[0].value
    assert get_app().kbs.store.record(record.kb_id).kb_name == "comedor.docx"


@pytest.mark.slow
def test_a_base_of_several_files_is_named_where_it_is_made_and_equal_files_make_no_version() -> None:
    page = upload(open_page("admin"), ("comedor.docx", DOCX), ("viajes.pdf", PDF))
    [record] = get_app().kbs.records()
    name = page.text_input(key=f"added-name-{record.kb_id}-{record.kb_name}")
    assert name.value == record.kb_name and record.kb_name.endswith(" y 1 más")
    page = name.set_value("Normas de viaje").run()
    [record] = get_app().kbs.records()
    assert record.kb_name == "Normas de viaje"
    assert "La base «Normas de viaje» está lista" in texts(page)
    me = str(page.session_state["chat_session"])
    get_app().uploads.add_to(record.kb_id, [("viajes.pdf", PDF)], me)
    page = settled(open_page("admin", visitor=me))
    assert "«Normas de viaje» sigue igual: ningún archivo trae algo nuevo." in texts(page)
    assert get_app().kbs.store.record(record.kb_id).number == record.number


@pytest.mark.slow
def test_a_kb_is_renamed_indexed_again_and_deleted_only_after_a_question_and_for_a_day_not_for_good() -> None:
    record = get_app().kbs.add("comedor.docx", DOCX)
    page = open_page("admin")
    page.text_input(key=f"name-{record.kb_id}").set_value("Normas de comedor").run()
    page.button(key=f"rename-{record.kb_id}").click().run()
    assert "**Normas de comedor**" in texts(page)
    page.button(key=f"reindex-{record.kb_id}").click().run()
    page = settled(page)
    # Without a count of its own: that of the text, with headings between files, is not the sum of the files'.
    assert "La base «Normas de comedor» está lista. Idioma: español." in texts(page)
    assert page.button(key=f"delete-{record.kb_id}").label == "Eliminar la base"
    page.button(key=f"delete-{record.kb_id}").click().run()
    assert "Se eliminará **Normas de comedor**: sus documentos (1)" in texts(page)
    assert page.button(key="confirm-no").label == "Cancelar"
    assert get_app().kbs.records() != []  # asked before anything goes
    get_app().kbs.delete(record.kb_id, undoable=True)
    page.run()
    assert "Se ha eliminado «Normas de comedor»" in texts(page)
    page.button(key=f"undelete-{record.kb_id}").click().run()
    assert [one.kb_id for one in get_app().kbs.records()] == [record.kb_id]


@pytest.mark.slow
def test_chat_takes_files_when_there_is_no_kb() -> None:
    chat = upload(open_page("chat"), ("comedor.docx", DOCX), ("viajes.pdf", PDF))
    assert chosen(chat) == get_app().kbs.records()[0].kb_id
    questions = [button.label for button in chat.button if (button.key or "").startswith("suggested-")]
    assert questions in ([], ["¿Cómo se paga el kilómetro?"])  # the one sentence that is enough to ask about


def test_a_suggested_question_is_asked_by_its_click_and_gone_after_it() -> None:
    get_app().kbs.add_sample()
    chat = open_page("chat")
    suggested = [button for button in chat.button if (button.key or "").startswith("suggested-")]
    assert len(suggested) == 4
    question = suggested[-1].label
    suggested[-1].click().run()
    assert not chat.exception
    assert question in texts(chat)
    assert sources(chat)[0].startswith("[")
    assert "politica_empresa.md" in texts(chat)
    assert not [button for button in chat.button if (button.key or "").startswith("suggested-")]


def test_a_kb_added_in_chat_becomes_the_one_that_is_asked() -> None:
    get_app().kbs.add_sample()
    chat = upload(open_page("chat"), ("viajes.pdf", PDF))
    added = next(kb for kb in get_app().kbs.records() if kb.kb_name == "viajes.pdf")
    assert chosen(chat) == added.kb_id
    chat.chat_input[0].set_value("¿A cuánto se paga el kilómetro?").run()
    assert "veintiséis céntimos" in texts(chat)
    assert "viajes.pdf, página 1" in texts(open_sources(chat))
