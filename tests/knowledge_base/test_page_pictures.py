"""Pages of a PDF as pictures: passages are marked, hostile files end with an error, and a purge leaves nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from chatbot_mvp.app import App
from chatbot_mvp.documents import page_pictures
from chatbot_mvp.documents.page_pictures import draw_page, drawn_page
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.knowledge_base.versions import NewDocument
from tests.documents.made import pdf
from tests.documents.test_bombs import forms
from tests.moving import app_over, document, moving_kb
from tests.raising import raises

HEAD = ("Manual de plazos", 20.0)
FIRST = [HEAD, *((line, 11.0) for line in (
    "El plazo ordinario de la solicitud es de treinta días naturales, y empieza el mismo",
    "día en que se recibe la notificación en la oficina; la reclamación extraordi-",
    "naria, en cambio, tiene un plazo de noventa días. Cabe una prórroga de diez días.",
))]  # fmt: skip
SECOND = [("Anexo", 20.0), ("La tasa del registro Zabalbeascoa es de doce euros con cincuenta céntimos.", 11.0)]
PDF = pdf([FIRST, SECOND])
EXTRAORDINARY = "la reclamación extraordinaria, en cambio, tiene un plazo de noventa días"


@pytest.fixture
def app(tmp_path: Path, clean_env: Path) -> App:
    return app_over(tmp_path / "data")


@pytest.fixture
def kb_id(app: App) -> str:
    """With a document before the PDF, so that the text of the PDF begins elsewhere and has lower headings."""
    parsed = parse_upload("plazos.pdf", PDF, 1_000_000, 10)
    given = NewDocument("rrhh/plazos.pdf", parsed, PDF)
    return moving_kb(
        app, document("a.md", "# Antes\n\nUn documento.\n\n```\n# código\n```\n\n## Fin\n\nNada.\n"), given
    )


def span(app: App, kb_id: str, said: str) -> tuple[int, int]:
    """Where a text is in the text of the knowledge base."""
    start = app.kbs.document(kb_id).text.index(said)
    return start, start + len(said)


def test_a_passage_is_marked_on_its_page_line_by_line(app: App, kb_id: str) -> None:
    documents = app.kb_documents
    passage = documents.passage(kb_id, "rrhh/plazos.pdf", "", *span(app, kb_id, EXTRAORDINARY))
    assert (passage.pages, passage.text) == ((1,), EXTRAORDINARY)
    assert documents.text(kb_id, "rrhh/plazos.pdf")[passage.start : passage.end] == EXTRAORDINARY
    picture = documents.picture(kb_id, "rrhh/plazos.pdf", 1, "", [passage])
    assert Image.open(io.BytesIO(picture.png)).size[0] == 1200
    first, second = picture.marks
    # The lines stand 1.2 x 11 points apart on a page of 595 x 842 with a margin of 70; the first from its middle on.
    assert second.left == pytest.approx(70 / 595, abs=0.01) and first.left > 0.4
    assert second.top - first.top == pytest.approx(1.2 * 11 / 842, abs=0.003)
    baseline = 842 - 780 + 2.5 * 20 + 2.5 * 11 + 1.2 * 11
    assert first.top < baseline / 842 < first.bottom + 0.003
    assert documents.picture(kb_id, "rrhh/plazos.pdf", 2, "", [passage]).marks == ()


def test_chunks_are_found_in_their_documents_whatever_stands_before(app: App, kb_id: str) -> None:
    for path in ("a.md", "rrhh/plazos.pdf"):
        text = app.kb_documents.text(kb_id, path)
        for chunk in app.kb_documents.chunks(kb_id, path):
            found = app.kb_documents.passage(kb_id, path, "", chunk.start, chunk.end)
            assert found.text == chunk.text
            plain = [line.lstrip("# ") for line in chunk.text.strip().splitlines()]
            assert [line.lstrip("# ") for line in text[found.start : found.end].strip().splitlines()] == plain


def test_what_is_not_there_is_refused_with_what_is_legal(app: App, kb_id: str) -> None:
    documents, path = app.kb_documents, "rrhh/plazos.pdf"
    file = app.kbs.store.files(kb_id)[1]
    for start, end in ((0, 5), (10**9, 10**9 + 1), (file.start + 5, file.start + 5), (file.end, file.start)):
        with raises("kb_passage_not_found", match=f"{file.start} to {file.end}"):
            documents.passage(kb_id, path, "", start, end)
    # A passage that goes beyond the document is shown as far as it goes.
    assert documents.passage(kb_id, path, "", 0, 10**9).text == app.kbs.document(kb_id).text[file.start : file.end]
    for page in (0, 3, -1):
        with raises("kb_page_not_found", match=f"no page {page}. Legal: 1 to 2"):
            documents.picture(kb_id, path, page)
    with raises("kb_page_not_found", match="Legal: -"):
        documents.picture(kb_id, "a.md", 1)


def test_a_passage_without_a_place_on_the_page_leaves_it_without_marks(app: App) -> None:
    drawn = drawn_page(draw_page("a.pdf", PDF, 1) or b"")
    assert drawn.find("Otro texto, del que la página no dice ni una sola palabra, como el de una imagen.") == ()
    assert drawn.find("") == ()
    assert drawn.find("la recla-\nmación  extraordinária;  en cambio — tiene un plazo de noventa dias") != ()


def sized(box: str) -> bytes:
    return PDF.replace(b"[0 0 595 842]", box.encode())


@pytest.mark.parametrize(
    ("content", "drawn"),
    [
        (sized("[0 0 9e7 9e7]"), True),
        (sized("[0 0 1 90000]"), True),
        (sized("[0 0 0 0]"), True),
        (sized("[5 5 nan 1]"), True),
        (PDF[: len(PDF) // 3], False),
        (b"%PDF-1.4 x", False),
        (b"", False),
        (forms(3, 20), True),
    ],
    ids=["huge", "narrow", "no size", "no number", "cut", "no PDF", "empty", "forms"],
)
def test_a_hostile_file_gives_a_bounded_picture_or_none(content: bytes, drawn: bool) -> None:
    made = draw_page("a.pdf", content, 1)
    assert (made is not None) == drawn
    if made is not None:
        width, height = Image.open(io.BytesIO(drawn_page(made).png)).size
        assert width <= 1201 and height <= 2401


def test_a_page_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_pictures, "SECONDS", 0)
    assert draw_page("a.pdf", PDF, 1) is None


def test_what_is_no_picture_is_refused_whatever_the_process_wrote() -> None:
    for content in (
        b"",
        b"{}",
        b'{"png": "x", "chars": "", "boxes": []}',
        b'{"png": "iVBORw0KGgo=", "chars": 1}',
        b"[]",
    ):
        with pytest.raises(ValueError):
            drawn_page(content)


def test_a_purge_and_a_deletion_leave_no_picture(app: App, kb_id: str, tmp_path: Path) -> None:
    def kept() -> list[Path]:
        return [
            path for path in (tmp_path / "data").rglob("*") if path.is_file() and b"Zabalbeascoa" in path.read_bytes()
        ]

    app.kb_documents.picture(kb_id, "rrhh/plazos.pdf", 2)
    assert any(path.parent.name == "pages" for path in kept())
    app.kb_changes.purge(kb_id, ["rrhh/plazos.pdf"])
    assert kept() == []
    other = moving_kb(app, NewDocument("b.pdf", parse_upload("b.pdf", PDF, 1_000_000, 10), PDF))
    app.kb_documents.picture(other, "b.pdf", 2)
    app.kbs.delete(other)
    assert kept() == []
