"""Tell the questions that one message asks, so that each can be answered by itself."""

from __future__ import annotations

import re

from chatbot_mvp.text import Analyzer, fold

_ASKING = (
    r"(?:(?:a|ante|con|de|desde|en|hasta|para|por|sobre|at|by|for|from|in|of|on|to|until|with) )?"
    r"(?:qu[eé] (?:hora|d[ií]as?)|qué|qui[eé]n(?:es)?|cu[aá]l(?:es)?|cuándo|cu[aá]nt[oa]s?|d[oó]nde|ad[oó]nde|cómo|"
    r"what|who|whom|whose|which|when|where|why|how)\b"
)
_BETWEEN = re.compile(rf"(?<=\?)\s+|(?:\s*[,;]\s*|\s+)(?:(?:y|e|and)\s+)(?=¿?{_ASKING})|\s*;\s*(?=¿?{_ASKING})", re.I)
_BEGINS = re.compile(
    rf"¿|(?:(?:y|e|and),?\s+)?¿?{_ASKING}|(?:are|can|could|do|does|did|is|may|must|should|will)\b", re.I
)
_ENDS = re.compile(rf".*\b{_ASKING}", re.I)
_NOUN = re.compile(
    r"(?<!\bme )(?<!\bte )(?<!\bse )(?<!\bnos )\b(?:el|la|los|las|del|al|un|una|mi|mis|su|sus|the|my|your) \w.*", re.I
)
_ELLIPSIS = re.compile(
    rf"(?:(?:y|e|and),? )?¿?(?P<asks>{_ASKING}) (?P<verb>.*?)(?P<noun>(?:el|la|los|las|the) \w.*)", re.I
)
"""What is asked, a verb, and of what; the second question may leave out the verb of the first."""
_LEAST_TERMS = 2
"""A part with one term leaves to the other what it is about: "cuánto cuesta y cuándo abre la piscina"."""


def questions_of(message: str, analyzer: Analyzer) -> tuple[str, ...]:
    """Return the questions of a message that asks several, in order; () if it asks one, or if they cannot be told.

    What only one of two names is asked of both: "cuánto cuesta la piscina", "cuándo abre la piscina". So is a verb:
    "quién es el presidente", "quién es la tesorera".
    """
    found = _BETWEEN.split(message.strip())
    if len(found) < 2 or not all(_BEGINS.match(part.strip()) for part in found):
        return ()
    parts = [part.strip(" ¿?,;.") for part in found]
    if len(parts) == 2 and (completed := _completed(parts[0], parts[1], analyzer)):
        return completed
    terms = [len(set(analyzer.terms(part))) for part in parts]
    if min(terms) < _LEAST_TERMS:
        short, longer = sorted(range(len(parts)), key=terms.__getitem__)[:2]
        named = _NOUN.search(parts[longer])
        if (
            len(parts) > 2
            or not terms[short]
            or named is None
            or _NOUN.search(parts[short])
            or _ENDS.fullmatch(parts[short])
        ):
            return ()
        parts[short] += f" {named[0]}"
    return tuple(f"{part}?" for part in parts)


def _completed(first: str, second: str, analyzer: Analyzer) -> tuple[str, ...]:
    """Return two questions of which one has what the other leaves out; () if none leaves out a verb or all."""
    one, other = _ELLIPSIS.fullmatch(first), _ELLIPSIS.fullmatch(second)
    alike = one and other and fold(one["asks"]) == fold(other["asks"])
    if one and other and alike and one["verb"] and not other["verb"]:
        return f"{first}?", f"{other['asks']} {one['verb']}{other['noun']}?"
    behind = re.match(rf"(?:{_ASKING}) (.+)", second, re.I)
    if behind and not analyzer.terms(first):  # "where and when is the feast"
        return f"{first} {behind[1]}?", f"{second}?"
    return ()
