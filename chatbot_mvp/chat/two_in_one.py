"""Tell the questions that one message asks, so that each can be answered by itself."""

from __future__ import annotations

import re

from chatbot_mvp.text import Analyzer

_ASKING = (
    r"(?:(?:a|ante|con|de|desde|en|hasta|para|por|sobre|at|by|for|from|in|of|on|to|until|with) )?"
    r"(?:qué|quién(?:es)?|cuál(?:es)?|cuándo|cuánt[oa]s?|d[oó]nde|ad[oó]nde|cómo|"
    r"what|who|whom|whose|which|when|where|why|how)\b"
)
_BETWEEN = re.compile(rf"(?<=\?)\s+|(?:\s*[,;]\s*|\s+)(?:(?:y|e|and)\s+)(?=¿?{_ASKING})|\s*;\s*(?=¿?{_ASKING})", re.I)
_BEGINS = re.compile(
    rf"¿|(?:(?:y|e|and),?\s+)?¿?{_ASKING}|(?:are|can|could|do|does|did|is|may|must|should|will)\b", re.I
)
_LEAST_TERMS = 2
"""A part with fewer terms leaves to the other what it is about: "cuándo abre"."""


def questions_of(message: str, analyzer: Analyzer) -> tuple[str, ...]:
    """Return the questions of a message that asks several, in order; () if it asks one, or if they cannot be told."""
    parts = _BETWEEN.split(message.strip())
    alone = len(parts) > 1 and all(
        _BEGINS.match(part.strip()) and len(set(analyzer.terms(part))) >= _LEAST_TERMS for part in parts
    )
    return tuple(part.strip(" ¿?,;.") + "?" for part in parts) if alone else ()
