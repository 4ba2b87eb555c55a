"""The first row of a table is its columns' names where a file marks or draws it so, or what stands below tells it.

The same tables of known values, written by the writers that people use.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import pytest

from chatbot_mvp.documents.reading.grid import Cell, rows_of
from chatbot_mvp.documents.reading.pdf_tables import heads_of
from tests.documents.test_small_inputs import packed, read

Rows = Sequence[str]


def word(rows: Rows, drawn: str) -> tuple[str, bytes]:
    import docx

    document = docx.Document()
    cells = [row.split("|") for row in rows]
    table = document.add_table(len(cells), len(cells[0]), style="Light Grid Accent 1" if drawn == "style" else None)
    for r, row in enumerate(cells):
        for c, cell in enumerate(row):
            table.cell(r, c).paragraphs[0].add_run(cell).bold = drawn == "bold" and r == 0
    out = io.BytesIO()
    document.save(out)
    return ".docx", out.getvalue()


def sheet(rows: Rows, drawn: str) -> tuple[str, bytes]:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        page = book.add_worksheet()
        cells = [row.split("|") for row in rows]
        for r, row in enumerate(cells):
            for c, cell in enumerate(row):
                page.write(r, c, float(cell) if cell.isdecimal() else cell)
        if drawn:
            columns = [{"header": cell or " "} for cell in cells[0]]
            page.add_table(0, 0, len(cells) - 1, len(cells[0]) - 1, {"columns": columns})
    return ".xlsx", out.getvalue()


def page(rows: Rows, drawn: str) -> tuple[str, bytes]:
    cells = [[f"<td>{cell}</td>" for cell in row.split("|")] for row in rows]
    if drawn:
        cells[0] = [cell.replace("<td>", "<td><b>").replace("</td>", "</b></td>") for cell in cells[0]]
    return ".html", f"<table>{''.join(f'<tr>{chr(10).join(row)}</tr>' for row in cells)}</table>".encode()


def comma(rows: Rows, drawn: str) -> tuple[str, bytes]:
    return ".csv", "\n".join(row.replace("|", ";") for row in rows).encode()


def opendocument(rows: Rows, drawn: str) -> tuple[str, bytes]:
    names = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "text", "table", "style")}
    names["fo"] = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"
    cell = "<table:table-cell><text:p text:style-name='{}'>{}</text:p></table:table-cell>"
    table = "".join(
        f"<table:table-row>{''.join(cell.format('B' if drawn and not r else '', one) for one in row.split('|'))}"
        "</table:table-row>"
        for r, row in enumerate(rows)
    )
    spaces = " ".join(f"xmlns:{key}='{value}'" for key, value in names.items())
    content = (
        f"<office:document-content {spaces}><office:automatic-styles><style:style style:name='B'>"
        "<style:text-properties fo:font-weight='bold'/></style:style>"
        f"</office:automatic-styles><office:body><office:text><table:table>{table}</table:table></office:text>"
        "</office:body></office:document-content>"
    )
    return ".odt", packed(content_DOT_xml=content)


WRITERS: dict[str, tuple[Callable[[Rows, str], tuple[str, bytes]], str]] = {
    "word": (word, ""),
    "word, bold": (word, "bold"),
    "word, style": (word, "style"),
    "sheet": (sheet, ""),
    "sheet, table": (sheet, "table"),
    "page": (page, ""),
    "page, bold": (page, "bold"),
    "csv": (comma, ""),
    "opendocument": (opendocument, ""),
    "opendocument, bold": (opendocument, "bold"),
}

HEADED: list[Rows] = [
    ["Prenda|Precio", "Abrigo|25 euros", "Camisa|4,50 euros", "Traje|18 euros"],
    ["Item|Price", "Shirt|$4.50", "Coat|$25"],
    ["Trámite|Plazo", "Alta|15 días", "Baja|30 días"],
    ["Sala|Aforo", "Norte|40", "Sur|120", "Este|8"],
    ["Pedido|Fecha", "A-1|12/03/2024", "A-2|14/03/2024"],
    ["Nombre|Ciudad|Oficio", "Ana|Lugo|médica", "Luis|Vigo|pintor"],
    ["Plan|Precio|Plazo", "Pro|20 euros|30 días laborables", "Base|10 euros|15 días laborables"],
    ["Plan|12 meses|24 meses", "Pro|15 €|25 €", "Base|9 €|16 €"],
    ["País|2023|2024", "España|5|6", "Francia|7|8"],
    ["Producto|1er trimestre|2º trimestre", "Pan|300|320", "Leche|80|95"],
    ["|Lunes|Martes", "Mañana|Ana|Luis", "Tarde|Eva|Juan"],
]

DRAWN: list[Rows] = [
    ["Término|Definición", "Aval|garantía de un tercero", "Fianza|suma que se deposita"],
    ["Síntoma|Qué hacer", "No arranca|llamar al taller"],
]

HEADLESS: list[Rows] = [
    ["Ana|30 años", "Luis|41 años"],
    ["Ana|30 euros|Lugo", "Luis|41 euros|Vigo"],
    ["Ana|12/03/2024|Lugo", "Luis|14/05/2024|Vigo"],
    ["Nombre|Ana", "Edad|30 años", "Teléfono|612 345 678", "Correo|ana@ejemplo.es"],
    ["Nombre|Ana", "Edad|30", "Teléfono|612345678"],
    ["Peso|3 kg", "Altura|20 cm", "Precio|15 €"],
    ["Altura|20 cm|30 cm", "Peso|3 kg|4 kg", "Precio|15 €|20 €"],
    ["1|2|3", "4|5|6", "7|8|9"],
    ["Lugo|sí|no", "Vigo|sí|sí", "Ourense|no|sí"],
    ["ana@ejemplo.es|Ana|ventas", "luis@ejemplo.es|Luis|compras"],
    ["Domicilio|Calle Mayor, 3", "Localidad|Lugo"],
]


def written(rows: Rows, headed: bool) -> str:
    names, body = (rows[0].split("|"), rows[1:]) if headed else ([], rows)
    lines = []
    for row in body:
        cells = row.split("|")
        if headed:
            cells = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True)]
        lines.append("- " + (": " if not headed and len(cells) == 2 else "; ").join(cells))
    return "\n".join(lines)


def said(writer: str, rows: Rows) -> str:
    write, drawn = WRITERS[writer]
    return "\n".join(line for line in read(*write(rows, drawn)).text.splitlines() if line.startswith("- "))


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("rows", HEADED, ids=lambda rows: rows[0])
def test_a_first_row_that_names_its_columns_is_known(writer: str, rows: Rows) -> None:
    assert said(writer, rows) == written(rows, True)


@pytest.mark.parametrize("writer", [name for name, (_, drawn) in WRITERS.items() if drawn])
@pytest.mark.parametrize("rows", DRAWN, ids=lambda rows: rows[0])
def test_of_a_table_of_words_a_drawn_head_is_one(writer: str, rows: Rows) -> None:
    assert said(writer, rows) == written(rows, True)


@pytest.mark.parametrize("writer", [name for name, (_, drawn) in WRITERS.items() if not drawn])
@pytest.mark.parametrize("rows", [*HEADLESS, *DRAWN], ids=lambda rows: rows[0])
def test_a_table_without_names_of_columns_gets_none(writer: str, rows: Rows) -> None:
    assert said(writer, rows) == written(rows, False)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (["|Lugo||Vigo", "|Altas|Bajas|Altas", "Enero|4|2|7"], "- Enero; Lugo Altas: 4; Bajas: 2; Vigo Altas: 7"),
        (["|2024|", "|Altas|(miles)", "Enero|4|2"], "- Enero; 2024 Altas: 4; (miles): 2"),
        (["Sede|Altas|Bajas", "Lugo|4|2"], "- Sede: Lugo; Altas: 4; Bajas: 2"),
        (["Lugo|4|", "Vigo|5|6"], "- Lugo; 4\n- Vigo; 5; 6"),
        (["|a|", "b|c|d", "e|f|g", "h|i|j", "k|1|2"], "- a\n- b; c; d\n- e; f; g\n- h; i; j\n- k; 1; 2"),
    ],
)
def test_names_over_several_columns_of_a_pdf_go_on_below(rows: Rows, text: str) -> None:
    cells = [[Cell(cell) for cell in row.split("|")] for row in rows]
    assert rows_of(cells, heads_of(cells)) == text
