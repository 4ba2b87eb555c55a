"""The checks: each looks at one way in which a statement can say otherwise than its passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.lexicon import COMPARING, EXCEPT, MODALS, OPPOSITES, QUANTIFIERS
from chatbot_mvp.chat.claims.quantities import UNIT_WORDS, Quantity
from chatbot_mvp.chat.claims.reading import Token, denies

BESIDE = 5
"""Words between a figure and what it counts, at most."""
_SLACK = 2
"""How many more words the passage may have between two neighbours than the statement."""
_FREE, _LITERAL = 0.3, 0.8
"""Shares of the words in the passage: below the first, a statement is worded so freely that a negation or a comparison
says nothing about it; from the second on, each counts in full."""
_WORDING = ("negation", "quantifier", "comparative", "role")
_CLAUSE = 5
_SWAP = 0.05
"""How much better two words have to fit in each other's place, as a share of both misfits."""
_AND = frozenset("y e and o or".split())
Kind = Literal["negation", "name", "figure", "unit", "date", "quantifier", "comparative", "role"]


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
    found = [
        *_denials(aligned),
        *_names(aligned),
        *_figures(aligned),
        *_opposites(aligned),
        *_quantifiers(aligned),
        *_units(aligned),
        *_modals(aligned),
        *_roles(aligned),
        *_replaced(aligned),
    ]
    literal = min(1.0, max(0.0, (aligned.share - _FREE) / (_LITERAL - _FREE)))
    return [
        replace(sign, value=sign.value * literal) if sign.kind in _WORDING else sign
        for sign in found
        if sign.kind not in _WORDING or literal
    ]


def _denials(aligned: Aligned) -> Iterator[Sign]:
    statement, source = aligned.statement, aligned.source.reading
    clauses: dict[int, list[tuple[float, bool]]] = {}
    for row, at in aligned.pairs:
        denied = source.tokens[at].clause in source.denied
        clauses.setdefault(statement.tokens[row].clause, []).append((aligned.weights[row], denied))
    total = sum(aligned.weights) or 1.0
    for clause, found in clauses.items():
        weight = sum(one for one, _ in found)
        share = sum(one for one, denied in found if denied) / weight if weight else 0.0
        size = min(1.0, 1.5 * weight / total)
        said = _clause_text(aligned, clause)
        if clause in statement.denied and share < 0.5 and not _said_by_opposite(aligned, clause):
            beside = any(aligned.token(at).clause in source.denied for at in aligned.window)
            yield Sign("denied_beside" if beside else "denied", "negation", size * (1 - share), said)
        if clause not in statement.denied and share > 0.5 and not _said_by_opposite(aligned, clause):
            yield Sign("denied_there", "negation", size * share, "", said)
    denied_there = [token for token in source.tokens if token.clause in source.denied]
    for row, at in aligned.pairs:
        here, there = row in statement.heads, at in source.heads
        if here != there:
            one, other = statement.tokens[row].clause in statement.denied, source.tokens[at].clause in source.denied
            if one != other and not _said_by_opposite(aligned, statement.tokens[row].clause):
                beside = any(token.sentence == source.tokens[at].sentence for token in denied_there)
                name = "head_there" if there else "head_beside" if beside else "head"
                yield Sign(name, "negation", 1.0, statement.tokens[row].text)
    for row, token in enumerate(statement.tokens):
        if aligned.at[row] is None and (found := aligned.source.places.negated(token)):
            inside = [at for at in found if at in aligned.window]
            if inside:
                other = source.tokens[inside[0]]
                if (token.clause in statement.denied) == (other.clause in source.denied):
                    yield Sign("prefix", "negation", 1.0, token.text, other.text)


def _said_by_opposite(aligned: Aligned, clause: int) -> bool:
    """Return whether the passage says a clause by an opposite word with the opposite denial ("not open", "closed")."""
    statement, source = aligned.statement, aligned.source.reading
    denied = clause in statement.denied
    for token in statement.tokens:
        if token.clause == clause and (others := OPPOSITES.get(token.plain)):
            for row in aligned.window:
                other = source.tokens[row]
                if other.plain in others and not denies(other) and (other.clause in source.denied) != denied:
                    return True
    return False


def _clause_text(aligned: Aligned, clause: int) -> str:
    tokens = [token for token in aligned.statement.tokens if token.clause == clause]
    return aligned.statement.text[tokens[0].start : tokens[-1].start + len(tokens[-1].text)] if tokens else ""


def is_name(aligned: Aligned, row: int) -> bool:
    """Return whether a word of the statement is part of a name."""
    token = aligned.statement.tokens[row]
    if not token.text[0].isupper() or token.stop or len(token.text) < 2:
        return False
    if not token.first:
        return True
    there = [aligned.token(at).text[0].isupper() for at in aligned.rows[row]]
    following = aligned.statement.tokens[row + 1 : row + 2]
    return any(there) or (not there and bool(following) and following[0].text[0].isupper())


def _names(aligned: Aligned) -> Iterator[Sign]:
    tokens = aligned.statement.tokens
    for row, token in enumerate(tokens):
        if not is_name(aligned, row) or aligned.source.places.negated(token):
            continue
        if not aligned.rows[row]:
            if token.first and not (tokens[row + 1 : row + 2] and is_name(aligned, row + 1)):
                yield Sign("first_absent", "name", 1.0, token.text)
            else:
                yield Sign("name_absent", "name", 1.0, token.text)
        elif aligned.at[row] is None:
            yield Sign("name_elsewhere", "name", 1.0, token.text)


def _figures(aligned: Aligned) -> Iterator[Sign]:
    source = aligned.source.reading
    inside_starts = {source.tokens[row].start for row in aligned.window}
    inside = [one for one in source.figures if one.start in inside_starts]
    own = {token.start: row for row, token in enumerate(aligned.statement.tokens)}
    for figure in aligned.statement.figures:
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
                    yield Sign("other_noun", "role", 1.0, figure.written, same[0].written)
            elif (
                figure.bound
                and all(one.bound and _against(figure.bound, one.bound) for one in same)
                and not _denied_apart(aligned, own.get(figure.start), same[0])
            ):
                yield Sign("bound", "quantifier", 1.0, figure.written, same[0].written)
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
    nouns = [at for other in (row + 1, row + 2) if other < len(aligned.rows) for at in _inside(aligned, other)]
    starts = {one.start for one in same}
    places = [at for at in aligned.window if aligned.token(at).start in starts]
    return bool(nouns and places) and all(abs(at - place) > BESIDE for at in nouns for place in places)


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


def _opposites(aligned: Aligned) -> Iterator[Sign]:
    statement, source = aligned.statement, aligned.source.reading
    here = {token.plain for token in statement.tokens}
    there = {source.tokens[row].plain for row in aligned.window}
    near = {source.tokens[at].clause for _, at in aligned.pairs}
    for row, token in enumerate(statement.tokens):
        others = OPPOSITES.get(token.plain)
        if not others or denies(token) or token.plain in there or any(aligned.token(at).plain == token.plain for at in _rows(aligned, token)):
            continue
        found = [at for at in sorted(aligned.window) if source.tokens[at].plain in others - here]
        found = [at for at in found if not denies(source.tokens[at]) and source.tokens[at].clause in near]
        if not found:
            if token.plain in COMPARING and not _bounds(statement.tokens, row):
                yield Sign("comparison", "comparative", 1.0, token.text)
            continue
        other = source.tokens[found[0]]
        same_denial = (token.clause in statement.denied) == (other.clause in source.denied)
        yield Sign("opposite" if same_denial else "opposite_denied", "comparative", 1.0, token.text, other.text)


def _bounds(tokens: Sequence[Token], row: int) -> bool:
    """Return whether a word that compares is part of a bound, such as "al menos" or "more than"."""
    before, behind = tokens[row - 1].plain if row else "", tokens[row + 1].plain if row + 1 < len(tokens) else ""
    return before in ("al", "at", "lo", "o", "or", "no") or behind in ("de", "than")


def _rows(aligned: Aligned, token: Token) -> list[int]:
    return [at for at in aligned.source.places.of(token) if at in aligned.window]


def _quantifiers(aligned: Aligned) -> Iterator[Sign]:
    source, statement = aligned.source.reading, aligned.statement
    clauses = {source.tokens[at].clause for _, at in aligned.pairs}
    around = [row for row in sorted(aligned.window) if source.tokens[row].clause in clauses]
    here = _classes(statement.tokens, range(len(statement.tokens)))
    everywhere = _classes(source.tokens, around)
    there = _classes(source.tokens, around, {at for _, at in aligned.pairs})
    for name, word in here.items():
        if name not in everywhere:
            others = [other for other in there if other not in here]
            if others:
                yield Sign("other_quantifier", "quantifier", 1.0, word, there[others[0]])
            elif name != "each":
                yield Sign("only_here", "quantifier", 1.0, word)
    for name, word in there.items():
        if name not in here and not here and name != "each":
            yield Sign("only_there", "quantifier", 1.0, "", word)
    excepted = [source.tokens[row].text for row in around if source.tokens[row].plain in EXCEPT]
    if excepted and "all" in here and not any(token.plain in EXCEPT for token in statement.tokens):
        yield Sign("exception", "quantifier", 1.0, here["all"], excepted[0])


def _classes(tokens: Sequence[Token], rows: Iterable[int], counted: Set[int] | None = None) -> dict[str, str]:
    """Return class of a quantifier -> the word; "none" is left to the denials.

    Args:
        counted: rows of which one has to stand behind the word.
    """
    found: dict[str, str] = {}
    for row in rows:
        word = tokens[row].plain
        name = QUANTIFIERS.get(word)
        before, behind = tokens[row - 1].plain if row else "", tokens[row + 1].plain if row + 1 < len(tokens) else ""
        if (word == "most" and behind != "of") or (word == "veces" and before != "a") or before in ("at", "como"):
            continue
        if counted is not None and name and not any(one in counted for one in range(row + 1, row + 4)):
            continue
        if name and name != "none":
            found.setdefault(name, tokens[row].text)
    return found


def _modals(aligned: Aligned) -> Iterator[Sign]:
    statement, source = aligned.statement, aligned.source.reading
    there = {
        MODALS[source.tokens[at].plain]
        for at in aligned.window
        if source.tokens[at].plain in MODALS
        and source.tokens[at].clause in {source.tokens[one].clause for _, one in aligned.pairs}
        and _is_modal(source.tokens, at)
    }
    for row, token in enumerate(statement.tokens):
        name = MODALS.get(token.plain)
        if name and there and name not in there and token.clause not in statement.denied and _is_modal(statement.tokens, row):
            yield Sign("modal", "quantifier", 1.0, token.text)
            return


def _is_modal(tokens: Sequence[Token], row: int) -> bool:
    behind = tokens[row + 1].plain if row + 1 < len(tokens) else ""
    return behind in ("que", "to") or tokens[row].plain not in ("tiene", "tienen", "hay", "has", "have", "needs", "need")


def _units(aligned: Aligned) -> Iterator[Sign]:
    source = aligned.source.reading
    there = {UNIT_WORDS[plain] for row in aligned.window if (plain := source.tokens[row].plain) in UNIT_WORDS}
    for row, token in enumerate(aligned.statement.tokens):
        if (unit := UNIT_WORDS.get(token.plain)) and len(token.plain) > 2 and aligned.at[row] is None and unit not in there:
            if any(token.text in one.written for one in aligned.statement.figures):
                continue  # compared with its figure
            rival = [one for one in there if one[0] == unit[0]]
            yield Sign("unit_rival" if rival else "unit_absent", "unit", 1.0, token.text)


def _replaced(aligned: Aligned) -> Iterator[Sign]:
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
        if any(at in between for at in aligned.rows[row]) or not (figure or is_name(aligned, row)):
            continue
        for at in between:
            alike = source[at].start in figured_there if figure else source[at].text[0].isupper()
            if alike and not source[at].stop and at not in matched:
                kind: Kind = "figure" if figure else "name"
                yield Sign("replaced", kind, 1.0, statement[row].text, source[at].text)
                break


def _roles(aligned: Aligned) -> Iterator[Sign]:
    """Yield a sign for two names or figures that would fit the passage better if they changed places."""
    figured = {one.start for one in aligned.statement.figures}
    tokens, source = aligned.statement.tokens, aligned.source.reading.tokens
    entities = [
        row
        for row, at in enumerate(aligned.at)
        if at is not None and (tokens[row].start in figured or is_name(aligned, row))
    ]
    groups = _groups(entities)
    context = [(row, _inside(aligned, row)) for row, _ in aligned.pairs if row not in entities]
    for at, first in enumerate(groups):
        for second in groups[at + 1 :]:
            if (tokens[first[0]].start in figured) != (tokens[second[0]].start in figured):
                continue  # nobody takes a name for a figure
            places = [sorted({one for row in group for one in _inside(aligned, row)}) for group in (first, second)]
            kept = crossed = 0.0
            for row, rows in context:
                here = [_offset(tokens, row, group) for group in (first, second)]
                options = [[_offset(source, one, place) for place in places] for one in rows]
                kept += aligned.weights[row] * min(_cost(here, there) for there in options)
                crossed += aligned.weights[row] * min(_cost(here, there[::-1]) for there in options)
            if kept - crossed > _SWAP * (kept + crossed):
                words = [" ".join(tokens[row].text for row in group) for group in (first, second)]
                yield Sign("swapped", "role", (kept - crossed) / (kept + crossed), words[0], words[1])


def _cost(here: list[float], there: list[float]) -> float:
    return sum(min(abs(one - other), 12.0) for one, other in zip(here, there, strict=True))


def _offset(tokens: Sequence[Token], row: int, group: list[int]) -> float:
    """Return how far a word stands from the nearest of some others; below 0 before it. A clause counts as five words."""
    best = min(group, key=lambda one: abs(row - one))
    low, high = sorted((row, best))
    breaks = tokens[high].clause - tokens[low].clause + sum(token.plain in _AND for token in tokens[low:high])
    size = min(high - low + _CLAUSE * breaks, 20)
    return float(size if row > best else -size)


def _inside(aligned: Aligned, row: int) -> list[int]:
    return [at for at in aligned.rows[row] if at in aligned.window]


def _groups(rows: list[int]) -> list[list[int]]:
    groups: list[list[int]] = []
    for row in rows:
        if groups and row - groups[-1][-1] == 1:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
