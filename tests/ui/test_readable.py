"""What is shown of a passage has no marks of Markdown, and what a citation marks stays where it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.types import Chunk
from streamlit_app.shared.readable import readable
from streamlit_app.shared.sources import passage_html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Cuotas\nLa **cuota** es de 30 €.", "Cuotas\nLa cuota es de 30 €."),
        ("| Plan | Precio |\n|---|---:|\n| Oro | 30 € |", "Plan · Precio\nOro · 30 €"),
        ("- uno\n* dos\n1. tres", "• uno\n• dos\n1. tres"),
        ("Vea [la página](https://a.es/b) y ![el plano](p.png).", "Vea la página y el plano."),
        ("> Una cita", "Una cita"),
        ("Con `ls | grep x` y 5 * 3 * 2", "Con ls | grep x y 5 * 3 * 2"),
        ("```sh\n# nota\nls | sort\n```\nFin", "# nota\nls | sort\nFin"),
        (r"un \* y kb_min_score", "un * y kb_min_score"),
        ("cat a | sort", "cat a | sort"),
    ],
)
def test_marks_of_markdown_are_left_out_and_code_stays(text: str, shown: str) -> None:
    assert "".join(readable(text)) == shown


@given(st.text("a *_`#|>-[]()!\\\n1:", max_size=60))
def test_any_text_keeps_an_entry_per_character_and_its_words(text: str) -> None:
    shown = readable(text)
    assert len(shown) == len(text)
    # Only what stands in the address of a link, or names the language of a block of code, may go.
    if "(" not in text and "```" not in text:
        assert "".join(shown).count("a") == text.count("a")


def test_the_mark_of_a_citation_stays_on_its_words() -> None:
    text = "- La **cuota** es de 30 €."
    at = text.index("30")
    chunk = Chunk("c", "d", "Cuotas", text, 100, 100 + len(text))
    assert "<mark>30 €</mark>" in passage_html(chunk, [(100 + at, 100 + at + 4)])
