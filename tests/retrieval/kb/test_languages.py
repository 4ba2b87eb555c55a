"""The analysis of a knowledge base in two languages: a word has one term, wherever it stands."""

from __future__ import annotations

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.kb.languages import MixedAnalyzer, analyzer_of
from chatbot_mvp.retrieval.kb.vocabulary import build_bm25_index
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Document

SPANISH = (
    "Los servidores se apagan con cuidado y las máquinas virtuales después. Once personas son las que pueden hacerlo.",
    "El error más frecuente es que la instantánea no se guarda por falta de espacio en el disco.",
)
ENGLISH = (
    "The machines are powered off with a command, and the running snapshots are deleted once they are old.",
    "DOS and other systems are not supported. An error is written to the log of the host if the son process ends.",
)
PARAGRAPHS = [*((text, "es") for text in SPANISH), *((text, "en") for text in ENGLISH)]
MIXED = MixedAnalyzer(("es", "en"), PARAGRAPHS)


def chunks_of(*files: str) -> list[Chunk]:
    text = "\n\n".join(f"# Archivo {row}\n\n{file}" for row, file in enumerate(files))
    return chunk_document(Document("kb", "kb", text))


@pytest.mark.parametrize("language", ["es", "en"])
def test_a_knowledge_base_of_one_language_has_the_analyzer_that_it_always_had(language: str) -> None:
    found = analyzer_of(chunks_of(*(SPANISH if language == "es" else ENGLISH) * 4), language)
    assert type(found) is Analyzer
    assert found.key == Analyzer(language).key


def test_each_paragraph_has_the_terms_of_its_own_language() -> None:
    for text, language in PARAGRAPHS:
        assert MIXED.terms(text) == Analyzer(language).terms(text)
        assert [word.is_stop for word in MIXED.words(text)] == [word.is_stop for word in Analyzer(language).words(text)]


def test_the_paragraphs_of_one_text_are_told_apart() -> None:
    both = "\n\n".join((SPANISH[0], ENGLISH[1]))
    assert MIXED.terms(both) == Analyzer("es").terms(SPANISH[0]) + Analyzer("en").terms(ENGLISH[1])


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("¿Cómo apago una máquina virtual?", ["apag", "maquin", "virtual"]),
        ("como apago el servidor", ["apag", "servidor"]),
        ("How do I power off the machine?", ["power", "machin"]),
        ("¿Cómo borro un snapshot?", ["borr", "snapshot"]),
        ("¿Qué son once servidores?", ["once", "servidor"]),
        ("When is it deleted once more?", ["delet"]),
        ("Is DOS supported?", ["dos", "support"]),
        ("¿Para qué son los dos servidores?", ["servidor"]),
    ],
)
def test_function_words_of_both_languages_are_no_terms_and_words_meet_the_paragraphs_that_have_them(
    question: str, terms: list[str]
) -> None:
    assert MIXED.terms(question) == terms


def test_a_word_that_nobody_wrote_takes_the_stem_that_the_knowledge_base_has() -> None:
    assert MIXED.home_of("snapshot") == "en"
    assert MIXED.home_of("apagar") == "es"
    assert MIXED.home_of("xyz") == "es"
    assert MixedAnalyzer(("en", "es"), PARAGRAPHS).home_of("xyz") == "en"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("¿Cómo apago una VM?", "es"),
        ("como apago una VM", "es"),
        ("How do I power off a VM?", "en"),
        ("running snapshots", "en"),
        ("servidores", "es"),
        ("VM", "es"),
        ("", "es"),
    ],
)
def test_a_question_is_answered_in_its_language(text: str, language: str) -> None:
    assert MIXED.language_of(text) == language
    assert Analyzer("en").language_of(text) == "en"


def test_equal_knowledge_bases_have_equal_keys_and_others_do_not() -> None:
    assert MixedAnalyzer(("es", "en"), reversed(PARAGRAPHS)).key == MIXED.key
    assert MixedAnalyzer(("es", "en"), PARAGRAPHS[1:]).key != MIXED.key
    assert MixedAnalyzer(("en", "es"), PARAGRAPHS).key != MIXED.key


def test_a_misspelt_word_is_compared_by_the_sounds_of_the_language_that_it_is_of() -> None:
    chunks = chunks_of(" ".join(SPANISH) + " La llave está en la caja.", " ".join(ENGLISH) + " The knife is sharp.")
    index = build_bm25_index(chunks, analyzer_of(chunks, "es"))
    assert index.analyzer.languages == ("es", "en")
    assert index.spellings.nearest("yave") == "llave"
    assert index.spellings.nearest("nife") == "knife"


def test_limits_and_single_words_are_those_of_any_analyzer() -> None:
    assert [word.text for word in MIXED.words(SPANISH[0], 3)] == ["Los", "servidores", "se"]
    assert MIXED.words(SPANISH[0], 0) == []
    assert MIXED.word("servidores").stem == "servidor"
    assert not MIXED.word("servidores").is_stop
    assert MIXED.word("the").is_stop
    assert MIXED.content_words("los servidores") == [("servidores", "servidor")]
