"""All signs that a statement says otherwise than its passage."""

from __future__ import annotations

from dataclasses import replace

from chatbot_mvp.chat.claims.alignment import LONGEST, Aligned
from chatbot_mvp.chat.claims.denials import denials
from chatbot_mvp.chat.claims.entities import figures, names
from chatbot_mvp.chat.claims.sign import Sign

_FREE, _LITERAL = 0.3, 0.8
"""Shares of the words in the passage: below the first, a statement is worded so freely that a negation says nothing
about it; from the second on, each counts in full."""


def signs(aligned: Aligned) -> list[Sign]:
    """Return all signs, in no order."""
    found = [*names(aligned), *figures(aligned)]
    literal = min(1.0, max(0.0, (aligned.share - _FREE) / (_LITERAL - _FREE)))
    if literal and len(aligned.statement.tokens) <= LONGEST:
        found += [replace(sign, value=sign.value * literal) for sign in denials(aligned)]
    return found
