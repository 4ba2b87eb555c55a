"""Find the names and figures of a statement that its passage has otherwise, elsewhere, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.quantities import UNIT_WORDS, Quantity
from chatbot_mvp.chat.claims.sign import Kind, Sign

_BESIDE = 5
"""Words between a figure and what it counts, at most."""
_FIGURES = 40
"""Figures of a statement that are compared: no sentence of a person has more."""
_SLACK = 2
"""How many more words the passage may have between two neighbours than the statement."""


def names(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of names that the passage, or the place that a statement is about, does not have."""
    tokens = aligned.statement.tokens
    for row, token in enumerate(tokens):
        if not aligned.is_name(row) or aligned.source.places.negated(token):
            continue
        if not aligned.rows[row]:
            if token.first and not (tokens[row + 1 : row + 2] and aligned.is_name(row + 1)):
                yield Sign("first_absent", "name", 1.0, token.text)
            else:
                yield Sign("name_absent", "name", 1.0, token.text)
        elif aligned.at[row] is None:
            yield Sign("name_elsewhere", "name", 1.0, token.text)


def figures(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of figures, with their units, bounds and dates."""
    source = aligned.source.reading
    inside_starts = {source.tokens[row].start for row in aligned.window}
    inside = [one for one in source.figures if one.start in inside_starts]
    own = {token.start: row for row, token in enumerate(aligned.statement.tokens)}
    for figure in aligned.statement.figures[:_FIGURES]:
        dated = figure.kind in ("month", "day", "year")
        kind: Kind = "date" if dated else "figure"
        same = [one for one in inside if _equal(figure, one)]
        if same:
            if figure.rate and all(figure.rate != one.rate for one in same):
                rated = [one for one in same if one.rate]
                yield Sign("other_rate" if rated else "rate", "unit", 1.0, figure.written, (rated or same)[0].written)
            elif not dated and not any(_fits(figure, one) for one in same):
                if figure.kind:
                    yield Sign("other_unit", "unit", 1.0, figure.written, same[0].written)
                elif _counts_other(aligned, own.get(figure.start), same):
                    yield Sign("other_noun", "figure", 1.0, figure.written, same[0].written)
            elif (
                figure.bound
                and all(one.bound and _against(figure.bound, one.bound) for one in same)
                and not _denied_apart(aligned, own.get(figure.start), same[0])
            ):
                yield Sign("bound", "quantifier", 1.0, figure.bounded, same[0].bounded)
            continue
        rivals = [one for one in inside if one.kind == figure.kind and _fits(figure, one)]
        other = rivals[0].written if rivals else ""
        if any(_equal(figure, one) for one in source.figures):
            yield Sign("figure_elsewhere", kind, 1.0, figure.written, other)
        elif figure.value == 1.0 and not figure.written[0].isdigit():
            yield Sign("one_absent", kind, 1.0, figure.written, other)
        elif rivals:
            yield Sign("figure_rival", kind, 1.0, figure.written, other)
        else:
            yield Sign("figure_absent", kind, 1.0, figure.written)


def _denied_apart(aligned: Aligned, row: int | None, other: Quantity) -> bool:
    """Return whether only one of two figures stands in a clause that denies: "not under 18" is "over 18"."""
    source = aligned.source.reading
    clauses = [token.clause for token in source.tokens if token.start == other.start]
    here = row is not None and aligned.statement.tokens[row].clause in aligned.statement.denied
    return bool(clauses) and (clauses[0] in source.denied) != here


def _counts_other(aligned: Aligned, row: int | None, same: list[Quantity]) -> bool:
    """Return whether the noun behind a figure of the statement stands in the window, but beside none of its places."""
    if row is None:
        return False
    nouns = [at for other in (row + 1, row + 2) if other < len(aligned.rows) for at in aligned.inside(other)]
    starts = {one.start for one in same}
    places = [at for at in aligned.window if aligned.token(at).start in starts]
    return bool(nouns and places) and all(abs(at - place) > _BESIDE for at in nouns for place in places)


def _equal(one: Quantity, other: Quantity) -> bool:
    if one.value == other.value and ({one.kind, other.kind} <= {"", "year"} or one.kind == other.kind):
        return True
    if isinstance(one.value, float) and isinstance(other.value, float):
        if one.kind == other.kind == "time" and one.value and 0.97 < other.value / one.value < 1.04:
            return True  # a month has 30 or 31 days
        bare = _bare(one)
        return one.kind != other.kind and bare == _bare(other) and bare is not None
    return False


def _bare(one: Quantity) -> str | None:
    digits = "".join(char for char in one.written if char.isdigit() or char in ".,:")
    return digits or None


def _fits(one: Quantity, other: Quantity) -> bool:
    """Return whether two figures count the same thing, as far as is known."""
    if one.kind or other.kind:
        return one.kind == other.kind or not one.unit or not other.unit
    return not one.unit or not other.unit or one.unit[:5] == other.unit[:5]


def _against(one: str, other: str) -> bool:
    return {one, other} in ({"least", "most"}, {"more", "less"}, {"least", "less"}, {"more", "most"})


def units(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of units without a figure."""
    source = aligned.source.reading
    there = {UNIT_WORDS[plain] for row in aligned.window if (plain := source.tokens[row].plain) in UNIT_WORDS}
    for row, token in enumerate(aligned.statement.tokens):
        if (
            (unit := UNIT_WORDS.get(token.plain))
            and len(token.plain) > 2
            and aligned.at[row] is None
            and unit not in there
        ):
            if any(token.text in one.written for one in aligned.statement.figures):
                continue  # compared with its figure
            rival = [one for one in there if one[0] == unit[0]]
            yield Sign("unit_rival" if rival else "unit_absent", "unit", 1.0, token.text)


def replaced(aligned: Aligned) -> Iterator[Sign]:
    """Yield a sign for a name or figure in whose place, between the same words, the passage has another one."""
    statement, source = aligned.statement.tokens, aligned.source.reading.tokens
    figured = {one.start for one in aligned.statement.figures}
    figured_there = {one.start for one in aligned.source.reading.figures}
    content = [row for row in range(len(statement)) if aligned.weights[row]]
    matched = {at for _, at in aligned.pairs}
    for left, row, right in zip(content, content[1:], content[2:], strict=False):
        figure = statement[row].start in figured
        low, high = aligned.at[left], aligned.at[right]
        if low is None or high is None or not 1 < high - low <= right - left + _SLACK:
            continue
        between = range(low + 1, high)
        if any(at in between for at in aligned.rows[row]) or not (figure or aligned.is_name(row)):
            continue
        for at in between:
            alike = source[at].start in figured_there if figure else source[at].text[0].isupper()
            if alike and not source[at].stop and at not in matched:
                kind: Kind = "figure" if figure else "name"
                yield Sign("replaced", kind, 1.0, statement[row].text, source[at].text)
                break
