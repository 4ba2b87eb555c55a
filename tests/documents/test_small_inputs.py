"""Small inputs of every format, each with the text that it says."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from email.message import EmailMessage
from types import SimpleNamespace

import pytest

from chatbot_mvp.documents.reading.decoding import decode
from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.pdf import lines_of
from chatbot_mvp.documents.reading.pdf_glyphs import Glyphs
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.readers import reading_of
from chatbot_mvp.documents.reading.sandbox import read_with
from tests.documents.made import docx_of, docx_with, pdf, pdf_of, relationship

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def read(suffix: str, content: bytes | str) -> Extracted:
    """Read a file in this process: what the confined one adds is tested elsewhere."""
    reader = reading_of(suffix)
    given = content.encode() if isinstance(content, str) else content
    return read_with(reader.read, suffix, GivenFile(f"a{suffix}", given, 100, lambda pages: None))


def table(*rows: str) -> str:
    """HTML of cells: "Head!|cell|wide*2|high^3"; "!" marks a head."""
    out = []
    for row in rows:
        cells = []
        for cell in row.split("|"):
            text, _, across = cell.partition("*")
            text, _, down = text.partition("^")
            tag = "th" if text.endswith("!") else "td"
            cells.append(f'<{tag} colspan="{across or 1}" rowspan="{down or 1}">{text.rstrip("!")}</{tag}>')
        out.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(out)}</table>"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["Material!|Precio!", "Libro|3 €"], "- Material: Libro; Precio: 3 €"),
        (["|Turno|Horas", "Lunes|A|7"], "- Lunes; Turno: A; Horas: 7"),
        (
            ["Nombre!^2|Horas!*2", "mañana!|tarde!", "Ana|3|4"],
            "- Nombre: Ana; Horas mañana: 3; Horas tarde: 4",
        ),
        (["Nombre|Horas*2", "|mañana|tarde", "Ana|3|4"], "- Nombre: Ana; Horas mañana: 3; Horas tarde: 4"),
        (
            ["Año!|Mes!|Ventas!", "2024^2|mayo|5", "junio|6"],
            "- Año: 2024; Mes: mayo; Ventas: 5\n- Año: 2024; Mes: junio; Ventas: 6",
        ),
        (["Ana|30 años|Lugo", "Luis|41 años|Vigo"], "- Ana; 30 años; Lugo\n- Luis; 41 años; Vigo"),
        (["Teléfono|555 123", "Correo|a@b.es"], "- Teléfono: 555 123\n- Correo: a@b.es"),
        (["Concepto|Euros", "Cena|25", "Taxi|40"], "- Concepto: Cena; Euros: 25\n- Concepto: Taxi; Euros: 40"),
        (["A!|B!|C!", "1||3", "|2|"], "- A: 1; C: 3\n- B: 2"),
        (["A!|Firma!|C!", "1||3"], "- A: 1; C: 3\n- Firma"),
        ([f"A!|{'largo ' * 40}fin!", "1|2"], f"- A: 1; 2\n- {'largo ' * 40}fin"),
        (["País|2023|2024", "España|5|6"], "- País: España; 2023: 5; 2024: 6"),
        (["Tarifas*2", "Plan!|Precio!", "Pro|20"], "Tarifas\n\n- Plan: Pro; Precio: 20"),
        (["Día!|A!|B!", "Lunes|cerrado*2"], "- Día: Lunes; A, B: cerrado"),
        (["Uno!|Dos!", "a|<h3>T</h3><p>b</p>"], "- Uno: a; Dos: T b"),
        (["Uno!|Dos!", f"a|{table('x|y')}"], "- Uno: a; Dos: x y"),
    ],
)
def test_each_row_of_a_table_says_what_its_cells_mean(rows: Sequence[str], said: str) -> None:
    assert read(".html", table(*rows)).text == said


@pytest.mark.parametrize(
    ("page", "text", "lost"),
    [
        ("<p>Son 320<sup>1</sup> euros.", "Son 320 ¹ euros.", {}),
        ("<p>Hay 5 m<sup>2</sup> y 10<sup>3</sup> kg de CO<sub>2</sub>.", "Hay 5 m² y 10^3 kg de CO2.", {}),
        ("<p>Son <del>20</del> <s>21</s> 23 días.", "Son 23 días.", {"struck": 2}),
        ("<p>Son <span style='text-decoration:line-through'>20</span> 23 días.", "Son 23 días.", {"struck": 1}),
        ("<p>Sí<p style='display: none'>No cabe<p hidden>Nada", "Sí", {"hidden": 3}),
        ("<style>.x {display:none}</style><p>Sí<p class='a x'>No", "Sí", {"hidden": 1}),
        ("<p>Sí<!-- <p>No -->", "Sí", {}),
        ("<h2><button>Plazos</button></h2><p>Dos.<button>Enviar</button>", "## Plazos\n\nDos.", {}),
        ("<button aria-expanded=false>Plazos</button><p>Dos.", "Plazos\n\nDos.", {}),
        ("<details><summary>Más</summary>Dos.</details>", "## Más\n\nDos.", {}),
        ("<title>Ayuda</title><details><summary>¿Y?</summary>Sí.</details>", "# Ayuda\n\n## ¿Y?\n\nSí.", {}),
        (
            "<h2>Envíos</h2><details><summary>¿Tarda?</summary>No.<details><summary>¿Lejos?</summary>Sí.</details>"
            "</details><details><summary><h3>¿Y?</h3></summary>Ya.</details>",
            "## Envíos\n\n### ¿Tarda?\n\nNo.\n\n#### ¿Lejos?\n\nSí.\n\n### ¿Y?\n\nYa.",
            {},
        ),
        ("<aside>Aviso</aside><article>Uno</article><p>Dos", "Aviso\n\nUno\n\nDos", {}),
        ("<header>Lugo</header><form><p>Uno</form>", "Lugo\n\nUno", {}),
        ("<p>Sede: <input value='Vigo'><input type=hidden value=x>", "Sede: Vigo", {}),
        ("<p><input type=checkbox checked>Sí<p><input type=checkbox>No", "- [x] Sí\n\n- [ ] No", {}),
        ("<p>Sí<nav><a>Menú uno</a></nav>", "Sí", {"menus": 2}),
        ("<p>Fin<img src=x alt='Plano de la sede'>", "Fin Plano de la sede", {"pictures": 1}),
        ("<p>des\u00adcanso", "descanso", {}),
    ],
)
def test_what_a_page_shows_is_its_text_and_the_rest_is_counted(page: str, text: str, lost: dict[str, int]) -> None:
    found = read(".html", f"<meta charset=utf-8>{page}")
    assert (found.text, found.lost) == (text, lost)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "cp850", "utf-16", "utf-16-le", "utf-32"])
def test_a_text_says_the_same_in_every_encoding(encoding: str) -> None:
    text = "El plazo del año vence mañana: ¿qué opción?"
    assert decode(text.encode(encoding))[0] == text
    assert read(".html", f"<p>{text}".encode(encoding)).text == text


def test_one_bad_byte_costs_one_character() -> None:
    text, encoding, damaged = decode("Vacación y año. ".encode() * 40 + b"\xff")
    assert (text.count("Vacación y año."), encoding, damaged) == (40, "utf-8", 1)


def test_an_encoding_that_a_page_claims_wrongly_is_not_believed() -> None:
    assert read(".html", "<meta charset=iso-8859-1><p>año".encode()).text == "año"


@pytest.mark.parametrize(
    ("text", "said", "lost"),
    [
        ("Uno<!-- no\n\nse ve -->\n\nDos", "Uno\n\nDos", {"comments": 3}),
        ("Son ~~20~~ 23 días, `~~x~~`.", "Son  23 días, `~~x~~`.", {"struck": 1}),
        ("```\n<!-- código -->\n```", "```\n<!-- código -->\n```", {}),
        ("````\n```\n<!-- a -->\n```\n<!-- b -->\n````", "````\n```\n<!-- a -->\n```\n<!-- b -->\n````", {}),
        ("Uno\n===\nDos\n\nTres\n---\n\nCuatro", "# Uno\nDos\n\n## Tres\n\nCuatro", {}),
        (
            "---\ntitle: Uno\n---\n\n- a\n---\n\n```\nb\n---\n```",
            "- a\n---\n\n```\nb\n---\n```",
            {},
        ),
        (f"Uno\n{table('A!|B!', '1|2')}\nDos", "Uno\n\n\n- A: 1; B: 2\n\n\nDos", {}),
    ],
)
def test_a_markdown_files_comments_and_tables_of_html_are_read_as_what_they_are(
    text: str, said: str, lost: dict[str, int]
) -> None:
    found = read(".md", text)
    assert (found.text, found.lost) == (said, lost)


TITLED = {"title": "Guía", "author": "Ana Paz, Luis Rey", "created": "2026-03-05", "tags": ["agua", "luz"]}


@pytest.mark.parametrize(
    ("front", "about", "lost"),
    [
        ("---\ntitle: Guía\nauthors: [Ana Paz, Luis Rey]\ndate: 2026-03-05\ntags: [agua, luz]\n---", TITLED, {}),
        (
            "---\nTítulo: 'Guía'\nautor:\n- Ana Paz\n- Luis Rey\nfecha: 2026-03-05 10:30\netiquetas: agua, luz\n...",
            TITLED,
            {},
        ),
        (
            '+++\ntitle = "Guía"\nauthor = "Ana Paz, Luis Rey"\ndate = 2026-03-05\ntags = ["agua", "luz"]\n+++',
            TITLED,
            {},
        ),
        ("---\nauthors:\n- name: Ana\nsource: https://a.es/x\n---", {"author": "Ana", "source": "https://a.es/x"}, {}),
        ("---\nlayout: post\ndate: ayer mismo\ntitle: Guía\n---", {"title": "Guía"}, {"metadata": 3}),
    ],
)
def test_front_matter_is_what_a_document_says_of_itself_and_no_text(
    front: str, about: dict[str, object], lost: dict[str, int]
) -> None:
    found = read(".md", f"{front}\n\n# Uno\n\nDos: tres.\n")
    assert (found.text, found.about, found.lost) == ("# Uno\n\nDos: tres.\n", about, lost)


@pytest.mark.parametrize(
    "text",
    ["---\n\nUno\n\n---\n", "---\nUno, dos.\n---\nTres", "---\na: [\n---\nb", "---\na: b", "Uno\n\n---\na: b\n---\n"],
)
def test_rules_above_a_text_are_no_front_matter(text: str) -> None:
    found = read(".md", text)
    assert found.about == {}
    assert all(word in found.text for word in re.findall(r"\w+", text))


# --- Word


def p(text: str, look: str = "", run: str = "") -> str:
    return f"<w:p><w:pPr>{look}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def numbered(level: int, number: int = 1) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


LEVELS = "".join(
    f'<w:lvl w:ilvl="{n}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
    for n, start, form, text in ((0, 4, "decimal", "%1."), (1, 1, "decimal", "%1.%2"), (2, 1, "lowerLetter", "%3)"))
)
NUMBERING = (
    f'<w:numbering {W}><w:abstractNum w:abstractNumId="0">{LEVELS}</w:abstractNum><w:num w:numId="1"><w:abstractNumId '
    'w:val="0"/></w:num></w:numbering>'
)
STYLES = (
    f'<w:styles {W}><w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="C"><w:name w:val="Source Code"/></w:style>'
    '<w:style w:type="character" w:styleId="X"><w:name w:val="x"/><w:rPr><w:vanish/></w:rPr></w:style></w:styles>'
)
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
AREA = (
    f'<m:oMath xmlns:m="{MATH}"><m:r><m:t>A=π</m:t></m:r><m:sSup><m:e><m:r><m:t>r</m:t></m:r></m:e><m:sup><m:r>'
    "<m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"
)
FORMULA = (
    f'<m:oMath xmlns:m="{MATH}"><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>k</m:t></m:r></m:sup>'
    "</m:sSup><m:r><m:t>a</m:t></m:r><m:func><m:fName><m:r><m:t>cos</m:t></m:r></m:fName><m:e><m:r><m:t>b</m:t></m:r>"
    "</m:e></m:func></m:oMath>"
)
CHOICE = (
    f'<m:oMath xmlns:m="{MATH}"><m:f><m:fPr><m:type m:val="noBar"/></m:fPr><m:num><m:r><m:t>n</m:t></m:r></m:num>'
    "<m:den><m:r><m:t>k</m:t></m:r></m:den></m:f></m:oMath>"
)
TICK = (
    '<w:sdt><w:sdtPr><w14:checkbox xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"><w14:checked '
    'w14:val="{0}"/></w14:checkbox></w:sdtPr><w:sdtContent><w:r><w:t>{1}</w:t></w:r></w:sdtContent></w:sdt>'
)
HOLDER = (
    "<w:p><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r><w:t>Pulse aquí</w:t></w:r></w:sdtContent>"
    "</w:sdt></w:p>"
)


def tc(text: str, look: str = "") -> str:
    return f"<w:tc><w:tcPr>{look}</w:tcPr>{p(text)}</w:tc>"


WIDE = '<w:gridSpan w:val="2"/>'


@pytest.mark.parametrize(
    ("body", "text", "lost"),
    [
        (
            p("Objeto", '<w:pStyle w:val="H1"/>' + numbered(0)) + p("Pago", numbered(1)) + p("Plazo", numbered(1)),
            "# 4. Objeto",
            {},
        ),
        (p("Uno", numbered(0)) + p("Dos", numbered(0)), "4. Uno\n5. Dos", {}),
        (f"<w:p><w:r><w:t>Área: </w:t></w:r>{AREA}</w:p>", "Área: A=πr^2", {}),
        (f"<w:p>{AREA}{AREA}</w:p>", "A=πr^2 A=πr^2", {}),
        (f"<w:p>{FORMULA}</w:p>", "x^k a cos b", {}),
        (f"<w:p>{CHOICE}</w:p>", "n¦k", {}),
        (p("Sí") + p("no", "", "<w:vanish/>") + p("no", "", '<w:rStyle w:val="X"/>'), "Sí", {"hidden": 2}),
        (p("Sí") + p("no", "", "<w:strike/>") + p("no", "", "<w:dstrike/>"), "Sí", {"struck": 2}),
        (p("Sí") + p("no", "", '<w:strike w:val="0"/>'), "Sí\n\nno", {}),
        (p("Sí") + HOLDER, "Sí", {"placeholders": 2}),
        (
            f"<w:p>{TICK.format(1, '☒')}<w:r><w:t> Diseño</w:t></w:r></w:p>"
            f"<w:p>{TICK.format(0, '☐')}<w:r><w:t> Pruebas</w:t></w:r></w:p>",
            "- [x] Diseño\n\n- [ ] Pruebas",
            {},
        ),
        (
            "".join(
                p(line, '<w:pStyle w:val="C"/>').replace("<w:t>", '<w:t xml:space="preserve">')
                for line in ("a:", "  b")
            ),
            "```\na:\n  b\n```",
            {},
        ),
        (
            f"<w:p/><w:tbl><w:tr>{tc('Ana')}{tc('Horas', WIDE)}</w:tr>"
            f"<w:tr>{tc('')}{tc('mañana')}{tc('tarde')}</w:tr><w:tr>{tc('Luis')}{tc('3')}{tc('4')}</w:tr></w:tbl>",
            "- Ana: Luis; Horas mañana: 3; Horas tarde: 4",
            {},
        ),
        (
            '<w:p/><w:tbl><w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>'
            f"{tc('Turno')}{tc('Horas')}</w:tr><w:tr>{tc('Lunes')}{tc('A')}{tc('7')}</w:tr></w:tbl>",
            "- Lunes; Turno: A; Horas: 7",
            {},
        ),
    ],
)
def test_a_word_document_says_what_word_shows(body: str, text: str, lost: dict[str, int]) -> None:
    rels = relationship("styles", "styles.xml").replace(
        "</Relationships>",
        relationship("numbering", "numbering.xml", "r2").partition(">")[2],
    )
    parts = {"word__styles.xml": STYLES, "word__numbering.xml": NUMBERING, "word___rels__document.xml.rels": rels}
    found = read(".docx", docx_of(body, **parts))
    assert found.text.startswith(text)
    assert found.lost == lost


def test_a_chart_in_a_word_document_is_a_table() -> None:
    c, a = ("http://schemas.openxmlformats.org/drawingml/2006/" + name for name in ("chart", "main"))
    points = "".join(f'<c:pt idx="{n}"><c:v>{v}</c:v></c:pt>' for n, v in enumerate(("Lugo", "Vigo")))
    values = "".join(f'<c:pt idx="{n}"><c:v>{v}</c:v></c:pt>' for n, v in enumerate((3, 4)))
    chart = (
        f'<c:chartSpace xmlns:c="{c}" xmlns:a="{a}"><c:chart><c:title><a:t>Ventas</a:t></c:title>'
        '<c:ser><c:tx><c:pt idx="0">'
        f"<c:v>2024</c:v></c:pt></c:tx><c:cat>{points}</c:cat><c:val>{values}</c:val></c:ser></c:chart></c:chartSpace>"
    )
    body = f'<w:p><w:r><w:drawing><c:chart xmlns:c="{c}" r:id="r7"/></w:drawing></w:r></w:p>'
    parts = {
        "word__charts__c.xml": chart,
        "word___rels__document.xml.rels": relationship("chart", "charts/c.xml", "r7"),
    }
    assert read(".docx", docx_of(body, **parts)).text == "Ventas\n\n- Lugo; 2024: 3\n- Vigo; 2024: 4"


def test_a_chart_of_a_sheet_has_its_values_unless_cells_have_them() -> None:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        shown, hidden = book.add_worksheet("Ventas"), book.add_worksheet("Otros 'x")
        hidden.hide()
        for sheet, factor in ((shown, 1), (hidden, 7)):
            sheet.write_column(0, 0, ["Mes", "enero", "febrero"])
            sheet.write_column(0, 1, ["Euros", 10 * factor, 20 * factor])
        for place, title, values in (("Ventas", "De cada mes", [10, 20]), ("Otros 'x", "Del otro", [70, 140])):
            chart = book.add_chart({"type": "line"})
            named = {"categories_data": ["enero", "febrero"], "values_data": values}
            chart.add_series({"categories": [place, 1, 0, 2, 0], "values": [place, 1, 1, 2, 1], **named})
            chart.set_title({"name": title})
            shown.insert_chart("D2", chart)
    found = read(".xlsx", out.getvalue())
    cells = "- Mes: enero; Euros: 10\n- Mes: febrero; Euros: 20"
    assert found.text == f"## Ventas\n\n{cells}\n\nDe cada mes\n\nDel otro\n\n- enero: 70\n- febrero: 140"
    assert found.lost == {"hidden": 6}


# --- subtitles


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "1\n00:01:02,000 --> 00:01:04,000\nHola\n\n2\n00:01:05,000 --> 00:01:06,000\nAdiós\n",
            "[00:01]\nHola\n\nAdiós",
        ),
        ("\ufeff1\r\n0:59:59,9-->1:00:01,0\r\n- ¿Sí?\r\n- No.\r\n\r\n", "[00:59]\n- ¿Sí? - No."),
        ("1\n00:00:01,000 --> 00:00:02,000\nA\n2\n00:00:03,000 --> 00:00:04,000\nB", "[00:00]\nA\n\nB"),
        (
            "1\n00:00:01,000 --> 00:00:02,000 X1:40 X2:600\n<i>Cae</i> a {\\an8}<font color=red>3 < 5</font>",
            "[00:00]\nCae a 3 < 5",
        ),
        (
            "1\n00:00:01,000 --> 00:00:02,000\nUno\n\ny dos\n\n2\n00:01:03,000 --> 00:01:04,000\n\n",
            "[00:00]\nUno y dos",
        ),
    ],
)
def test_subtitles_of_subrip_are_what_is_said(content: str, said: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        assert read(".srt", content.encode(encoding)).text == said


def test_notes_and_names_of_cues_are_not_said() -> None:
    content = (
        "WEBVTT\n\nuno\n00:01.000 --> 00:02.000\nHola\n\nNOTE a mano\n\n"
        "dos\n00:03.000 --> 00:04.000\n<00:03.500><c.x>Ya</c>"
    )
    assert read(".vtt", content).text == "[00:00]\nHola\n\nYa"


# --- formulas of pages

ROW = "<mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow>"
GRID = "<mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd><mtd><mi>x</mi></mtd></mtr>"


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("<mi>A</mi><mo>=</mo><mi>π</mi><msup><mi>r</mi><mn>2</mn></msup>", "A=πr^2"),
        ("<mn>2</mn><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>kg</mi>", "2 1/2 kg"),
        ("<mfrac><mi>a</mi><mrow><mn>2</mn><mi>b</mi></mrow></mfrac>", "a/(2b)"),
        ("<mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac>", "n¦k"),
        ("<mi>sin</mi><mo>&#x2061;</mo><mi>x</mi><mo>&lt;</mo><mi>cos</mi><mi>y</mi>", "sin x<cos y"),
        (f"<munderover><mo>∑</mo>{ROW}<mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub>", "∑_(i=1)^n x_i"),
        ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt><mo>−</mo><mroot><mi>x</mi><mn>3</mn></mroot>", "√(a+b)−³√x"),
        ("<mfenced open='['><mi>a</mi><mi>b</mi></mfenced>", "[a,b)"),
        (f"<mi>M</mi><mo>=</mo><mtable>{GRID}</mtable>", "M=[1, 2; 3, x]"),
        (
            "<semantics><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><annotation>x_i^2</annotation></semantics>",
            "x_i^2",
        ),
        ("<msup><mrow><mo>(</mo><mi>a</mi><mo>+</mo><mi>b</mi><mo>)</mo></mrow><mn>2</mn></msup>", "(a+b)^2"),
    ],
)
def test_a_formula_of_a_page_or_a_book_is_one_line(formula: str, said: str) -> None:
    prefixed = re.sub(r"<(/?)(?=m)", r"<\1m:", f"<math>{formula}</math>").replace("<m:math", "<m:math xmlns:m='urn:m'")
    for math in (f"<math>{formula}</math>", prefixed):
        assert read(".html", f"<p>Sea <b>{math}</b>, en tal caso</p>").text == f"Sea {said}, en tal caso"


def test_a_formula_that_is_drawn_beside_it_is_read_once() -> None:
    square = "<msup><mi>{}</mi><mn>2</mn></msup>"
    drawn = '<span aria-hidden="true"><span>x</span><span>2</span></span>'
    found = read(".html", f"<p>Vale <span><span><math>{square.format('x')}</math></span>{drawn}</span> aquí.</p>")
    assert (found.text, found.lost) == ("Vale x^2 aquí.", {})
    pictured = "".join(
        f'<p><span style="display:none"><math alttext="{{{name}}}">{square.format(name)}</math></span>'
        f'<img src="a.svg" alt="{{{name}}}"> vale.</p>'
        for name in "xyx"
    )
    found = read(".html", pictured)
    assert (found.text, found.lost) == ("x^2 vale.\n\ny^2 vale.\n\nx^2 vale.", {})


# --- other formats


@pytest.mark.parametrize(
    ("suffix", "content", "text"),
    [
        (
            ".csv",
            "Plan;Precio\nPro;20\nBásico;10\n".encode("cp1252"),
            "- Plan: Pro; Precio: 20\n- Plan: Básico; Precio: 10",
        ),
        (".tsv", b"a\tb\n1\t2\n", "- a: 1; b: 2"),
        (
            ".vtt",
            b"WEBVTT\n\n1\n00:01:02.000 --> 00:01:04.000\n<v Ana>Hola\n\n00:01:05.000 --> 00:01:06.000\nAdi\xc3\xb3s\n",
            "[00:01]\nAna: Hola\n\nAdiós",
        ),
        (
            ".ipynb",
            json.dumps(
                {
                    "metadata": {"language_info": {"name": "python"}},
                    "cells": [
                        {"cell_type": "markdown", "source": ["# Uno"]},
                        {"cell_type": "code", "source": "print(1)", "outputs": [{"text": ["1\n"]}]},
                    ],
                }
            ).encode(),
            "# Uno\n\n```python\nprint(1)\n```\n\n```\n1\n```",
        ),
        (".xml", b"<t><r><a>1</a><b>2</b></r><r><a>3</a><b>4</b></r></t>", "- a: 1; b: 2\n\n- a: 3; b: 4"),
        (".xml", b'<t v="2"><r id="3"/><p n="1">El <b>a</b> se</p></t>', "t; v: 2\n\nr; id: 3\n\np: El a se; n: 1"),
        (".rtf", rb"{\rtf1\ansi\ansicpg1252 El a\'f1o {\b nuevo}\par Dos}", "El año nuevo\n\nDos"),
    ],
)
def test_a_format_that_is_text_with_marks_is_read(suffix: str, content: bytes, text: str) -> None:
    assert read(suffix, content).text == text


def test_a_sheet_is_cut_into_its_tables() -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out)
    sheet = book.add_worksheet("Tarifas")
    sheet.write_row(0, 0, ["Tarifas de 2024"])
    sheet.write_row(1, 0, ["Plan", "Precio"])
    sheet.write_row(2, 0, ["Pro", 20])
    sheet.write_row(3, 0, ["Base", 9.5])
    sheet.merge_range(1, 5, 1, 6, "Horas")
    sheet.write_row(2, 4, ["Nombre", "mañana", "tarde"])
    sheet.write_row(3, 4, ["Ana", 3, 4])
    secret = book.add_worksheet("Otra")
    secret.write(0, 0, "oculta")
    secret.hide()
    book.close()
    found = read(".xlsx", out.getvalue())
    assert found.text == (
        "## Tarifas\n\nTarifas de 2024\n\n- Plan: Pro; Precio: 20\n- Plan: Base; Precio: 9.5\n\n"
        "- Nombre: Ana; Horas mañana: 3; Horas tarde: 4"
    )
    assert found.lost == {"hidden": 1}


def test_a_slide_is_a_page_with_its_title_as_heading() -> None:
    from pptx import Presentation
    from pptx.util import Inches

    show = Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Horario"
    first.placeholders[1].text = "Mañanas\nTardes"
    first.notes_slide.notes_text_frame.text = "Se avisa antes."
    cells = first.shapes.add_table(2, 2, Inches(1), Inches(5), Inches(4), Inches(1)).table
    for at, text in enumerate(("Día", "Hora", "Lunes", "9:00")):
        cells.cell(at // 2, at % 2).text = text
    show.slides.add_slide(show.slide_layouts[6])
    out = io.BytesIO()
    show.save(out)
    found = read(".pptx", out.getvalue())
    assert found.text == "# Horario\n\n- Mañanas\n- Tardes\n\n- Día: Lunes; Hora: 9:00\n\nSe avisa antes."
    assert (found.empty_pages, len(found.page_starts)) == (1, 2)


def test_a_message_has_its_subject_its_people_and_the_names_of_what_is_attached() -> None:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Cierre de año", "ana@x.es", "luis@x.es"
    message.set_content("Texto")
    message.add_alternative(f"<p>Importes</p>{table('A!|B!', '1|2')}", subtype="html")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="acta.pdf")
    found = read(".eml", bytes(message))
    assert found.text == ("# Cierre de año\n\nFrom: ana@x.es\nTo: luis@x.es\n\nImportes\n\n- A: 1; B: 2\n\nacta.pdf")
    assert found.lost == {"embedded": 1}


def packed(**parts: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name.replace("__", "/").replace("_DOT_", "."), part)
    return out.getvalue()


def test_a_book_is_read_in_the_order_of_its_chapters() -> None:
    book = packed(
        **{
            "META-INF__container_DOT_xml": '<container><rootfile full-path="o/p.opf"/></container>',
            "o__p_DOT_opf": '<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
            '<item id="b" href="b.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="b"/>'
            '<itemref idref="a"/></spine></package>',
            "o__a_DOT_xhtml": "<html><body><h1>Dos</h1></body></html>",
            "o__b_DOT_xhtml": "<html><body><h1>Uno</h1></body></html>",
        }
    )
    assert read(".epub", book).text == "# Uno\n\n# Dos"


def test_an_opendocument_text_keeps_notes_tables_and_lists_and_counts_what_is_hidden() -> None:
    names = ("office", "text", "table", "style")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    content = (
        f"<office:document-content {spaces}><office:automatic-styles><style:style style:name='H'>"
        "<style:text-properties "
        "text:display='none'/></style:style><text:list-style style:name='L'><text:list-level-style-number "
        "text:level='1'/></text:list-style></office:automatic-styles><office:body><office:text>"
        "<text:h text:outline-level='1'>Uno</text:h><text:p>Sí<text:note><text:note-body><text:p>nota</text:p>"
        "</text:note-body></text:note>.</text:p><text:p text:style-name='H'>no se ve</text:p>"
        "<text:p><text:placeholder>Pulse aquí</text:placeholder></text:p>"
        "<text:list text:style-name='L'><text:list-item><text:p>a</text:p></text:list-item></text:list>"
        "<table:table><table:table-row>"
        + "".join(map(cell.format, ("Plan", "Euros")))
        + "</table:table-row><table:table-row>"
        + "".join(map(cell.format, ("Pro", "20")))
        + "</table:table-row></table:table></office:text></office:body></office:document-content>"
    )
    found = read(".odt", packed(content_DOT_xml=content))
    assert found.text == "# Uno\n\nSí (nota).\n\n1. a\n\n- Plan: Pro; Euros: 20"
    assert found.lost == {"hidden": 3, "placeholders": 2}


def test_a_formula_of_opendocument_is_one_line() -> None:
    names = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "text", "drawing")}
    spaces = " ".join(f"xmlns:{key}='{value}'" for key, value in names.items())
    content = (
        f"<office:document-content {spaces} xmlns:l='http://www.w3.org/1999/xlink'><office:body><office:text><text:p>"
        "Sea <drawing:frame><drawing:object l:href='./Object 1'/></drawing:frame>.</text:p></office:text>"
        "</office:body></office:document-content>"
    )
    math = (
        "<math xmlns='http://www.w3.org/1998/Math/MathML'><semantics><mrow><mi>A</mi><mo>&lt;</mo><mfrac><mi>π</mi>"
        "<mn>2</mn></mfrac></mrow><annotation>A &lt; %pi over 2</annotation></semantics></math>"
    )
    assert read(".odt", packed(content_DOT_xml=content, **{"Object 1__content_DOT_xml": math})).text == "Sea A<π/2."


# --- PDF


def test_spaces_that_are_only_distances_are_read() -> None:
    stream = b"BT /F1 11 Tf 70 700 Td [(El) -250 (plazo) -250 (vence) -250 (en) -250 (mayo.)] TJ ET"
    assert read(".pdf", pdf([], content=[zlib.compress(stream)])).text == "El plazo vence en mayo."


ROWS = [("Puesto", "Grupo", "Sueldo"), ("Conserje", "E", "1.100"), ("Jefa", "A", "3.200"), ("Auxiliar", "", "900")]


def test_a_table_of_a_pdf_is_found_by_its_white_space() -> None:
    pieces = [
        (x, 700 - 14 * row, 11.0, cell)
        for row, cells in enumerate(ROWS)
        for x, cell in zip((70, 200, 300), cells, strict=True)
    ]
    assert read(".pdf", pdf_of([pieces])).text == (
        "- Puesto: Conserje; Grupo: E; Sueldo: 1.100\n- Puesto: Jefa; Grupo: A; Sueldo: 3.200\n"
        "- Puesto: Auxiliar; Sueldo: 900"
    )


def test_white_text_on_white_is_hidden_and_on_a_dark_ground_is_not() -> None:
    stream = b"1 g BT /F1 11 Tf 70 700 Td (No se ve) Tj ET 0 g BT /F1 11 Tf 70 650 Td (Se ve.) Tj ET"
    found = read(".pdf", pdf([], content=[zlib.compress(stream)]))
    assert (found.text, found.lost) == ("Se ve.", {"hidden": 3})
    stream = b"0 0 0.5 rg 60 690 300 30 re f 1 g BT /F1 11 Tf 70 700 Td (Se ve.) Tj ET"
    assert read(".pdf", pdf([], content=[zlib.compress(stream)])).text == "Se ve."


RAISED = (
    ("Tf 70 {y} Td (Suma 320) Tj 5 Ts /F1 7 Tf (1) Tj 0 Ts /F1 11 Tf ( euros.)", "Suma 320 ¹ euros."),
    ("Tf 70 {y} Td (Paga 410) Tj 4 Ts (2) Tj 0 Ts ( euros.)", "Paga 410 ² euros."),
    (
        "Tf 70 {y} Td (Debe 55) Tj ET BT /F1 6 Tf 111 {up} Td (3) Tj ET BT /F1 11 Tf 118 {y} Td (euros.)",
        "Debe 55 ³ euros.",
    ),
    ("Tf 1 0 0 1 70 {y} Tm (No cambia 3201 ni CO) Tj -3 Ts /F1 7 Tf (2) Tj 0 Ts", "No cambia 3201 ni CO2"),
    ("Tf 70 {y} Td (Hay 5 m) Tj 5 Ts /F1 7 Tf (2) Tj 0 Ts /F1 11 Tf ( y 10) Tj 5 Ts /F1 7 Tf (3)", "Hay 5 m² y 10^3"),
    ("Tf 70 {y} Td 5 Ts /F1 7 Tf (4) Tj 0 Ts /F1 11 Tf (320 de ayer)", "⁴ 320 de ayer"),
    ("Tf 70 {y} Td (Desde 2008.) Tj 5 Ts /F1 7 Tf (18) Tj 0 Ts /F1 11 Tf ( Ya no.)", "Desde 2008. ¹⁸ Ya no."),
    ("Tf 0 1 -1 0 500 {y} Tm (Girado 320) Tj 5 Ts /F1 7 Tf (5) Tj 0 Ts /F1 11 Tf ( euros.)", "Girado 320 ⁵ euros."),
)


def test_a_raised_number_is_no_digit_of_the_number_that_it_touches() -> None:
    drawn = [f"BT /F1 11 {how.format(y=740 - 60 * n, up=745 - 60 * n)} Tj ET" for n, (how, _) in enumerate(RAISED)]
    late = "BT /F1 7 Tf 107.5 45 Td (6) Tj ET"  # after all that it could belong to
    stream = " ".join(["BT /F1 11 Tf 70 40 Td (Vale 90) Tj ET", *drawn, late]).encode()
    text = read(".pdf", pdf([], content=[zlib.compress(stream)])).text
    assert [said for _, said in RAISED if said not in text] == []
    assert "Vale 90 ⁶" in text


def test_quotation_marks_and_dashes_of_a_pdf_are_those_that_it_has() -> None:
    written = {"\\223": "“", "\\224": "”", "\\222": "’", "\\226": "–", "\\227": "—"}
    said = 'El \\223turno\\224 de l\\222Hospitalet \\227de 8\\22614 - o 15\\227 no "cierra".'
    stream = f'BT /F1 11 Tf 70 700 Td ({said}) Tj 0 -30 Td (Un "plan" - sin nada m-s.) Tj ET'
    for code, char in written.items():
        said = said.replace(code, char)
    text = read(".pdf", pdf([], content=[zlib.compress(stream.encode("latin-1"))])).text
    assert text == f'{said} Un "plan" - sin nada m-s.'


def test_a_raised_number_in_a_table_of_a_pdf_is_no_digit_of_its_cell() -> None:
    pieces = [
        (x, 700 - 14 * row, cell)
        for row, cells in enumerate(ROWS)
        for x, cell in zip((70, 200, 300), cells, strict=True)
    ]
    raise_it = {"900": "5 Ts /F1 7 Tf (1) Tj"}
    drawn = " ".join(f"BT /F1 11 Tf {x} {y} Td ({cell}) Tj {raise_it.get(cell, '')} ET" for x, y, cell in pieces)
    rules = " ".join(f"70 {y} m 380 {y} l S" for y in range(655, 715, 14))
    for stream in (drawn, f"{rules} {drawn}"):
        text = read(".pdf", pdf([], content=[zlib.compress(stream.encode())])).text
        assert text.endswith("- Puesto: Auxiliar; Sueldo: 900 ¹")


def form(fields: Sequence[str], stream: str) -> bytes:
    """A page with this stream and with fields of a form."""
    found = pdf([], content=[zlib.compress(stream.encode("cp1252"))])
    names = " ".join(f"{100 + n} 0 R" for n in range(len(fields)))
    for mark, more in (("/Contents", f"/Annots [{names}]"), ("/Pages 2 0 R", f"/AcroForm << /Fields [{names}] >>")):
        found = found.replace(mark.encode(), f"{more} {mark}".encode())
    objects = (
        f"{100 + n} 0 obj\n<< /Type /Annot /Subtype /Widget /P 4 0 R {one} >>\nendobj\n" for n, one in enumerate(fields)
    )
    end = "".join(objects) + "trailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"
    return found[: found.rindex(b"xref\n0")] + end.encode("cp1252")


def test_what_was_typed_into_a_form_stands_at_its_label() -> None:
    def box(line: int, width: int = 150) -> str:
        return f"/Rect [150 {698 - 20 * line} {150 + width} {709 - 20 * line}]"

    tick = "/FT /Btn /T (t) /V /{0} /AS /{0} /AP << /N << /Yes << >> /Off << >> >> >> "
    fields = [
        f"/FT /Tx /T (n) /V (Ana Lema) {box(0)}",
        tick.format("Yes") + box(1, 10),
        tick.format("Off") + box(2, 10),
        f"/FT /Ch /Ff 131072 /T (s) /V (Lugo) /Opt [(Vigo) (Lugo)] {box(4)}",
        f"/FT /Tx /T (c9) /TU (Cuenta) /V (ES12 3456) {box(6)}",
        f"/FT /Tx /Ff 8192 /T (clave) /V (secreto) {box(8)}",
        f"/FT /Btn /Ff 65536 /T (enviar) {box(9)}",
    ]
    said = ((0, 70, "Nombre:"), (1, 170, "Es socia"), (2, 170, "Causa baja"), (3, 150, "Sede"), (7, 70, "Fin."))
    stream = " ".join(f"BT /F1 11 Tf {x} {700 - 20 * line} Td ({text}) Tj ET" for line, x, text in said)
    text = read(".pdf", form(fields, stream)).text
    assert text.split() == ("Nombre: Ana Lema - [x] Es socia - [ ] Causa baja Sede Lugo Cuenta: ES12 3456 Fin.".split())


def test_a_hyphen_at_a_lines_end_is_that_of_the_word() -> None:
    lines_ = (
        "Esta línea es larga y habla de la norma ISO-",
        "9001, que todos los socios cumplen en el",
        "periodo de cinco años que va de 2010–",
        "2015, y de los cursos de formación pre-",
        "y postventa de la empresa que los orga-",
        "niza: solo el caso A – o el caso B –",
        "quedan fuera de lo que se dice en ellos.",
    )
    assert read(".pdf", pdf([[(line, 11.0) for line in lines_]])).text == (
        "Esta línea es larga y habla de la norma ISO-9001, que todos los socios cumplen en el periodo de cinco años "
        "que va de 2010–2015, y de los cursos de formación pre- y postventa de la empresa que los organiza: solo el "
        "caso A – o el caso B – quedan fuera de lo que se dice en ellos."
    )


@pytest.mark.parametrize("aside", [0.0, 0.3])
def test_a_text_that_is_drawn_twice_is_there_once(aside: float) -> None:
    drawn_twice = f"BT /F1 11 Tf 70 700 Td (Total 320 euros.) Tj {aside} 0 Td (Total 320 euros.) Tj ET"
    assert read(".pdf", pdf([], content=[zlib.compress(drawn_twice.encode())])).text == "Total 320 euros."


def test_marks_of_a_list_that_are_drawn_are_marks() -> None:
    """A browser draws them when it prints; a square of another size, or within a text, is none."""
    rules = [
        "Si se anula con tiempo, se devuelve todo.",
        "Entre 3 y 7 días, la mitad,",
        "menos los gastos.",
        "Después, nada.",
    ]
    pieces = [(60, 760, 11, "Se paga una señal:"), *((92, 740 - 15 * row, 11, rule) for row, rule in enumerate(rules))]

    def drawn(marks: Sequence[tuple[float, float, float]]) -> str:
        figures = "\n".join(f"{x} {y} {size} {size} re f" for x, y, size in marks)
        return read(".pdf", pdf_of([pieces], figures)).text

    marks = [(79, 742 - 15 * row, 3.75) for row in (0, 1, 3)]
    listed = [f"- {rules[0]}", f"- {rules[1]} {rules[2]}", f"- {rules[3]}"]
    assert drawn(marks) == "\n".join(["Se paga una señal:", *listed])
    for others in ([], [(79, 742, 11.0)], [(120, 742, 3.75)], [(20, 742, 3.75)]):
        assert "- " not in drawn(others)


def test_text_that_is_never_drawn_is_hidden_but_over_a_picture() -> None:
    stream = "BT /F1 11 Tf 70 700 Td (Se ve.) Tj 0 -30 Td 3 Tr (No se ve) Tj ET"
    found = read(".pdf", pdf([], content=[zlib.compress(stream.encode())]))
    assert (found.text, found.lost) == ("Se ve.", {"hidden": 3})
    picture = "q 400 0 0 300 60 500 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x80 EI Q "
    found = read(".pdf", pdf([], content=[zlib.compress((picture + stream).encode("latin-1"))]))
    assert "No se ve" in found.text


def test_a_page_whose_font_has_no_map_of_characters_is_counted_and_not_indexed() -> None:
    said = "Las vacaciones se piden en administración con un mes de antelación y por escrito. " * 3
    rubbish = "".join(chr(ord(char) - 29) if "a" <= char <= "z" else char for char in said)
    found = read(".pdf", pdf([[("Se lee.", 11.0)], [(rubbish[at : at + 80], 11.0) for at in range(0, 240, 80)]]))
    assert (found.text, found.lost, found.empty_pages) == ("Se lee.", {"unreadable": 1}, 1)


def test_columns_are_read_one_after_the_other() -> None:
    left = [f"En la primera columna va la línea {n} del texto" for n in range(8)]
    right = [f"En la segunda columna va la línea {n} del texto" for n in range(8)]
    pieces = [(x, 700 - 13 * n, 9.0, line) for n in range(8) for x, line in ((60, left[n]), (320, right[n]))]
    pieces.append((60, 740, 9.0, "Un título que está sobre las dos columnas de la página y " + "las separa " * 5))
    text = read(".pdf", pdf_of([pieces])).text
    assert text.index(left[-1]) < text.index(right[0])


def drawn(*items: tuple[float, float, float, str], blocks: Sequence[object] = ()) -> SimpleNamespace:
    """A page as liteparse gives it: pieces of text (left, right, top, text) of 10 points."""
    look = {"font_name": "F", "font_height": 10.0, "fill_color": None, "rotation": 0.0}
    texts = [SimpleNamespace(text=t, x=x, y=y, width=x2 - x, height=10.0, **look) for x, x2, y, t in items]
    return SimpleNamespace(
        text_items=texts,
        vector_graphics=SimpleNamespace(shapes=[], lines=[]),
        complexity=None,
        form_fields=None,
        blocks=list(blocks),
    )


def lines(page: SimpleNamespace) -> list[str]:
    return [line.text for line in lines_of(page, Glyphs(), Counter())]


def test_lines_of_a_list_in_two_columns_are_read_one_column_after_the_other() -> None:
    said = [(f"una línea de la lista en la columna {n}", 60.0 + 300 * n) for n in (1, 2)]
    items = [
        piece
        for y in range(100, 200, 15)
        for text, x in said
        for piece in ((x, x + 6, y, "▪"), (x + 18, x + 200, y, text))
    ]
    text = "".join(lines(drawn(*items)))
    assert text.rindex(said[0][0]) < text.index(said[1][0])
    box = SimpleNamespace(x=360.0, y=129.0, width=500.0, height=32.0)
    cells = [[SimpleNamespace(text=f"{text} {text}", bbox=None) for text, _ in said] for _ in range(2)]
    table = SimpleNamespace(kind="table", bbox=box, header=None, rows=cells)
    text = "".join(lines(drawn(*items, blocks=[table])))
    assert text.rindex(said[0][0]) < text.index(said[1][0])  # no table is across columns


def test_a_page_in_arabic_or_hebrew_is_read_from_the_right() -> None:
    rows = [("שלום לכולם", "ועוד"), ("שורה שנייה", "סוף")]
    items = [piece for n, (a, b) in enumerate(rows) for piece in ((100, 150, 30 * n, b), (153, 220, 30 * n, a))]
    assert lines(drawn(*items)) == ["שלום לכולם ועוד", "שורה שנייה סוף"]


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".pptx", ".odt", ".epub"])
def test_a_packed_file_of_another_kind_is_damaged(suffix: str) -> None:
    from tests.raising import raises

    with raises("upload_damaged"):
        read(suffix, b"PK\x03\x04" + bytes(60))


def test_a_word_table_made_by_a_writer_keeps_its_heads() -> None:
    content = docx_with(("table", "Plan|Precio|Días", "Básico|10 €|5"))
    assert read(".docx", content).text == "- Plan: Básico; Precio: 10 €; Días: 5"
