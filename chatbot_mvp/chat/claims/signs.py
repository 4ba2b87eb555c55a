"""Find the signs that a statement says otherwise than its passage: names, figures and negations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from chatbot_mvp.chat.claims.alignment import LONGEST, Aligned
from chatbot_mvp.chat.claims.quantities import Quantity

Kind = Literal["negation", "name", "figure", "date"]
_FREE, _LITERAL = 0.3, 0.8
"""Shares of the words in the passage: below the first, a statement is worded so freely that a negation says nothing
about it; from the second on, each counts in full."""
_WHOLE = 1.5
"""A clause with two thirds of a statement's weight counts as all of it."""
_FIGURES = 40
"""Figures of a statement that are compared: no sentence of a person has more."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign that a statement says otherwise than its passage."""

    name: str
    """Which sign it is: what its weight is fitted by."""
    kind: Kind
    value: float
    """How plain it is, 0-1."""
    said: str = ""
    """Words of the statement; "" if it is the passage alone that has some."""
    source: str = ""
    """Words of the passage; "" if it has none."""


def signs(aligned: Aligned) -> list[Sign]:
    """Return all signs, in no order."""
    found = [*names(aligned), *figures(aligned)]
    literal = min(1.0, max(0.0, (aligned.share - _FREE) / (_LITERAL - _FREE)))
    if literal and len(aligned.statement.tokens) <= LONGEST:
        found += [replace(sign, value=sign.value * literal) for sign in denials(aligned)]
    return found


def names(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of names that the passage does not have."""
    for row, token in enumerate(aligned.statement.tokens):
        if not aligned.rows[row] and aligned.is_name(row):
            yield Sign("name_absent", "name", 1.0, token.text)


def figures(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of figures that the passage does not have, or in whose place it has another one."""
    there = aligned.source.reading.figures
    window = {aligned.token(row).start for row in aligned.window}
    for figure in aligned.statement.figures[:_FIGURES]:
        near = [one for one in there if one.start in window]
        if any(_equal(figure, one) for one in near):
            continue
        alike = [one for one in near if one.kind == figure.kind and _fits(figure, one)]
        if alike or not any(_equal(figure, one) for one in there):
            name, other = ("figure_rival", alike[0].written) if alike else ("figure_absent", "")
            dated = figure.kind in ("month", "day", "year")
            yield Sign(name, "date" if dated else "figure", 1.0, figure.written, other)


def _equal(one: Quantity, other: Quantity) -> bool:
    if one.value == other.value and (one.kind == other.kind or {one.kind, other.kind} <= {"", "year"}):
        return True
    if one.kind == other.kind == "time" and isinstance(one.value, float) and isinstance(other.value, float):
        return bool(one.value) and 0.97 < other.value / one.value < 1.04  # a month has 30 or 31 days
    return "" in (one.kind, other.kind) and _bare(one) == _bare(other) != ""


def _bare(one: Quantity) -> str:
    return "".join(char for char in one.written if char.isdigit() or char in ".,:")


def _fits(one: Quantity, other: Quantity) -> bool:
    """Return whether two figures of one kind count the same thing, as far as is known."""
    return bool(one.kind) or not one.unit or not other.unit or one.unit[:5] == other.unit[:5]


def denials(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of negations."""
    statement, source = aligned.statement, aligned.source.reading
    clauses: dict[int, list[tuple[int, int]]] = {}
    for row, at in aligned.pairs:
        clauses.setdefault(statement.tokens[row].clause, []).append((row, at))
    beside = any(aligned.token(at).clause in source.denied for at in aligned.window)
    for clause, pairs in clauses.items():
        weight = sum(aligned.weights[row] for row, _ in pairs)
        there = sum(aligned.weights[row] for row, at in pairs if source.tokens[at].clause in source.denied) / weight
        size = min(1.0, _WHOLE * weight / sum(aligned.weights))
        if clause in statement.denied and there < 0.5:
            said = _clause_text(aligned, clause)
            yield Sign("denied_beside" if beside else "denied", "negation", size * (1 - there), said)
        if clause not in statement.denied and there > 0.5:
            yield Sign("denied_there", "negation", size * there, "", _clause_text(aligned, clause))
        yield from _verbs(aligned, clause, pairs)


def _verbs(aligned: Aligned, clause: int, pairs: list[tuple[int, int]]) -> Iterator[Sign]:
    """Yield the signs of the words of a clause that a negation stands before on one side only."""
    statement, source = aligned.statement, aligned.source.reading
    denied = {token.sentence for token in source.tokens if token.clause in source.denied}
    sentences = Counter[int]()
    for row, at in pairs:
        sentences[aligned.token(at).sentence] += round(1000 * aligned.weights[row])
    chief = sentences.most_common(1)[0][0]
    for row, at in pairs:
        here, there, word = row in statement.heads, at in source.heads, aligned.token(at)
        if here == there or (clause in statement.denied) == (word.clause in source.denied):
            continue
        if here and word.sentence != chief and chief in denied:
            continue  # the sentence that says most of the clause denies it too, in other words
        name = "head_there" if there else "head_beside" if word.sentence in denied else "head"
        said = statement.tokens[row].text
        yield Sign(name, "negation", 1.0, "" if there else said, said if there else "")


def _clause_text(aligned: Aligned, clause: int) -> str:
    tokens = [token for token in aligned.statement.tokens if token.clause == clause]
    return aligned.statement.text[tokens[0].start : tokens[-1].start + len(tokens[-1].text)] if tokens else ""
