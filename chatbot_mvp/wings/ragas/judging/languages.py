"""Names of languages: this project's codes ("es") and the English names that the ragas package's users write."""

from __future__ import annotations

import re

from chatbot_mvp.languages import STEMMERS
from chatbot_mvp.text import LANGUAGES

_NAMES = {
    **LANGUAGES,
    **STEMMERS,
    "bg": "bulgarian",
    "gl": "galician",
    "he": "hebrew",
    "hr": "croatian",
    "ja": "japanese",
    "ko": "korean",
    "lv": "latvian",
    "sk": "slovak",
    "sl": "slovenian",
    "uk": "ukrainian",
    "vi": "vietnamese",
    "zh": "chinese",
}
"""ISO 639-1 code -> English name, which is also that of its stemming algorithm."""
_CODES = {name: code for code, name in _NAMES.items()}
_WELL_FORMED = re.compile(r"\w[\w -]{0,39}")


def is_language(text: str) -> bool:
    """Return whether ``language_code`` takes a text."""
    return _WELL_FORMED.fullmatch(text.strip().lower()) is not None


def language_code(language: str) -> str:
    """Return the code of a language given by code or English name ("Spanish" -> "es").

    A language that is in neither list is its own code, in small letters.

    Raises:
        ValueError: the text cannot be part of a file name.
    """
    name = language.strip().lower()
    if not is_language(name):
        raise ValueError("a language has letters, digits, blanks and hyphens")
    return _CODES.get(name, name)


def language_name(code: str) -> str:
    """Return the English name of a language in small letters, as files of prompts have it ("es" -> "spanish")."""
    return _NAMES.get(code, code)


def spellings(code: str) -> tuple[str, ...]:
    """Return how a language may be written at the end of a file name, the usual spelling first."""
    return tuple(dict.fromkeys((language_name(code), code)))
