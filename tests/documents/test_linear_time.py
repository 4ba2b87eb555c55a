"""Every function that reads text of others takes linear time, whatever the text repeats."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from chatbot_mvp.documents.blocks import begins_block, blocks
from chatbot_mvp.documents.chunking import chunk_document, heading_text
from chatbot_mvp.documents.kb_files import join_sources
from chatbot_mvp.documents.names import clean_file_name, clean_name
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.documents.reading.extracted import clean_line, clean_text
from chatbot_mvp.documents.reading.html import html_to_text
from chatbot_mvp.documents.reading.pdf_layout import Line, OutlineEntry, compose
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.texts import read_vtt
from chatbot_mvp.errors import UploadError
from chatbot_mvp.knowledge_base.suggestions import suggest_questions
from chatbot_mvp.retrieval.bridge.names import without_parenthesis
from chatbot_mvp.retrieval.kb.passages import join_pieces
from chatbot_mvp.text import Analyzer, detect_language, fold, sentences
from chatbot_mvp.types import Document
from tests.cases import draws

UNITS = [
    *["\u0301\u0327", "a\u0301\u0327\u0323"],  # sorting the marks of a run takes quadratic time
    *" \t\n#>[(|*_`.-'\"1aIé字ﷺ\u0301\u200b\xa0\u2003&\\<",
    *["<sup>[", "&amp;", "&#", "...", ". ", "a.", "a'", "1.", "- ", "* a\n", "a\n- a\n", "|a|\n", "| |\n", "# a\n"],
    *["## A\n\n", "A\n\n", "1.1 A\n\n", "```\n", "~~~\n## b\n\n", "**a", "*a* ", "_(", "`a`", " \n", "\n\t", "\r\n"],
    *["<!---->", "<!--", "<b>", "<div>", "<td>", "<tr><td>a", "<table>", "<ol><li>", "<li>a", "<br>", "<p hidden>"],
    *[
        "<header>",
        "<a href=x>",
        "<![CDATA[",
        "<pre>",
        "<meta",
        "<mi>a",
        "<v a ",
        "El a es un b",
        "La a de ",
        "Artículo 1 ",
        "http://",
    ],
]
ENDS = [("", ""), ("<sup>[", "x"), ("<p>x", "\nx"), ("# ", " x"), ("<pre>", "</pre>x"), ("<ol>", "</ol>x")]
"""What stands before and behind the repeated text: a search often fails only at the end."""


def _document(text: str) -> Document:
    return Document("d", "t", text)


def _join(text: str) -> None:
    parsed = ParsedText(text, "utf-8", len(text), False, tuple(range(0, len(text), 500)))
    join_sources([("a.md", parsed), ("b.md", parsed)], 10**7)


def _suggest(text: str) -> None:
    for language in ("es", "en"):
        suggest_questions(_document(f"# Uno\n\n{text}\n\n## Dos\n\n{text}"), language, 5)


def _analyse(text: str) -> None:
    for language in ("es", "en"):
        Analyzer(language).terms(text)
        Analyzer(language).words(text)
    detect_language(text)


def _layout(text: str) -> None:
    compose([[Line(text, 11.0, False, 700.0), Line(text, 18.0, True, 680.0)]] * 2, [OutlineEntry(text, 0, 1)])


READERS: dict[str, Callable[[str], object]] = {
    "parse_upload": lambda text: parse_upload("a.txt", text.encode(), 10**7, 100),
    "html_to_text": lambda text: html_to_text("a.html", text),
    "html bytes": lambda text: html_to_text("a.html", text.encode()),
    "subtitles": lambda text: read_vtt(GivenFile("a.srt", f"0:0-->\n{text}".encode(), 1, lambda pages: None)),
    "clean_line": clean_line,
    "clean_text": clean_text,
    "clean_name": clean_name,
    "clean_file_name": clean_file_name,
    "compose": _layout,
    "join_sources": _join,
    "chunk_document": lambda text: chunk_document(_document(text)),
    "join_pieces": lambda text: join_pieces(chunk_document(_document(text))),
    "heading_text": heading_text,
    "blocks": blocks,
    "begins_block": begins_block,
    "suggest_questions": _suggest,
    "sentences": sentences,
    "analyse": _analyse,
    "fold": fold,
    "without_parenthesis": without_parenthesis,
}


@pytest.fixture(autouse=True)
def end_at_last() -> Iterator[None]:
    """A search that takes exponential time would never end."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(280)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def seconds(reader: Callable[[str], object], unit: str, ends: tuple[str, str], chars: int) -> float:
    text = ends[0] + (unit * (chars // len(unit) + 1))[:chars] + ends[1]
    began = time.process_time()
    with suppress(UploadError):
        reader(text)
    return time.process_time() - began


def too_slow(name: str, chars: int, allowed: float, units: list[str], surroundings: list[tuple[str, str]]) -> list[str]:
    """The texts that a reader needs more than ``allowed`` seconds for, measured twice because of other processes."""
    reader = READERS[name]
    found = []
    for unit in units:
        for ends in surroundings:
            took = seconds(reader, unit, ends, chars)
            if took > allowed and min(took, seconds(reader, unit, ends, chars)) > allowed:
                found.append(f"{ends[0]}{unit!r}{ends[1]}: {took:.2f} s")
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in READERS if name != "html bytes"])
def test_a_small_text_of_any_repetition_is_read_at_once(name: str) -> None:
    """A quadratic search of 8,000 characters takes a second; a linear one, a few milliseconds."""
    assert too_slow(name, 8_000, 0.3, UNITS[::5], ENDS) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_time_grows_in_proportion_to_the_text(name: str) -> None:
    """Four times the text takes four times as long; a quadratic search takes sixteen times as long."""
    reader, found, every = READERS[name], [], draws(1, 2)
    for unit in UNITS[list(READERS).index(name) % every :: every]:
        for ends in ENDS:
            small, large = (seconds(reader, unit, ends, chars) for chars in (5_000, 20_000))
            if large > 0.1 + 9 * small:
                small, large = (min(seconds(reader, unit, ends, chars) for _ in range(3)) for chars in (20_000, 80_000))
            if large > 0.1 + 9 * small:
                found.append(f"{ends[0]}{unit!r}{ends[1]}: {small:.3f} s and {large:.3f} s")
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parse_upload", "clean_text", "analyse", "sentences", "heading_text"])
def test_a_million_characters_take_ten_times_as_long_as_a_tenth_of_them(name: str) -> None:
    """A quadratic search takes a hundred times as long."""
    reader, found, every = READERS[name], [], draws(1, 3)
    for unit in UNITS[list(READERS).index(name) % every :: every]:
        small, large = (seconds(reader, unit, ENDS[0], chars) for chars in (100_000, 1_000_000))
        if large > 0.1 + 20 * small:
            found.append(f"{unit!r}: {small:.3f} s and {large:.3f} s")
    assert found == []
