"""Normalise answers for comparison, as the official scripts of HotpotQA (hotpot_evaluate_v1.py) and SQuAD do."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

ARTICLES = {
    "en": ("a", "an", "the"),
    "es": ("el", "la", "los", "las", "un", "una", "unos", "unas", "lo"),
}
_ARTICLE = {language: re.compile(rf"\b(?:{'|'.join(words)})\b") for language, words in ARTICLES.items()}
_PUNCTUATION = {
    "en": str.maketrans("", "", string.punctuation),
    "es": str.maketrans("", "", string.punctuation + "¿¡«»“”‘’…—–"),
}

OFFICIAL = "en"
"""Language whose rules equal the official script's exactly: ASCII punctuation, English articles."""


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
    without = text.lower().translate(_PUNCTUATION[known])
    return " ".join(_ARTICLE[known].sub(" ", without).split())


_LABELS = {"yes": "yes", "sí": "yes", "no": "no"}


def first_label(text: str, alone: bool = False) -> str | None:
    """Return "yes" or "no", whichever of the words yes/sí/no comes first; None if there is none.

    An unaccented "si" counts as yes only as the first word, since elsewhere it is Spanish for *if*.

    Args:
        alone: accept the label only if it is the text's single word.
    """
    words = text.lower().translate(_PUNCTUATION["es"]).split()
    if alone and len(words) != 1:
        return None
    if words[:1] == ["si"]:
        return "yes"
    return next((_LABELS[word] for word in words if word in _LABELS), None)
