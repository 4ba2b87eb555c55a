"""PDF, Word and HTML become text with headings, under limits, reaching nothing outside."""

from __future__ import annotations

import http.server
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.documents.reading.sandbox import read_apart
from chatbot_mvp.errors import ChatbotError, RunStopped, UploadScanned
from chatbot_mvp.types import Document
from tests.documents.made import docx_of, docx_with, locked_pdf, pdf, relationship
from tests.raising import raises

PROSE = "Cada persona tiene veintitrés días laborables de vacaciones al año, que se piden"
PAGES = [
    [
        ("Manual de la empresa", 22.0),
        ("Vacaciones", 16.0),
        (PROSE, 11.0),
        ("en administración con un mes de antelación. La infor-", 11.0),
        ("mación está en el tablón de la entrada y en la página de la", 11.0),
    ],
    [("cooperativa agraria de la comarca, que se actualiza cada lunes.", 11.0), ("Dietas", 16.0), (PROSE, 11.0)],
]


def parse(name: str, content: bytes, **limits: int) -> ParsedText:
    return parse_upload(name, content, **{"max_chars": 1_000_000, "max_mb": 10, **limits})


def sections(text: str) -> list[str]:
    return [chunk.section for chunk in chunk_document(Document("d", "d", text))]


# --- PDF


def test_a_pdfs_headings_are_known_by_their_size_and_its_lines_are_joined() -> None:
    parsed = parse("manual.pdf", pdf(PAGES))
    assert parsed.text == (
        "# Manual de la empresa\n\n## Vacaciones\n\n"
        f"{PROSE} en administración con un mes de antelación. La información está en el tablón de la entrada y en la "
        "página de la cooperativa agraria de la comarca, que se actualiza cada lunes.\n\n"
        f"## Dietas\n\n{PROSE}"
    )
    assert sections(parsed.text) == ["Vacaciones", "Dietas"]
    assert parsed.encoding == ".pdf"


def test_a_pages_first_character_is_known_though_no_mark_stands_in_the_text() -> None:
    parsed = parse("manual.pdf", pdf(PAGES))
    assert [parsed.text[start:][:11] for start in parsed.page_starts] == ["# Manual de", "cooperativa"]


def test_an_outline_names_the_headings_where_sizes_do_not() -> None:
    lines = [[("Vacaciones", 11.0), (PROSE, 11.0)], [("2. Dietas", 11.0), (PROSE, 11.0)]]
    assert sections(parse("a.pdf", pdf(lines)).text) == ["d"]
    outlined = parse("a.pdf", pdf(lines, outline=[("Vacaciones", 0), ("Dietas", 1)]))
    assert sections(outlined.text) == ["Vacaciones", "2. Dietas"]


def test_running_heads_and_page_numbers_are_left_out() -> None:
    topics = ("Turnos", "Hornos", "Bajas", "Viajes", "Ropa")
    pages = [
        [("Cooperativa El Tejo", 9.0), (f"{topic}: {PROSE}.", 11.0), (str(n), 9.0)] for n, topic in enumerate(topics)
    ]
    text = parse("a.pdf", pdf(pages)).text
    assert text.startswith("Cooperativa El Tejo\nTurnos")
    assert text.count("El Tejo") == 1
    assert text.count(PROSE) == 5
    assert not [line for line in text.split("\n") if line.strip().isdigit()]


@pytest.mark.slow
def test_pages_without_text_are_counted_and_a_pdf_of_nothing_else_needs_ocr() -> None:
    assert parse("a.pdf", pdf([*PAGES, []])).empty_pages == 1
    with pytest.raises(UploadScanned, match="OCR") as raised:
        parse("escaneo.pdf", pdf([[], []]))
    assert raised.value.params == {"name": "escaneo.pdf", "pages": 2}


def test_a_pdf_that_asks_for_a_password_is_refused_and_one_that_only_restricts_printing_is_read() -> None:
    with raises("upload_encrypted", match=r"'a\.pdf'"):
        parse("a.pdf", locked_pdf(pdf(PAGES), "secreto"))
    assert PROSE in parse("a.pdf", locked_pdf(pdf(PAGES), "")).text


def test_pages_over_the_limit_are_told_before_any_is_read() -> None:
    with raises("upload_too_many_pages", match="3 pages, and the maximum is 2"):
        parse("a.pdf", pdf([PAGES[0]] * 3), max_pages=2)
    assert parse("a.pdf", pdf([PAGES[0]] * 3), max_pages=3).text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("content", [b"%PDF-1.4 roto", pdf(PAGES)[:300], b"%PDF-1.7\n" + bytes(range(256)) * 20])
def test_a_damaged_pdf_is_told_as_one(content: bytes) -> None:
    with raises("upload_damaged", match="save it again"):
        parse("roto.pdf", content)


@pytest.mark.slow
def test_a_stream_that_unpacks_to_too_much_is_given_up() -> None:
    bomb = zlib.compress(b" " * 120_000_000, 9)
    assert len(bomb) < 200_000
    with raises("upload_expands", "upload_scanned"):
        parse("bomba.pdf", pdf([], content=[bomb]))


# --- Word


def test_a_word_documents_headings_lists_and_tables_stay() -> None:
    content = docx_with(
        ("Title", "Guía de acogida"),
        ("Heading 1", "Horario"),
        ("Normal", "La jornada es de siete horas."),
        ("Heading 2", "Verano"),
        ("List Bullet", "Julio: de ocho a tres."),
        ("List Bullet", "Agosto: cerrado."),
        ("Heading 1", "Tarifas"),
        ("table", "Plan|Precio|Días", "Básico|10 €|5", "Pro|20 €|7"),
        ("table", "Teléfono|555 123"),
    )
    assert parse("guia.docx", content).text == (
        "# Guía de acogida\n\n## Horario\n\nLa jornada es de siete horas.\n\n### Verano\n\n"
        "- Julio: de ocho a tres.\n- Agosto: cerrado.\n\n## Tarifas\n\n"
        "- Plan: Básico; Precio: 10 €; Días: 5\n- Plan: Pro; Precio: 20 €; Días: 7\n\n- Teléfono: 555 123"
    )


def test_a_heading_style_with_a_spanish_name_is_one() -> None:
    styles = (
        '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="paragraph" '
        'w:styleId="T2"><w:name w:val="Título 2"/></w:style></w:styles>'
    )
    body = '<w:p><w:pPr><w:pStyle w:val="T2"/></w:pPr><w:r><w:t>Permisos</w:t></w:r></w:p>'
    rels = relationship("styles", "styles.xml")
    content = docx_of(body, **{"word__styles.xml": styles, "word___rels__document.xml.rels": rels})
    assert parse("a.docx", content).text == "## Permisos"


def test_a_footnote_stands_where_it_is_referred_to() -> None:
    notes = (
        '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:footnote w:id="2">'
        "<w:p><w:r><w:t>Salvo en agosto.</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    rels = relationship("footnotes", "footnotes.xml")
    body = (
        '<w:p><w:r><w:t>Se abre a diario</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
        "<w:r><w:t>.</w:t></w:r></w:p>"
    )
    content = docx_of(body, **{"word__footnotes.xml": notes, "word___rels__document.xml.rels": rels})
    assert parse("a.docx", content).text == "Se abre a diario (Salvo en agosto.)."


def test_words_of_headers_and_footers_of_a_word_file_are_counted() -> None:
    main = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    word = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    parts = {
        "word__header1.xml": f"<w:hdr {main}>{word.format('Válido hasta marzo')}</w:hdr>",
        "word__footer2.xml": f"<w:ftr {main}>{word.format('Teléfono: 943 11')}</w:ftr>",
    }
    found = parse("acta.docx", docx_of(word.format("Se abre a las nueve."), **parts))
    assert (found.text, found.lost) == ("Se abre a las nueve.", {"margins": 6})


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("parts", "code", "reason"),
    [
        (
            {"word__relleno.xml": b"0" * 30_000_000},
            "upload_too_steep",
            r"'word/relleno\.xml'.* \d{3,4} times .* is 250",
        ),
        ({f"word__{n}.xml": b"%d" % n * 9_000_000 for n in range(8)}, "upload_expands", "more than 60 MB"),
        ({f"word__{n}.xml": b"" for n in range(5_000)}, "upload_too_many_parts", r"500\d parts.* is 5000"),
    ],
    ids=["ratio", "sum", "parts"],
)
def test_a_zip_bomb_is_refused_for_its_true_reason_before_it_is_unpacked(
    parts: dict[str, bytes], code: str, reason: str
) -> None:
    with raises(code, match=rf"(?=.*'bomba\.docx').*{reason}"):
        parse("bomba.docx", docx_of("<w:p/>", **parts))


def test_entities_in_a_word_document_reach_no_file_and_do_not_multiply(tmp_path: Path) -> None:
    secret = tmp_path / "secreto.txt"
    secret.write_text("clave-secreta")
    outside = f'<!DOCTYPE d [<!ENTITY x SYSTEM "{secret.as_uri()}">]><w:p><w:r><w:t>hola &x;</w:t></w:r></w:p>'
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    billion = f'<!DOCTYPE d [<!ENTITY e0 "ja">{laughs}]><w:p><w:r><w:t>&e11;</w:t></w:r></w:p>'
    for body in (outside, billion):
        try:
            text = parse("a.docx", docx_of(body)).text
        except ChatbotError:
            continue
        assert "clave-secreta" not in text
        assert len(text) < 10_000


# --- HTML

PAGE = """<!doctype html><html lang="es"><head><title>Ayuda</title><style>p {color: red}</style>
<script>alert("hola mundo")</script></head><body>
<header><a href="/">Portada</a></header><nav><ul><li>Menú uno</li></ul></nav>
<h1>Préstamos</h1><p>Cada lector lleva <b>cuatro</b> libros<sup>[3]</sup> con su <a href="https://x.invalid">carné</a>.
<h2>Plazos</h2><ul><li>Novelas: 21 días<li>Revistas: 7 días</ul>
<table><caption>Multas</caption><tr><th>Material<th>Por día<tr><td>Libro<td>0,15 €<tr><td>Vídeo<td>0,50 €</table>
<pre># esto no es un título
x = 1</pre>
<aside>Publicidad</aside><p hidden>Oculto</p><footer>Aviso legal</footer></body></html>"""


def test_of_a_page_its_text_stays_with_headings_lists_and_tables() -> None:
    text = parse("ayuda.html", PAGE.encode()).text
    assert text.startswith("Portada\n\n# Préstamos\n\nCada lector lleva cuatro libros con su carné.\n\n## Plazos\n\n")
    assert "- Novelas: 21 días\n- Revistas: 7 días" in text
    assert "Multas\n\n- Material: Libro; Por día: 0,15 €\n- Material: Vídeo; Por día: 0,50 €" in text
    for gone in ("Menú", "alert", "color", "Oculto", "Aviso legal", "x.invalid", "[3]"):
        assert gone not in text
    assert {section.split(" > ")[0] for section in sections(text)} == {"Portada", "Préstamos"}


def test_a_page_is_read_whole_and_its_title_serves_as_heading() -> None:
    page = "<title>Guía</title><div>Lugo</div><main><p>Se abre a las nueve.</p></main><div>Más</div>"
    assert parse("a.htm", page.encode()).text == "# Guía\n\nLugo\n\nSe abre a las nueve.\n\nMás"


@pytest.mark.parametrize("encoding", ["iso-8859-1", "latin-1", "utf-16"])
def test_a_pages_encoding_is_the_one_that_it_declares(encoding: str) -> None:
    page = f'<html><head><meta charset="{encoding}"></head><body><p>Año y peñón</p></body></html>'
    assert parse("a.html", page.encode(encoding)).text == "Año y peñón"


def test_a_page_of_scripts_alone_has_no_text() -> None:
    with raises("upload_empty"):
        parse("a.html", b"<html><script>x()</script></html>")


def test_a_page_nested_thousands_deep_is_refused_with_its_depth() -> None:
    page = b"<html><body>" + b"<div>" * 20_000 + b"hondo" + b"</div>" * 20_000
    with raises("upload_too_deep", match="20002 elements inside each other, and the maximum is 150"):
        parse("a.html", page)


# --- what is what


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("informe.txt", pdf(PAGES), ".pdf"),
        ("informe.docx", pdf(PAGES), ".pdf"),
        ("guia.md", docx_with(("Normal", "hola")), ".docx"),
        ("guia.pdf", docx_with(("Normal", "hola")), ".docx"),
        ("pagina.txt", PAGE.encode(), ".html"),
        ("nota.pdf", b"solo texto", ".txt"),
    ],
)
def test_a_file_whose_name_says_another_format_is_told_what_it_is(name: str, content: bytes, found: str) -> None:
    with raises("upload_wrong_suffix", match=f"Change the extension to {found}"):
        parse(name, content)


def test_old_word_files_spreadsheets_and_locked_word_files_are_told_apart() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    with raises("upload_save_as", match=r"save it as \.docx"):
        parse("viejo.docx", ole + "WordDocument".encode("utf-16-le"))
    with raises("upload_save_as", match=r"save it as \.eml"):
        parse("nota.msg", ole)
    with raises("upload_type_unsupported"):
        parse("viejo.docx", ole)
    with raises("upload_encrypted"):
        parse("cerrado.docx", ole + "EncryptedPackage".encode("utf-16-le"))
    with raises("upload_wrong_suffix", match=r"that of a \.xlsx file"):
        parse("hoja.docx", b"PK\x03\x04" + b"xl/workbook.xml")


def test_a_text_that_speaks_of_pdf_is_a_text() -> None:
    assert parse("a.md", b"Un PDF empieza por %PDF-1.4").text == "Un PDF empieza por %PDF-1.4"


# --- in a process of its own


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """(address of a server on this machine, what it was asked for)."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()


def test_nothing_that_a_document_names_is_fetched_or_opened(asked: tuple[str, list[str]], tmp_path: Path) -> None:
    address, paths = asked
    secret = tmp_path / "secreto.txt"
    secret.write_text("clave-secreta")
    page = (
        f'<!DOCTYPE html PUBLIC "x" "{address}/dtd"><html><head><link rel=stylesheet href="{address}/css">'
        f'<base href="{secret.as_uri()}"></head><body><img src="{address}/img">'
        f'<iframe src="{secret.as_uri()}"></iframe>'
        f'<object data="{secret.as_uri()}"></object><p>hola</p></body></html>'
    )
    drawing = "http://schemas.openxmlformats.org/drawingml/2006"
    body = (
        "<w:p><w:r><w:t>hola</w:t></w:r><w:r><w:drawing>"
        f'<wp:inline xmlns:wp="{drawing}/wordprocessingDrawing"><a:graphic xmlns:a="{drawing}/main"><a:graphicData>'
        f'<pic:pic xmlns:pic="{drawing}/picture"><pic:blipFill><a:blip r:link="r9"/></pic:blipFill></pic:pic>'
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>"
    )
    for target in (f"{address}/picture.png", secret.as_uri()):
        rels = relationship("image", target, "r9", "External")
        assert parse("a.docx", docx_of(body, **{"word___rels__document.xml.rels": rels})).text == "hola"
    assert parse("a.html", page.encode()).text == "hola"
    assert paths == []


def test_a_reader_that_is_taken_over_finds_no_network_no_file_and_no_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What a hostile file might make its reader do is done here by code, after the same locking up."""
    import os
    import subprocess
    import sys

    from chatbot_mvp.documents.reading import sandbox

    secret = tmp_path / "secreto.txt"
    secret.write_text("clave")
    code = f"""
import os, socket, subprocess
from chatbot_mvp.documents.reading import sandbox
sandbox._lock_up(sandbox.Job(".html", "a.html", 1, ""))
for attempt in (
    lambda: open({str(secret)!r}),
    lambda: open({str(tmp_path / "nuevo")!r}, "w"),
    lambda: socket.create_connection(("127.0.0.1", 9), 1),
    lambda: subprocess.run(["true"]),
    lambda: os.system("true"),
    lambda: os.remove({str(secret)!r}),
):
    try:
        attempt()
    except PermissionError:
        print("denied")
"""
    root = str(Path(sandbox.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["denied"] * 6
    assert secret.is_file()


def test_a_reading_that_takes_too_long_is_given_up() -> None:
    with raises("upload_too_slow", match="within 0 seconds"):
        read_apart(".pdf", "a.pdf", pdf([[(PROSE, 11.0)] * 40] * 400), 500, seconds=0.1)


def test_a_document_larger_than_a_pipe_is_read_by_a_reader_that_starts_slowly() -> None:
    """The first clock tick comes before the reader has taken its input."""
    ticks: list[int] = []
    page = "<p>" + "palabra " * 100_000 + "</p>"
    found = read_apart(".html", "a.html", page.encode(), 500, lambda: ticks.append(1))
    assert found.text.count("palabra") == 100_000


def test_a_stop_ends_a_reading() -> None:
    def check() -> None:
        raise RunStopped(run_id="x")

    with pytest.raises(RunStopped):
        read_apart(".pdf", "a.pdf", pdf([[(PROSE, 11.0)] * 40] * 400), 500, check)
