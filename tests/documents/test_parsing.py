"""From the bytes of an upload to clean text, or to the error that says what to do."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.documents.parsing import cut_at_paragraph, parse_upload
from chatbot_mvp.errors import UploadError
from tests.processor import reference_seconds
from tests.raising import raises

SPANISH = "Año nuevo: ¿vacación o educación?\n"
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(256))


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        (SPANISH.encode(), SPANISH, "utf-8"),
        (b"\xef\xbb\xbf" + SPANISH.encode(), SPANISH, "utf-8-sig"),
        (SPANISH.encode("latin-1"), SPANISH, "latin-1"),
        ("“Año” – 5 €".encode("cp1252"), "“Año” – 5 €", "cp1252"),
        (b"uno\r\ndos\rtres\n", "uno\ndos\ntres\n", "utf-8"),
        ("\ufeffuno\r\n".encode(), "uno\n", "utf-8-sig"),
        (b"plain ASCII", "plain ASCII", "utf-8"),
        ("emoji 🙂 年".encode(), "emoji 🙂 年", "utf-8"),
        (SPANISH.encode("utf-16"), SPANISH, "utf-16"),
    ],
    ids=["utf-8", "bom", "latin-1", "cp1252", "line ends", "bom and crlf", "ascii", "beyond the BMP", "utf-16"],
)
def test_every_usual_encoding_gives_the_text_that_was_written(content: bytes, text: str, encoding: str) -> None:
    parsed = parse_upload("a.txt", content, max_chars=1_000, max_mb=1)
    assert (parsed.text, parsed.encoding) == (text, encoding)
    assert (parsed.original_chars, parsed.kb_truncated) == (len(text), False)


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("vacio.txt", b"", "upload_empty", "'vacio.txt' has no text"),
        ("blanco.md", b" \r\n\t\n ", "upload_empty", "'blanco.md' has no text"),
        ("solo_bom.txt", b"\xef\xbb\xbf", "upload_empty", "'solo_bom.txt' has no text"),
        ("foto.txt", PNG, "upload_binary", "'foto.txt' is not a text file"),
        ("nul.md", b"hola\x00mundo", "upload_binary", "UTF-8"),
        ("ruido.txt", bytes(range(1, 32)) * 40, "upload_binary", "UTF-8"),
        ("grande.txt", b"a" * 1_000_001, "upload_too_large", "the maximum is 1 MB"),
        ("informe.xyz", b"texto", "upload_type_unsupported", "Use one of: .txt, .md, .pdf, .docx, .docm, .html"),
        ("carta.doc", b"texto", "upload_save_as", "save it as .docx"),
        ("sin_sufijo", b"texto", "upload_type_unsupported", "'sin_sufijo'"),
        ("a.txt.exe", b"texto", "upload_type_unsupported", "'a.txt.exe'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(name: str, content: bytes, code: str, said: str) -> None:
    with raises(code) as raised:
        parse_upload(name, content, max_chars=1_000, max_mb=1)
    assert said in str(raised.value)
    assert name in str(raised.value)


@pytest.mark.parametrize("name", ["A.TXT", "Notas.Md", "con espacios.txt"])
def test_the_suffix_counts_whatever_its_case(name: str) -> None:
    assert parse_upload(name, b"hola", 1_000, 1).text == "hola"


def test_exactly_the_largest_size_is_taken() -> None:
    assert parse_upload("a.txt", b"a" * 1_000_000, 2_000_000, 1).original_chars == 1_000_000


def test_a_text_over_the_limit_is_cut_at_a_paragraph_and_says_so() -> None:
    text = "Primero.\n\nSegundo párrafo.\n\nTercero, que ya no cabe entero."
    parsed = parse_upload("a.txt", text.encode(), max_chars=40, max_mb=1)
    assert parsed.text == "Primero.\n\nSegundo párrafo."
    assert parsed.kb_truncated
    assert parsed.original_chars == len(text)


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("corto", 5, "corto"),
        ("uno dos\n\ntres\ncuatro", 13, "uno dos"),
        ("uno dos\ntres cuatro", 13, "uno dos"),
        ("uno dos tres", 9, "uno dos"),
        ("unapalabramuylarga", 6, "unapal"),
    ],
    ids=["fits", "paragraph", "line", "word", "nowhere"],
)
def test_the_cut_is_at_a_paragraph_else_a_line_else_a_word(text: str, limit: int, cut: str) -> None:
    assert cut_at_paragraph(text, limit) == cut


@given(st.text(max_size=300), st.integers(min_value=1, max_value=300))
def test_a_cut_is_a_beginning_of_the_text_within_the_limit(text: str, limit: int) -> None:
    cut = cut_at_paragraph(text, limit)
    assert text.startswith(cut)
    assert len(cut) <= limit
    assert (cut == text) == (len(text) <= limit)


@given(st.binary(max_size=400))
def test_any_bytes_are_either_parsed_or_refused_with_one_of_our_errors(content: bytes) -> None:
    try:
        parsed = parse_upload("a.md", content, max_chars=200, max_mb=1)
    except UploadError:
        return
    assert "\r" not in parsed.text
    assert "\x00" not in parsed.text
    assert len(parsed.text) <= 200


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("Título\n\n" + "una línea\n" * 50, 100, "Título\n\n" + "una línea\n" * 8 + "una línea"),
        ("ab\n\ncccccc\n\nzzzz", 10, "ab\n\ncccccc"),
        ("x" * 30, 10, "x" * 10),
    ],
    ids=["a paragraph that would lose nearly all", "a paragraph that just fits", "one word"],
)
def test_a_cut_keeps_at_least_half_of_what_may_be_kept(text: str, limit: int, kept: str) -> None:
    assert cut_at_paragraph(text, limit) == kept


def test_accents_written_apart_are_composed() -> None:
    parsed = parse_upload("a.txt", unicodedata.normalize("NFD", "vacación").encode(), 1_000, 1)
    assert parsed.text == "vacación"


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        (
            "Horario de oficina\nAbrimos de lunes a viernes de 9 a 14.\nVacaciones\nCada año son 22 días.\n",
            "Horario de oficina\n\nAbrimos de lunes a viernes de 9 a 14.\n\nVacaciones\n\nCada año son 22 días.\n",
        ),
        ("Plan\n====\n\n1. Gastos\n--------\nHay.", "# Plan\n\n\n## 1. Gastos\n\nHay."),
        (
            "MOTOR R2\nUso del motor\n-----\nSí.\n\n-----\nMás\n-----\nNo.",
            "MOTOR R2\n\n## Uso del motor\n\nSí.\n\n## Más\n\nNo.",
        ),
        ("Es un párrafo.\n-----\nY otro.", ""),
        ("2. Gastos\n¿Quién paga? La empresa\npaga viajes.", "2. Gastos\n\n¿Quién paga? La empresa\npaga viajes."),
        # Wrapped: the next line's first word had no room.
        ("The members met the delegates of the\nEuropean Union in the spring, and then\nthey went home.", ""),
        ("I wandered lonely as a cloud\nThat floats on high o'er vales and hills,\nWhen I saw a crowd.", ""),
        ("Ana Ruiz\nCalle Mayor 5, bajo\nSegovia, en Castilla.", ""),
        ("Precios\n- Una noche en el hotel cuesta 90 euros.", ""),
        ("Horario de oficina\nLunes a viernes, mañanas", ""),
    ],
    ids=[
        "two titles",
        "rules below",
        "rules above",
        "a rule",
        "a number, a question",
        "wrapped",
        "verse",
        "address",
        "list",
        "no sentence",
    ],
)
def test_a_title_on_the_line_above_its_paragraph_stands_apart(text: str, apart: str) -> None:
    assert parse_upload("a.txt", text.encode(), max_chars=1_000, max_mb=1).text == (apart or text)
    if "--" not in text:  # a heading of Markdown
        assert parse_upload("a.md", text.encode(), max_chars=1_000, max_mb=1).text == text


COLUMNS = """Ciclos:
   Carga               Temperatura      Tiempo
   -------------------------------------------
   Líquidos, 500 ml    121 °C           20 min
   Vidrio              1.260,5 °C       11 min
Otra línea."""
TABLES = {
    COLUMNS: "Ciclos:\n\n- Carga: Líquidos, 500 ml; Temperatura: 121 °C; Tiempo: 20 min\n"
    "- Carga: Vidrio; Temperatura: 1.260,5 °C; Tiempo: 11 min\n\nOtra línea.",
    "Plan  Precio\n====  ======\nBase    31 €": "- Plan: Base; Precio: 31 €",  # it ends where its name does
    "Plan  Precio\n----\nDe empresa\t31 €": "- Plan: De empresa; Precio: 31 €",
    "A  B\n----\n1  2\nY:\nC  D\n----\n3  4\n\nE  F\n----\n5  6\n": (
        "- A: 1; B: 2\n\nY:\n\n- C: 3; D: 4\n\n- E: 5; F: 6\n"
    ),
    "====  ====\nItem  Euro\n====  ====\nPan   2\n====  ====": "====  ====\n\n- Item: Pan; Euro: 2\n\n====  ====",
    # A row with an empty cell ends the table, and what stands above the next rule names nothing.
    "Plan  Euro  Nota\n-----\nBase  30    Mes\nMás   20\nUno   1\nDos   10    Año\n-----\nTodo  60    Sí": (
        "- Plan: Base; Euro: 30; Nota: Mes\n\nMás   20\nUno   1\nDos   10    Año\n-----\nTodo  60    Sí"
    ),
}
NO_TABLES = [
    "Plan  Precio\nBase  31 €",  # no rule
    "Precios\n------  -----\nBase  31 €",  # no names
    "Plan  Precio\n----  ------\nBase  31 €  hoy",
    "Plan  Precio  Nota\n------------------\nBase          socios.  Pregunte",  # an empty cell
    "2.3  Alta\n---------\nBaje el archivo.  Después, ábralo como administrador.",
    "Se fue en mayo.  Nadie lo vio.\n-----\nVolvió en casa.  Todo vacío.",
    "name   | city\n-------+-------\nBread  | Madrid",
]


@pytest.mark.parametrize("text", [*TABLES, *NO_TABLES])
def test_what_stands_in_columns_below_their_names_is_a_table(text: str) -> None:
    read = parse_upload("a.txt", text.encode(), max_chars=1_000, max_mb=1).text
    assert read == TABLES[text] if text in TABLES else "\n- " not in f"\n{read}"


@pytest.mark.parametrize("part", ["a  b\n", "a  b\n---\n", "a  b\n---\na  b\n\n", "  ", "--- ", "a\tb\n---x\n"])
def test_columns_take_linear_time(part: str) -> None:
    started = time.process_time()
    parse_upload("a.txt", (part * (200_000 // len(part)) + "x").encode(), max_chars=300_000, max_mb=1)
    assert reference_seconds(time.process_time() - started) < 3
