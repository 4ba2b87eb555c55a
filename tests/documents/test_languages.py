"""The language of each paragraph: by its function words, else its file's, else the knowledge base's."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.kb_files import join_sources
from chatbot_mvp.documents.languages import HOMOGRAPHS, clear_language, languages_of, paragraph_languages, tally
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.text import STOP_WORDS
from chatbot_mvp.types import Chunk, Document

SPANISH = """# Vacaciones

Cada persona dispone de veintitrés días de vacaciones, que se piden con una semana de antelación.

Máximo: once meses.

## Permisos

Los permisos se piden por correo y los aprueba la persona responsable del equipo.
"""
ENGLISH = """# Travel

Hotels are booked through the agency, and the company pays for them when the trip is over.

Contact: agency desk.
"""


def chunks_of(*texts: str, suffix: str = "md") -> list[Chunk]:
    parsed = [
        (f"{row}.{suffix}", parse_upload(f"{row}.{suffix}", text.encode(), 10**6, 10)) for row, text in enumerate(texts)
    ]
    text, _ = join_sources(parsed, 10**6)
    return chunk_document(Document("kb", "kb", text))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Cada persona dispone de una semana para ello.", "es"),
        ("Hotels are booked through the agency, and it is paid.", "en"),
        ("¿Qué es eso?", "es"),
        ("Máximo: once meses.", None),
        ("vim-cmd vmsvc/power.off", None),
        ("Ejecute the command para cada one of las VMs.", None),
        ("", None),
    ],
)
def test_a_paragraph_tells_its_language_by_its_function_words_or_not_at_all(text: str, language: str | None) -> None:
    assert clear_language(tally(text), 3) == language


def test_words_that_the_other_language_has_too_tell_nothing() -> None:
    for language, words in HOMOGRAPHS.items():
        assert words <= STOP_WORDS[language]
        assert not tally(" ".join(words))
    assert not tally("a he me no")


def test_a_short_paragraph_is_of_its_files_language_and_a_file_without_function_words_of_the_main_one() -> None:
    chunks = chunks_of(SPANISH, ENGLISH, "# Tabla\n\nHotel 95, taxi 20.")
    found = dict(paragraph_languages(chunks, "es"))
    assert found["Máximo: once meses."] == "es"
    assert found["Contact: agency desk."] == "en"
    assert found["Hotel 95, taxi 20."] == "es"
    assert dict(paragraph_languages(chunks, "en"))["Hotel 95, taxi 20."] == "en"
    assert dict(paragraph_languages(chunks, "en"))["Máximo: once meses."] == "es"


def test_a_paragraph_of_a_mixed_file_has_its_own_language() -> None:
    english = "The hotel is paid by the company if it is booked through the agency of the company."
    chunks = chunks_of(f"{SPANISH}\n{english}\n")
    found = dict(paragraph_languages(chunks, "es"))
    assert found[english] == "en"
    assert [language for text, language in found.items() if text != english] == ["es"] * (len(found) - 1)
    assert languages_of(chunks, "es") == ("es", "en")


def test_one_small_file_in_another_language_makes_a_knowledge_base_mixed() -> None:
    book = "\n\n".join(SPANISH for _ in range(300))
    assert languages_of(chunks_of(book, ENGLISH), "es") == ("es", "en")
    assert languages_of(chunks_of(ENGLISH, book), "en") == ("en", "es")


@pytest.mark.parametrize(
    "foreign",
    [
        "Se dice *out of the box* en la jerga de los proveedores.",
        "    # this is the first of the options, and it is not used",
        "Véase *The Art of War*.",
    ],
)
def test_a_sentence_or_a_comment_in_another_language_does_not(foreign: str) -> None:
    assert languages_of(chunks_of(SPANISH * 12 + f"\n{foreign}\n"), "es") == ("es",)


def test_the_sample_handbook_is_in_one_language() -> None:
    [path] = (PROJECT_ROOT / "data" / "samples" / "kb").glob("*.md")
    assert languages_of(chunks_of(Path(path).read_text("utf-8")), "es") == ("es",)
