"""Measure how far other texts support the sentences of a text, by words alone. Not a substitute for a judge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chatbot_mvp.text import Analyzer, sentences

MIN_SUPPORT = 0.56
"""Support (0-1) from which a sentence counts as supported; the threshold of the chat's citation check."""
_WINDOW = 2  # number of successive sentences that can support one
_MISSING_FIGURE = 0.5
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


def sentence_support(text: str, contexts: Sequence[str], language: str) -> list[tuple[str, float]]:
    """Return (sentence, support in 0-1) for each sentence of ``text`` that has a term, in order.

    Support is the largest share of the sentence's distinct terms that two successive sentences of a context have. It is
    halved if the context lacks a number of the sentence.
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
