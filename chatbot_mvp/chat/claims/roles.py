"""Find names and figures that have changed places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.reading import Token
from chatbot_mvp.chat.claims.sign import Sign

_CLAUSE = 5
"""Words that the border of a clause counts as."""
_SWAP = 0.05
"""How much better two words have to fit in each other's place, as a share of both misfits."""
_AND = frozenset("y e and o or".split())


def roles(aligned: Aligned) -> Iterator[Sign]:
    """Yield a sign for two names or figures that would fit the passage better if they changed places."""
    figured = {one.start for one in aligned.statement.figures}
    tokens, source = aligned.statement.tokens, aligned.source.reading.tokens
    entities = [
        row
        for row, at in enumerate(aligned.at)
        if at is not None and (tokens[row].start in figured or aligned.is_name(row))
    ]
    groups = _groups(entities)
    context = [(row, aligned.inside(row)) for row, _ in aligned.pairs if row not in entities]
    for at, first in enumerate(groups):
        for second in groups[at + 1 :]:
            if (tokens[first[0]].start in figured) != (tokens[second[0]].start in figured):
                continue  # nobody takes a name for a figure
            places = [sorted({one for row in group for one in aligned.inside(row)}) for group in (first, second)]
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
    """Return how far a word stands from the nearest of some others; below 0 before it."""
    best = min(group, key=lambda one: abs(row - one))
    low, high = sorted((row, best))
    breaks = tokens[high].clause - tokens[low].clause + sum(token.plain in _AND for token in tokens[low:high])
    size = min(high - low + _CLAUSE * breaks, 20)
    return float(size if row > best else -size)


def _groups(rows: list[int]) -> list[list[int]]:
    groups: list[list[int]] = []
    for row in rows:
        if groups and row - groups[-1][-1] == 1:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
