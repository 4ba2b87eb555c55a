"""What is printed is shown and not obeyed: no text of others moves a cursor or turns a line around."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.terminal import json_line, visible

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HOSTILE = f"¿Qué\x1b]0;título\x07 \x9b31m\r{BIDI}\u2028?"


def obeyed(text: str) -> list[str]:
    """The characters that a terminal obeys, by their Unicode classes and not by the list of the code."""
    return [
        char
        for char in text
        if (unicodedata.category(char) in ("Cc", "Zl", "Zp") and char not in "\t\n")
        or unicodedata.bidirectional(char) in ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")
        or char in "\u200e\u200f\u061c"
    ]


@given(st.text())
def test_no_text_keeps_a_character_that_a_terminal_obeys_and_others_stay(text: str) -> None:
    assert obeyed(visible(text)) == []
    if not obeyed(text):
        assert visible(text) == text


def test_every_character_that_a_terminal_obeys_is_escaped() -> None:
    everything = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    assert obeyed(everything)
    assert obeyed(visible(everything)) == []


@given(st.dictionaries(st.text(), st.text()))
def test_json_is_read_as_it_was_and_obeys_nothing(value: dict[str, str]) -> None:
    line = json_line(value)
    assert obeyed(line) == []
    assert json.loads(line) == value


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_question_and_a_document_reach_the_terminal_without_what_it_obeys(tmp_path: Path, options: list[str]) -> None:
    document = tmp_path / "manual.md"
    unseen = HOSTILE.replace("\x1b", "").replace("\x07", "")  # with those it is no text, and refused
    body = f"# Caja{unseen}\n\nLa caja fuerte se abre a las nueve{unseen} por la mañana.\n"
    document.write_text(body, "utf-8")
    asked = subprocess.run(
        [sys.executable, "-m", "chatbot_mvp.cli", "kb", "ask", str(document), f"caja fuerte {HOSTILE}", *options],
        env={"DATA_DIR": str(tmp_path / "data"), "RETRIEVAL_STRATEGY": "LEXICAL", "PATH": ""},
        capture_output=True,
        check=False,
    )
    for stream in (asked.stdout, asked.stderr):
        assert obeyed(stream.decode("utf-8")) == []
    assert "mañana".encode() in asked.stdout
