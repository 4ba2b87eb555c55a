"""Analyse each text of one answer once."""

from __future__ import annotations

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.text import LANGUAGES, Analyzer, Word, detect_language


class Reader:
    """Turns texts of one language into words and terms, and keeps the results. Make one for each answer.

    Args:
        language: of the question.
        analyzer: analyses the texts; None for that of ``language``.
    """

    def __init__(self, language: str, analyzer: Analyzer | None = None) -> None:
        self.analyzer = analyzer or Analyzer(language)
        main = language if language in self.analyzer.languages else self.analyzer.language
        self.language = main if main in LANGUAGES else "en"
        """The language whose question words are known, "es" or "en"; English for every other one."""
        self._words: dict[str, list[Word]] = {}
        self._terms: dict[str, frozenset[str]] = {}

    def words(self, text: str) -> list[Word]:
        """Return all words of a text in order, stop words included."""
        if text not in self._words:
            self._words[text] = self.analyzer.words(text)
        return self._words[text]

    def terms(self, text: str) -> frozenset[str]:
        """Return the terms of a text, without stop words."""
        if text not in self._terms:
            self._terms[text] = frozenset(word.stem for word in self.words(text) if not word.is_stop)
        return self._terms[text]

    def ordered_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a text in order, without stop words."""
        return list(dict.fromkeys(word.stem for word in self.words(text) if not word.is_stop))


def reader_of(grounding: Grounding) -> Reader:
    """Return the reader of a proof: a question in a language that no passage is said to have is read in its own."""
    reader, own = Reader(grounding.language, grounding.analyzer), detect_language(grounding.question)
    known = {own, reader.analyzer.language} <= {*LANGUAGES} and own not in reader.analyzer.languages
    return Reader(own) if known and any(word.is_stop for word in Analyzer(own).words(grounding.question)) else reader
