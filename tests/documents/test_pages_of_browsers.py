"""Pages of a PDF as browsers and offices print them: cells close together, justified lines, names that are drawn."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from pypdfium2 import PdfDocument

from chatbot_mvp.documents.reading import pdf_glyphs
from chatbot_mvp.documents.reading.pdf_tables import Item, with_tables
from tests.documents.made import pdf, pdf_of
from tests.documents.test_small_inputs import drawn, lines, read

Piece = tuple[float, float, float, str]
"""(x, y from below, size, text)."""
BOLD = b"/F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >> /F1"


def with_bold(pieces: Sequence[Piece], bold: Sequence[str]) -> str:
    """Return what is read of a page of which some texts are bold."""
    drawn_ = " ".join(
        f"BT /{'F2' if text in bold else 'F1'} {size} Tf {x} {y} Td ({text}) Tj ET" for x, y, size, text in pieces
    )
    content = pdf([], content=[zlib.compress(drawn_.encode("cp1252"))])
    return read(".pdf", content.replace(b"/Font << /F1", b"/Font << " + BOLD)).text


def cells(rows: Sequence[Sequence[str]], xs: Sequence[float], top: float = 700, step: float = 16) -> list[Piece]:
    return [
        (x, top - step * n, 11.0, text) for n, row in enumerate(rows) for x, text in zip(xs, row, strict=True) if text
    ]


def test_a_row_that_a_found_table_lacks_is_read_though_other_rows_say_the_same() -> None:
    rows = [("Sala", "Turno"), ("A-1", "tarde"), ("A-2", "noche"), ("A-3", "tarde"), ("A-4", "noche")]
    items = [
        (x, x + 40, 100 + 20 * n, text) for n, row in enumerate(rows) for x, text in zip((50, 200), row, strict=True)
    ]
    box = SimpleNamespace(x=48.0, y=98.0, width=200.0, height=94.0)
    found = [[SimpleNamespace(text=text, bbox=None) for text in row] for row in rows[:-1]]
    block = SimpleNamespace(kind="table", bbox=box, header=None, rows=found)
    said = "".join(lines(drawn(*items, blocks=[block])))
    assert said.count("noche") == 2


def test_a_raised_number_of_its_own_stands_where_it_is_raised() -> None:
    page = drawn((34, 287, 217, "El agua es H2O; caben 10"), (287, 293, 214.2, "3"), (296, 380, 217, "personas."))
    for item, height, size in zip(page.text_items, (15.3, 10.7, 12.8), (11, 9.2, 11), strict=True):
        item.height, item.font_height = height, size
    assert lines(page) == ["El agua es H2O; caben 10 3 personas."]


def test_justified_lines_in_two_columns_are_no_table() -> None:
    said = [
        "El pleno de la villa dio ayer la nueva ley",
        "que regula las obras en el casco antiguo y",
        "alrededor de la plaza mayor, que empiezan",
        "en mayo y duran unos dieciocho meses según",
        "el proyecto presentado por los comerciantes",
    ]
    pieces = []
    for column in (40.0, 320.0):
        for n, line in enumerate(said):
            words = line.split()
            gap = (258 - 5.4 * sum(map(len, words))) / (len(words) - 1)
            x = column
            for word in words:
                pieces.append((x, 700.0 - 13 * n, 9.0, word))
                x += 5.4 * len(word) + gap
    text = " ".join(read(".pdf", pdf_of([pieces]).replace(b"/Helvetica", b"/Courier")).text.split())
    assert text.count(" ".join(said)) == 2


@pytest.mark.parametrize("move", [0, 26])
def test_cells_close_together_are_cells_as_they_stand_below_each_other(move: int) -> None:
    """``move`` puts the names in the middle above their columns, as browsers do."""
    rows = [["Hasta 20 kg", "8,50", "9,75"], ["Hasta 50 kg", "9,50", "9,10"], ["Hasta 90 kg", "7,50", "6,40"]]
    pieces = cells([["Peso", "Sur", "Norte"]], (70 + move, 138, 172)) + cells(rows, (70, 138, 172), 684)
    text = read(".pdf", pdf_of([pieces])).text
    assert "Peso: Hasta 50 kg; Sur: 9,50; Norte: 9,10" in text


def test_a_name_in_the_middle_above_its_column_is_its_name() -> None:
    rows = [[f"F-{n}", f"Calle {n}", str(n * 7)] for n in range(10, 14)]
    pieces = cells([["Fuente", "Calle", "Metros"]], (110, 240, 360)) + cells(rows, (70, 200, 320), 684)
    assert "- Fuente: F-11; Calle: Calle 11; Metros: 77" in read(".pdf", pdf_of([pieces])).text


def test_names_in_bold_are_names_and_begin_a_table() -> None:
    rows = [["Control", "Ritmo"], ["Lote", "semanal"], ["Pedido", "mensual"], ["Queja", "anual"]]
    text = with_bold(cells(rows, (70, 200)), rows[0])
    assert "- Control: Pedido; Ritmo: mensual" in text
    above = [["Talleres Mora", "", "Factura 88"], ["Calle Real 9", "", "Vence en mayo"]]
    bill = [["Pieza", "Piezas", "Importe"], ["Aceite", "1", "45,00"], ["Rueda", "4", "280,00"]]
    text = with_bold(cells(above, (70, 200, 320)) + cells(bill, (70, 200, 320), 650), bill[0])
    assert "- Pieza: Rueda; Piezas: 4; Importe: 280,00" in text


def test_a_sentence_above_a_table_without_lines_is_none_of_its_rows() -> None:
    """Browsers print it as one piece; the library cuts it where the columns below it begin."""
    rows = [[f"Sala {n}", f"ala {n % 3}", str(n * 7), f"{n},50"] for n in range(10, 40)]
    pieces = [
        (70.0, 722.0, 11.0, "Las salas del edificio y lo que cuestan."),
        *cells([["Sala", "Ala", "Aforo", "Precio"]], XS),
    ]
    text = read(".pdf", pdf_of([pieces + cells(rows, XS, 684)])).text
    assert text.startswith(
        "Las salas del edificio y lo que cuestan.\n\n- Sala: Sala 10; Ala: ala 1; Aforo: 70; Precio: 10,50"
    )
    assert "- Sala: Sala 39; Ala: ala 0; Aforo: 273; Precio: 39,50" in text


XS = (70, 130, 182, 228)
ROOMS = [["Sala", "Aforo", "Euros"], ["Norte", "40", "12"], ["Sur", "25", "9"], ["Este", "31", "10"]]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ([["Oeste", "18", "8"]], "- Sala: Oeste; Aforo: 18; Euros: 8"),
        ([["Sala", "Aforo", "Euros"], ["Oeste", "18", "8"]], "- Sala: Oeste; Aforo: 18; Euros: 8"),
        ([["Mesa", "Sillas", "Metros"], ["Alta", "4", "2"], ["Baja", "6", "3"]], "- Mesa: Baja; Sillas: 6; Metros: 3"),
        ([["Oeste", "", "8"], ["Arriba", "6", "5"], ["Abajo", "7", "3"]], "- Sala: Oeste; Euros: 8"),
    ],
)
def test_a_table_on_the_next_page_goes_on_unless_it_has_names_of_its_own(second: list[list[str]], said: str) -> None:
    foot = (70.0, 30.0, 9.0, "Centro cívico")
    pages = [[*cells(ROOMS, (70, 170, 250)), foot], [*cells(second, (70, 170, 250), 760), foot]]
    text = read(".pdf", pdf_of(pages)).text
    assert said in text
    assert "Sala: Sala" not in text


def test_a_line_below_a_table_and_a_table_below_a_text_are_no_rows_of_it() -> None:
    signed = (70.0, 600.0, 11.0, "Fecha"), (170.0, 600.0, 11.0, "Firma"), (250.0, 600.0, 11.0, "Sello")
    assert "Fecha Firma Sello" in read(".pdf", pdf_of([[*cells(ROOMS, (70, 170, 250)), *signed]])).text
    between = (70.0, 760.0, 11.0, "Otros precios son estos, que valen en agosto:")
    below = cells([["Alta", "4", "2"], ["Baja", "6", "3"], ["Media", "5", "4"]], (70, 170, 250))
    assert "- Alta; 4; 2" in read(".pdf", pdf_of([cells(ROOMS, (70, 170, 250)), [between, *below]])).text


def test_names_in_bold_close_below_another_table_begin_one() -> None:
    rows = [["Taller", "Mora", "Lugo"], ["Pago", "abierto", "mayo"], ["Pieza", "Tipo", "Estado"]]
    rows += [["Aceite", "pieza", "nuevo"], ["Rueda", "recambio", "usado"]]
    found = with_tables(
        [
            [Item(text, x, y, x + 40, y + 11, 11.0, n == 2) for x, text in zip((70, 200, 320), row, strict=True)]
            for n, (y, row) in enumerate(zip(range(100, 200, 16), rows, strict=False))
        ]
    )
    assert "- Pieza: Rueda; Tipo: recambio; Estado: usado" in found[-1][0].text


def test_words_of_a_page_that_is_taken_for_one_written_downwards_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    page = PdfDocument(pdf_of([[(70, 700, 11.0, "Descripción de obras"), (70, 686, 11.0, "viejas")]]))[0]
    monkeypatch.setattr(pdf_glyphs, "_BROKEN", 0)
    glyphs = pdf_glyphs.glyphs_of(page)
    assert glyphs.as_written("D e scr ipción de ob ras", (69, 130, 180, 145)) == "Descripción de obras"
    assert glyphs.as_written("D e scr ipción de ob ras v iejas", (69, 130, 180, 159)) == "Descripción de obras viejas"
