"""The page Documento: an address opens what was cited then, says what has become of it, and is never trusted."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import KbRecord
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.knowledge_base.versions import NewDocument
from streamlit_app.shared.state import get_app
from tests.documents.made import pdf
from tests.ui.test_pages import open_page, open_sources, texts

pytestmark = pytest.mark.usefixtures("data_dir")

SAYS = "El plazo para reclamar la fianza del local es de treinta y siete días naturales."
PDF = pdf([[("Portada", 20.0), ("Una guía para quien alquila.", 11.0)], [("Fianzas", 20.0), (SAYS, 11.0)]])


def kept(**files: bytes) -> KbRecord:
    named = {name.replace("_", "."): content for name, content in files.items()}
    new = [NewDocument(name, parse_upload(name, content, 1_000_000, 10), content) for name, content in named.items()]
    return get_app().kbs.store.keep(new, 1_000_000, "Guía")


def cited() -> dict[str, str]:
    """The address that the only source of an answer leads to."""
    chat = open_page("chat")
    chat.chat_input[0].set_value("¿Cuál es el plazo para reclamar la fianza del local?").run()
    [link] = [link.proto for link in open_sources(chat).get("page_link") if link.proto.query_string]
    return {name: values[0] for name, values in parse_qs(link.query_string).items()}


def opened(**address: str) -> AppTest:
    page = open_page("document", **address)
    assert not page.exception, page.exception
    return page


def bodies(page: AppTest) -> str:
    return "".join(element.proto.body for element in page.get("html"))


@pytest.mark.parametrize("protected", [False, True])
def test_a_citation_leads_to_its_passage_in_a_text(protected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if protected:
        monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
        get_app.clear()
    kept(a_md=b"# Otro\n\nNada.\n", guia_md=f"# Fianzas\n\n{SAYS}\n\n## Más\n\nOtra cosa.\n".encode())
    page = opened(**cited())
    assert f"<mark data-first-mark=1>{SAYS}</mark>" in bodies(page)
    assert "Fianzas" in texts(page) and "guia.md" in texts(page)


def test_a_citation_leads_to_its_page_in_a_pdf(data_dir: Path) -> None:
    kept(guia_pdf=PDF)
    address = cited()
    shown = bodies(opened(**address))
    assert 'alt="Página 2 de 2 de guia.pdf. El pasaje citado está resaltado."' in shown
    assert len(re.findall(r"<span data-first-mark=1 style=", shown)) == 1
    for path in data_dir.rglob("originals/*"):
        path.write_bytes(PDF[: len(PDF) // 3])
    for path in data_dir.rglob("pages/*"):
        path.unlink()
    page = opened(**address)
    assert "no se puede dibujar" in page.warning[0].value
    page.segmented_control[0].set_value("text").run()
    assert f"<mark data-first-mark=1>{SAYS}</mark>" in bodies(page)


def test_an_old_citation_opens_what_it_cited_then_and_says_what_it_says_now(data_dir: Path) -> None:
    record = kept(a_md=b"# Otro\n\nNada.\n", guia_md=f"# Fianzas\n\n{SAYS}\n".encode())
    address = cited()
    chat = open_page("chat")
    chat.chat_input[0].set_value("¿Cuál es el plazo para reclamar la fianza del local?").run()
    assert "Fuentes que han cambiado" not in texts(chat)
    later = f"# Fianzas\n\n{SAYS.replace('treinta y siete', 'noventa')}\n".encode()
    changed = NewDocument("guia.md", parse_upload("guia.md", later, 1_000_000, 10), later)
    get_app().kb_changes.change(record.kb_id, new=[changed])
    said = [one.value for one in chat.run().caption if "han cambiado desde esta respuesta" in one.value]
    assert len(said) == 1 and "1" in said[0]
    page = opened(**address)
    assert f"<mark data-first-mark=1>{SAYS}</mark>" in bodies(page)
    assert "versión 1" in texts(page) and "la actual es la 2" in texts(page)
    assert "ha cambiado desde la respuesta" in texts(page) and "noventa días" in texts(page)
    [path] = data_dir.rglob(f"versions/{record.version}.json")
    path.unlink()
    page = opened(**address)
    assert "ya no se conserva" in page.warning[0].value
    assert "noventa días" in bodies(page) and "<mark" not in bodies(page)


def test_from_a_document_one_goes_back_to_the_answer_that_one_came_from() -> None:
    kept(guia_md=f"# Fianzas\n\n{SAYS}\n".encode())
    address = cited()
    [back] = [one.proto for one in opened(**address).get("page_link") if one.proto.label == "Volver al chat"]
    assert parse_qs(back.query_string) == {"c": [address["c"]], "m": [address["m"]]}
    [conversation] = [path.stem for path in get_app().settings.conversations_dir.glob("*/*.jsonl")]
    assert address["c"] == conversation


def test_an_address_that_is_wrong_says_so() -> None:
    record = kept(guia_md=f"# Fianzas\n\n{SAYS}\n".encode())
    good = {"kb": record.kb_id, "document": "guia.md", "version": record.version}
    assert "ya no existe" in opened(kb="../../etc").info[0].value
    assert "no tiene el documento" in opened(**good | {"document": "otra.md"}).error[0].value
    assert "no tiene los caracteres 5000 a 6000" in opened(**good, start="5000", end="6000").error[0].value
    for start, end in (("-1", "5"), ("x", "y"), ("1" * 400, "2" * 400), ("٣", "٤"), ("", "")):
        page = opened(**good, start=start, end=end)
        assert not page.error and SAYS in bodies(page) and "<mark" not in bodies(page)
