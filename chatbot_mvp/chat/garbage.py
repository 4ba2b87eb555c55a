"""Finds what a failing model writes in place of an answer, whatever its sentences say. It never has a tick."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from chatbot_mvp.documents.languages import PARAGRAPH_WORDS, clear_language, tally
from chatbot_mvp.text import normalize, sentences
from chatbot_mvp.types import Chunk

Garbage = Literal["", "fence", "repeated", "script", "language"]
"""fence: a marker of the prompt, or the name of a passage and nothing else. repeated: the same words again and again.
script: letters that neither question nor passages have. language: another language than the one that was asked in."""

_FENCE = re.compile(r"\bdatos-[0-9a-f]{8}\b")
_SENTENCE_WORDS = 4
_ROUND, _ROUNDS = 8, 3
"""So many words in a row are repeated if they occur so often; a sentence, if it occurs twice."""


def garbage_in(text: str, question: str, passages: Sequence[Chunk], answer_in: str = "") -> Garbage:
    """Return what is wrong with the text of a model.

    Args:
        answer_in: language that was asked for, "es" or "en"; "" for the question's.
    """
    said = _words(re.sub(r"\[\d+\]", " ", text))
    if _FENCE.search(text) or any(said == _words(chunk.section) for chunk in passages if ">" in chunk.section):
        return "fence"
    if _repeats(text):
        return "repeated"
    known = _scripts([question, *(chunk.index_text for chunk in passages)])
    if passages and not _scripts([text]) <= known | {"LATIN"}:
        return "script"
    asked = answer_in or clear_language(tally(question), PARAGRAPH_WORDS)
    written = clear_language(tally(text), PARAGRAPH_WORDS)
    return "language" if asked and written and asked != written else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _repeats(text: str) -> bool:
    found = [_words(text[start:end]) for start, end in sentences(text)]
    seen = Counter(" ".join(words) for words in found if len(words) >= _SENTENCE_WORDS)
    words = [word for each in found for word in each]
    rounds = Counter(tuple(words[row : row + _ROUND]) for row in range(len(words) - _ROUND + 1))
    return max(seen.values(), default=0) > 1 or max(rounds.values(), default=0) >= _ROUNDS


def _scripts(texts: Iterable[str]) -> set[str]:
    """Return the scripts of all letters, as the first word of their names: "LATIN", "CYRILLIC", "CJK"."""
    letters = {char for text in texts for char in normalize("NFKC", text) if char.isalpha()}
    return {unicodedata.name(char, "?").split()[0] for char in letters}
