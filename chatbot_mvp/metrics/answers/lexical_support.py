"""How far a text's sentences stand in other texts, by their words alone. No judge, and no substitute for one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chatbot_mvp.text import Analyzer, sentences

MIN_SUPPORT = 0.56
"""Support from which on a sentence counts as supported: what the chat's check of citations was measured to."""
_WINDOW = 2  # sentences in a row that may support one
_MISSING_FIGURE = 0.5
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


def sentence_support(text: str, contexts: Sequence[str], language: str) -> list[tuple[str, float]]:
    """(sentence, support 0-1) of each sentence of ``text`` that has a term, in order.

    Support is the share of the sentence's distinct terms in the two successive sentences of a context that have most of
    them; halved if a figure of the sentence does not stand in that context.
    """
    analyzer = Analyzer(language)
    windows = [
        (frozenset(analyzer.terms(window)), frozenset(_NUMBER.findall(context)))
        for context in contexts
        for window in _windows(context)
    ]
    result = []
    for start, end in sentences(text):
        sentence = text[start:end]
        terms = set(analyzer.terms(sentence))
        if not terms:
            continue
        figures = set(_NUMBER.findall(sentence))
        best = max(
            (
                len(terms & present) / len(terms) * (1.0 if figures <= there else _MISSING_FIGURE)
                for present, there in windows
            ),
            default=0.0,
        )
        result.append((sentence, best))
    return result


def _windows(text: str) -> list[str]:
    spans = sentences(text)
    return [text[start : spans[min(row + _WINDOW, len(spans)) - 1][1]] for row, (start, _) in enumerate(spans)]
