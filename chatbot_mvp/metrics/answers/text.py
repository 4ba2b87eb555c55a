"""Answers as text, the way the official HotpotQA script (hotpot_evaluate_v1.py) and SQuAD's before it compare them."""

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
"""The language whose rules are the official script's, to the letter: ASCII punctuation, English articles."""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """One answered question, as far as a comparison with the reference needs it."""

    response: str | None
    """What was answered; None when nothing was (not run, failed): not scored. "" is an answer, a wrong one."""
    gold: str
    """The reference; "" when the data set has none: not scored."""
    answer_type: str = ""
    """"label" (yes/no), "extractive", or "" when the data set does not say."""
    language: str = OFFICIAL

    @property
    def scorable(self) -> bool:
        return self.response is not None and bool(self.gold.strip())

    @property
    def is_label(self) -> bool:
        """A yes/no question, by its type or, as HotpotQA's own files have no type, by its reference."""
        return self.answer_type == "label" or (not self.answer_type and first_label(self.gold, alone=True) is not None)


def normalise(text: str, language: str = OFFICIAL) -> str:
    """Lower case, punctuation deleted (not replaced), articles out, white space to single blanks; in this order.

    An empty text gives "". Other languages than "es" are treated as "en".
    """
    known = language if language in ARTICLES else OFFICIAL
    without = text.lower().translate(_PUNCTUATION[known])
    return " ".join(_ARTICLE[known].sub(" ", without).split())


_LABELS = {"yes": "yes", "sí": "yes", "no": "no"}


def first_label(text: str, alone: bool = False) -> str | None:
    """ "yes" or "no", whichever of yes/sí/no comes first among the words; None when there is none.

    An unaccented "si" is a yes only as the first word: elsewhere it is Spanish for *if*.

    Args:
        alone: take the text for a label only if it is nothing but the word.
    """
    words = text.lower().translate(_PUNCTUATION["es"]).split()
    if alone and len(words) != 1:
        return None
    if words[:1] == ["si"]:
        return "yes"
    return next((_LABELS[word] for word in words if word in _LABELS), None)
