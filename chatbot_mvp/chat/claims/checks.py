"""All signs that a statement says otherwise than its passage."""

from __future__ import annotations

from dataclasses import replace

from chatbot_mvp.chat.claims.alignment import LONGEST, Aligned
from chatbot_mvp.chat.claims.contrasts import modals, opposites, quantifiers
from chatbot_mvp.chat.claims.denials import denials
from chatbot_mvp.chat.claims.entities import figures, names, replaced, units
from chatbot_mvp.chat.claims.roles import roles
from chatbot_mvp.chat.claims.sign import Sign

_CHECKS = (denials, names, figures, opposites, quantifiers, units, modals, roles, replaced)
_FREE, _LITERAL = 0.3, 0.8
"""Shares of the words in the passage: below the first, a statement is worded so freely that a negation or a comparison
says nothing about it; from the second on, each counts in full."""
_WORDING = ("negation", "quantifier", "comparative", "role")


def signs(aligned: Aligned) -> list[Sign]:
    """Return all signs, in no order."""
    literal = min(1.0, max(0.0, (aligned.share - _FREE) / (_LITERAL - _FREE)))
    found = []
    for check in _CHECKS if len(aligned.statement.tokens) <= LONGEST else (names, figures):
        for sign in check(aligned):
            if sign.kind not in _WORDING:
                found.append(sign)
            elif literal:
                found.append(replace(sign, value=sign.value * literal))
    return found
