"""Collect the names that a document gives itself.

A name is a sequence of stems. Its bearers are the documents that have it as title or introduce their subject with it
in the first sentence ("Richard Milhous Nixon" in *Richard Nixon*). Stop words are the only word list used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chatbot_mvp.text import Analyzer, Word

Name = tuple[str, ...]

TITLE, LEAD = 0, 1
"""Where a document states a name: as its title, or otherwise."""
MAX_WORDS = 12
"""Longest name in words."""
_LEAD_END = re.compile(r"[(,;:]")


def without_parenthesis(title: str) -> str:
    """Return a title without the parenthesis at its end ("Turin (city)" becomes "Turin"), in linear time."""
    stripped = title.rstrip()
    if not stripped.endswith(")"):
        return title
    begin = stripped.find("(", stripped.rfind(")", 0, -1) + 1)
    return title if begin < 0 else stripped[:begin].rstrip()


def names_of(title: str, first_sentence: str, analyzer: Analyzer) -> dict[Name, tuple[int, tuple[str, ...]]]:
    """Return name -> (kind, form) of the names that a document's title and first sentence give it."""
    found: dict[Name, tuple[int, tuple[str, ...]]] = {}

    def add(words: Sequence[Word], kind: int) -> None:
        name = tuple(word.stem for word in words)
        if not name or len(name) > MAX_WORDS or not all(name) or all(word.is_stop for word in words):
            return
        if sum(map(len, name)) >= 3 and (name not in found or found[name][0] > kind):
            found[name] = (kind, tuple(word.text.lower() for word in words))

    plain = without_parenthesis(title)
    title_words = analyzer.words(plain)
    add(title_words, TITLE)
    if plain != title:
        add(analyzer.words(title), TITLE)
    if "," in plain:
        add(analyzer.words(plain.split(",")[0]), LEAD)
    lead = _lead_name(analyzer.words(_LEAD_END.split(first_sentence, maxsplit=1)[0], 9), title_words)
    if 1 < len(lead) <= 7 and {word.stem for word in title_words} & {word.stem for word in lead}:
        add(lead, LEAD)
    return found


def _lead_name(words: list[Word], title_words: list[Word]) -> list[Word]:
    """Return the capitalised words at the start of a sentence, with the small words between them."""
    while words and words[0].is_stop and not (title_words and words[0].stem == title_words[0].stem):
        words = words[1:]
    last = 0
    for position, word in enumerate(words):
        if word.text[0].isupper() or word.text[0].isdigit():
            last = position + 1
            continue
        name_goes_on = any(following.text[0].isupper() for following in words[position + 1 : position + 3])
        if position - last >= 2 or (word.is_stop and position == last and position and not name_goes_on):
            break
    return words[:last]
