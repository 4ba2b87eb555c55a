"""Find paragraphs of a knowledge base that name another section by its heading ("see Passwords and security")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer, fold

_MIN_LETTERS = 4  # shorter headings occur too often as ordinary words


def named_sections(passages: Sequence[Passage], analyzer: Analyzer) -> list[tuple[int, ...]]:
    """Return for each paragraph the rows of all paragraphs in other sections that it names.

    A paragraph names a section if it contains the last part of its heading word for word, ignoring case and accents.
    """
    rows: dict[str, list[int]] = defaultdict(list)
    for row, passage in enumerate(passages):
        rows[passage.section].append(row)
    headings = {
        section: f" {name} "
        for section in rows
        if len(name := _words(section.rpartition(" > ")[2])) >= _MIN_LETTERS and analyzer.terms(name)
    }
    texts = [f" {_words(passage.text)} " for passage in passages]
    return [
        tuple(
            named
            for section, heading in headings.items()
            if section != passage.section and heading in text
            for named in rows[section]
        )
        for passage, text in zip(passages, texts, strict=True)
    ]


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(text)))
