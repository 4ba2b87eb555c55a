"""What strangers' documents of every format have shown to be read wrong, each kind as small as it can be."""

from __future__ import annotations

import io
from email.message import EmailMessage

import pytest

from tests.documents.made import docx_of
from tests.documents.test_small_inputs import packed, read, table

R = "<w:r><w:t>{}</w:t></w:r>"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            ["Día!|Abre!", "Lugo!*2", "Lunes!|9:00", "Vigo!*2", "Lunes!|8:30"],
            "Lugo|Día: Lunes; Abre: 9:00|Vigo|Día: Lunes; Abre: 8:30",
        ),
        (
            ["Área^2|Gasto*2|Peso^2", "2024|2025", "Ocio|12|13|5 %"],
            "Área: Ocio; Gasto 2024: 12; Gasto 2025: 13; Peso: 5 %",
        ),
        (
            ["Área!^2|Gasto!*2|Peso!^2", "2024|2025", "Ocio|12|13|5 %"],
            "Área: Ocio; Gasto 2024: 12; Gasto 2025: 13; Peso: 5 %",
        ),
        (["Mes|Luz|Agua", "|(kWh)|(m³)", "Enero|320|14"], "Mes: Enero; Luz (kWh): 320; Agua (m³): 14"),
    ],
)
def test_rows_below_the_names_of_columns_are_names_or_sections(rows: list[str], said: str) -> None:
    assert read(".html", table(*rows)).text == "\n".join(f"- {line}" for line in said.split("|"))


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("@media print{.a{display:none}}", "Sí"),
        ("@media (max-width:600px){.x{top:0} .a{display:none}}", "Sí"),
        ("/* .a{display:none} */", "Sí"),
        ("@media screen{.a{display:none}}", ""),
        ("/* x */ .a{display:none}", ""),
    ],
)
def test_rules_for_paper_or_some_widths_hide_nothing(style: str, text: str) -> None:
    assert read(".html", f"<meta charset=utf-8><style>{style}</style><p class=a>Sí").text == text


def test_what_a_reader_can_open_is_not_hidden() -> None:
    page = "<h2><button aria-controls=a>Coste</button></h2><p id=a hidden>Son 30.<p id=b hidden>Nada."
    found = read(".html", page)
    assert (found.text, found.lost) == ("## Coste\n\nSon 30.", {"hidden": 1})


def test_fields_and_turns_of_a_word_document_are_read() -> None:
    number, end = R.format("1"), R.format(". Zonas")
    body = f"<w:p>{R.format('Tabla ')}<w:fldSimple>{number}</w:fldSimple><w:bdo>{end}</w:bdo></w:p>"
    assert read(".docx", docx_of(body.replace("<w:t>", '<w:t xml:space="preserve">'))).text == "Tabla 1. Zonas"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sep=;\nPlan;Precio\nPro;20\n", "- Plan: Pro; Precio: 20"),
        ("Lista de 2025\n\nPlan,Precio,Nota\nPro,20,\n", "Lista de 2025\n\n- Plan: Pro; Precio: 20\n- Nota"),
        ("Lista\nSala;Aforo\nNorte;4,5\nSur;3,2\n", "Lista\n\n- Sala: Norte; Aforo: 4,5\n- Sala: Sur; Aforo: 3,2"),
        ("Nombre\nAna\nLuis\n", "- Nombre\n- Ana\n- Luis"),
    ],
)
def test_lines_above_the_table_of_a_csv_file_are_no_part_of_it(content: str, said: str) -> None:
    assert read(".csv", content).text == said


def test_a_message_inside_a_message_is_read() -> None:
    inside, message = EmailMessage(), EmailMessage()
    inside["Subject"], message["Subject"] = "Oferta", "RV: Oferta"
    inside.set_content("Vale 910 euros.")
    message.set_content("Mira.")
    message.add_attachment(inside)
    assert read(".eml", bytes(message)).text == "# RV: Oferta\n\nMira.\n\n# Oferta\n\nVale 910 euros."


def test_signs_of_subtitles_are_signs() -> None:
    content = "WEBVTT\n\n00:01.000 --> 00:02.000\nPan &amp; agua\n"
    assert read(".vtt", content).text == "[00:00]\nPan & agua"


@pytest.mark.parametrize(
    ("body", "text", "lost"),
    [
        (r"Paga {\strike 600 o} 650 y {\v nada} ya.", "Paga  650 y  ya.", {"struck": 2, "hidden": 1}),
        (r"Uno \strike dos\strike0  tres", "Uno  tres", {"struck": 1}),
        (r"Son 320{\super 1} euros y 5 m{\super 2}.", "Son 320 ¹ euros y 5 m².", {}),
        (r"Abre{\footnote\pard Salvo agosto.}.", "Abre (Salvo agosto.).", {}),
    ],
)
def test_looks_and_notes_of_rich_text_are_known(body: str, text: str, lost: dict[str, int]) -> None:
    found = read(".rtf", rf"{{\rtf1\ansi {body}}}")
    assert (found.text, found.lost) == (text, lost)


def test_a_slides_struck_words_are_no_content_and_its_raised_numbers_stand_apart() -> None:
    from pptx import Presentation
    from pptx.util import Inches

    show = Presentation()
    box = show.slides.add_slide(show.slide_layouts[6]).shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1))
    for text, look in (
        ("Son 320", {}),
        ("1", {"baseline": "30000"}),
        (" euros", {}),
        (" o 77", {"strike": "sngStrike"}),
    ):
        run = box.text_frame.paragraphs[0].add_run()
        run.text = text
        for name, value in look.items():
            run.font._element.set(name, value)
    out = io.BytesIO()
    show.save(out)
    found = read(".pptx", out.getvalue())
    assert (found.text, found.lost) == ("Son 320 ¹ euros", {"struck": 2})


def test_hidden_sections_and_raised_numbers_of_an_opendocument_text() -> None:
    names = ("office", "text", "style")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    content = (
        f"<office:document-content {spaces}><office:automatic-styles><style:style style:name='U'>"
        "<style:text-properties style:text-position='super 58%'/></style:style></office:automatic-styles><office:body>"
        "<office:text><text:p>Son 320<text:span text:style-name='U'>1</text:span> euros.</text:p>"
        "<text:section text:display='none'><text:p>no se ve</text:p></text:section></office:text></office:body>"
        "</office:document-content>"
    )
    found = read(".odt", packed(content_DOT_xml=content))
    assert (found.text, found.lost) == ("Son 320 ¹ euros.", {"hidden": 3})
