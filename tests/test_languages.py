"""Words of many languages: every stemmer that there is, stop words, marks inside of words, elisions."""

from __future__ import annotations

from typing import get_args

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.app import App
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.languages import STEMMERS, STOP_WORDS
from chatbot_mvp.settings.kinds import CorpusLanguage
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import LANGUAGES, Analyzer

SAME_WORD = {
    "ar": ("الكتب", "كتب"),
    "ca": ("l'escola", "escoles"),
    "de": ("Häuser", "Haus"),
    "fr": ("l'élève", "élèves"),
    "hi": ("किताबें", "किताब"),
    "it": ("dell'isola", "isole"),
    "ne": ("किताबहरू", "किताब"),
    "nl": ("boeken", "boek"),
    "pt": ("bibliotecas", "biblioteca"),
    "ru": ("библиотеках", "библиотека"),
    "sv": ("husen", "hus"),
    "ta": ("புத்தகங்கள்", "புத்தகம்"),
    "tr": ("kitaplar", "kitap"),
}
OTHER_WORD = {"de": ("Haus", "Maus"), "fr": ("école", "élève"), "hi": ("किताब", "कलम"), "ru": ("книга", "школа")}


def test_every_language_of_the_stemmer_can_be_set() -> None:
    """The Porter algorithms are older ones of English and Dutch."""
    ours = {*LANGUAGES.values(), *STEMMERS.values()}
    assert set(Stemmer.algorithms()) - {"porter", "dutch_porter"} <= ours
    assert set(get_args(CorpusLanguage)) == {"", *LANGUAGES, *STEMMERS}


@pytest.mark.parametrize("language", [*LANGUAGES, *STEMMERS])
def test_each_language_has_a_setting_and_a_key_of_its_own(settings: Settings, language: str) -> None:
    assert settings.with_changes(retrieval_bm25_language=language).retrieval_bm25_language == language
    assert Analyzer(language).key.startswith(f"{language}-")


def test_another_language_is_refused_with_those_that_are_legal(settings: Settings) -> None:
    with pytest.raises(InvalidSetting, match=r"RETRIEVAL_BM25_LANGUAGE='xx'.*'de'.*'pt'"):
        settings.with_changes(retrieval_bm25_language="xx")


@pytest.mark.parametrize("language", SAME_WORD)
def test_forms_of_a_word_are_one_term(language: str) -> None:
    one, other = (Analyzer(language).terms(word) for word in SAME_WORD[language])
    assert len(one) == 1
    assert one == other


@pytest.mark.parametrize("language", OTHER_WORD)
def test_different_words_stay_different_terms(language: str) -> None:
    one, other = (Analyzer(language).terms(word) for word in OTHER_WORD[language])
    assert one != other


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_are_no_terms(language: str) -> None:
    analyzer = Analyzer(language)
    assert [word for word in STOP_WORDS[language] if analyzer.terms(word) or analyzer.terms(word.upper())] == []


def test_accents_do_not_hide_a_stop_word() -> None:
    assert Analyzer("de").terms("für über können") == []
    assert Analyzer("fr").terms("à même où") == []
    assert Analyzer("pt").terms("não é também") == []


@pytest.mark.parametrize("language", STEMMERS)
@given(text=st.text(max_size=60))
def test_a_term_is_one_word_of_any_text(language: str, text: str) -> None:
    assert all(term and not any(char.isspace() for char in term) for term in Analyzer(language).terms(text))


def test_a_run_in_german_finds_by_german_stems_and_asks_in_english(app: App) -> None:
    """The corpus is Spanish, so its words are stemmed otherwise; prompts and the demo's answers work all the same."""
    changes = {"retrieval_strategy": "LEXICAL", "eval_max_queries": 5, "generation_enabled": True}
    german = app.runs.run_now(**changes, retrieval_bm25_language="de")
    detected = app.runs.run_now(**changes)
    assert german.fingerprint != detected.fingerprint
    assert not german.failures
    assert all(row.response is not None for row in german.per_query)
