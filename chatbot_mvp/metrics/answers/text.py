"""Normalise answers for comparison, as the official script of the language does.

English: hotpot_evaluate_v1.py of HotpotQA (Yang et al. 2018), whose rule is that of SQuAD. Spanish:
mlqa_evaluation_v1.py of MLQA (Lewis et al. 2020), the rule under which Spanish MLQA and XQuAD are reported.
"""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass

ARTICLES = {
    "en": ("a", "an", "the"),
    "es": ("un", "una", "unos", "unas", "el", "la", "los", "las"),
}
_ARTICLE = {language: re.compile(rf"\b(?:{'|'.join(words)})\b") for language, words in ARTICLES.items()}

OFFICIAL = "en"
"""Language whose rule applies to all languages without a rule of their own."""

RULES = {"en": "hotpot_evaluate_v1", "es": "mlqa_evaluation_v1"}
"""Language -> official script whose rule exact match and F1 follow."""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """An answer and its reference."""

    response: str | None
    """The answer; None if there is none (not run, failed), which is not scored. "" is an answer, and wrong."""
    gold: str
    """The reference; "" if the data set has none, which is not scored."""
    answer_type: str = ""
    """"label" (yes/no), "extractive", or "" if the data set does not say."""
    language: str = OFFICIAL

    @property
    def scorable(self) -> bool:
        return self.response is not None and bool(self.gold.strip())

    @property
    def is_label(self) -> bool:
        """Whether it is a yes/no question, by its type or, if the type is unknown, by its reference."""
        return self.answer_type == "label" or (not self.answer_type and first_label(self.gold, alone=True) is not None)


def normalise(text: str, language: str = OFFICIAL) -> str:
    """Lower the case, delete punctuation, remove articles, and reduce white space to single spaces, in this order.

    An empty text gives "". Languages other than "es" are treated as "en".
    """
    known = language if language in ARTICLES else OFFICIAL
    without = _without_punctuation(text.lower(), known)
    return " ".join(_ARTICLE[known].sub(" ", without).split())


def _without_punctuation(text: str, language: str) -> str:
    """Delete ASCII punctuation, and in Spanish every character of the Unicode categories P as well."""
    return "".join(
        char
        for char in text
        if char not in string.punctuation and (language == OFFICIAL or not unicodedata.category(char).startswith("P"))
    )


_LABELS = {"yes": "yes", "sí": "yes", "no": "no"}


def first_label(text: str, alone: bool = False) -> str | None:
    """Return "yes" or "no", whichever of the words yes/sí/no comes first; None if there is none.

    An unaccented "si" counts as yes only as the first word, since elsewhere it is Spanish for *if*.

    Args:
        alone: accept the label only if it is the text's single word.
    """
    words = _without_punctuation(text.lower(), "es").split()
    if alone and len(words) != 1:
        return None
    if words[:1] == ["si"]:
        return "yes"
    return next((_LABELS[word] for word in words if word in _LABELS), None)
