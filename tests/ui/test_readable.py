"""What is shown of a passage has no marks of Markdown, and what a citation marks stays where it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.types import Chunk
from streamlit_app.shared.readable import marked_html, readable
from streamlit_app.shared.sources import passage_html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Cuotas\nLa **cuota** es de 30 €.", "Cuotas\nLa cuota es de 30 €."),
        ("- uno\n* dos\n1. tres", "• uno\n• dos\n1. tres"),
        ("Vea [la página](https://a.es/b) y ![el plano](p.png).", "Vea la página y el plano."),
        ("> Una cita", "Una cita"),
        ("Pida:\n-\n- El DNI\n•\nUna foto\n•", "Pida:\n• El DNI\n• Una foto\n"),
        ("Con `ls | grep x` y 5 * 3 * 2", "Con ls | grep x y 5 * 3 * 2"),
        ("```sh\n# nota\nls | sort\n```\nFin", "# nota\nls | sort\nFin"),
        (r"un \* y kb_min_score", "un * y kb_min_score"),
        ("cat a | sort", "cat a | sort"),
    ],
)
def test_marks_of_markdown_are_left_out_and_code_stays(text: str, shown: str) -> None:
    assert "".join(readable(text)[0]) == shown


@pytest.mark.parametrize(
    ("text", "marked", "shown"),
    [
        (
            "Cuotas\n\n| Plan | Precio |\n|---|---:|\n| Oro | 30 € |\nFin",
            "| Oro | 30 € |",
            "Cuotas\n\n<table><tr><th>Plan</th><th>Precio</th></tr>"
            "<tr><td><mark>Oro</mark></td><td><mark>30 €</mark></td></tr></table>Fin",
        ),
        # One cell; what is empty stays a cell, and what is code or escaped is no border.
        (
            "| a \\| b |  | `c|d` |",
            "`c|d`",
            "<table><tr><td>a | b</td><td></td><td><mark>c|d</mark></td></tr></table>",
        ),
        # A passage that begins within a table, and text before a second one.
        (
            "| 1 |\n| 2 |\n\n| <3> |",
            "2",
            "<table><tr><td>1</td></tr><tr><td><mark>2</mark></td></tr></table>\n<table><tr><td>&lt;3&gt;</td></tr></table>",
        ),
        ("```\n| no |\n```", "no", "| <mark>no</mark> |\n"),
        # As readers write the rows of Word, HTML, PDF and Excel: names stand once, empty cells are cells again.
        (
            "Precios:\n\n- Talla: L; Precio: 12 €; Mes: mayo\n- Talla: <M>; Mes: abril\nFin",
            "- Talla: <M>; Mes: abril",
            "Precios:\n\n<table><tr><th>Talla</th><th>Precio</th><th>Mes</th></tr>"
            "<tr><td>L</td><td>12 €</td><td>mayo</td></tr>"
            "<tr><td><mark>&lt;M&gt;</mark></td><td></td><td><mark>abril</mark></td></tr></table>Fin",
        ),
        # Items that only look like rows: of other names, in another order, one alone, with a part that has no name.
        ("- A: 1; B: 2\n- C: 3; B: 4", "B: 2", "• A: 1; <mark>B: 2</mark>\n• C: 3; B: 4"),
        ("- A: 1; B: 2\n- B: 3; A: 4", "A: 1", "• <mark>A: 1</mark>; B: 2\n• B: 3; A: 4"),
        ("- A: 1; B: 2\n- A: 3; A: 4; B: 5", "3", "• A: 1; B: 2\n• A: <mark>3</mark>; A: 4; B: 5"),
        ("- no; B: 2\n- A: 3; B: 4", "no", "• <mark>no</mark>; B: 2\n• A: 3; B: 4"),
        ("- A: 1\n- A: 3", "3", "• A: 1\n• A: <mark>3</mark>"),
        # A cell may have a semicolon, a name the marks of Markdown, a row one cell alone, and a cell nothing.
        (
            "- **A**: 1; B: 2\n- A: 3; no\n- B: ",
            "no",
            "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr>"
            "<tr><td>3; <mark>no</mark></td><td></td></tr><tr><td></td><td></td></tr></table>",
        ),
    ],
)
def test_a_table_is_a_table_with_its_cited_row_or_cell_marked(text: str, marked: str, shown: str) -> None:
    at = text.index(marked)
    assert marked_html(text, [(at, at + len(marked))]) == shown


@given(st.text("a *_`#|>-[]()!\\\n1:", max_size=60))
def test_any_text_keeps_an_entry_per_character_and_its_words(text: str) -> None:
    shown, tags = readable(text)
    assert all(0 <= at <= len(text) for at in tags)
    assert len(shown) == len(text)
    # Only what stands in the address of a link, or names the language of a block of code, may go.
    if "(" not in text and "```" not in text:
        assert "".join(shown).count("a") == text.count("a")


def test_the_mark_of_a_citation_stays_on_its_words() -> None:
    text = "- La **cuota** es de 30 €."
    at = text.index("30")
    chunk = Chunk("c", "d", "Cuotas", text, 100, 100 + len(text))
    assert "<mark>30 €</mark>" in passage_html(chunk, [(100 + at, 100 + at + 4)])
