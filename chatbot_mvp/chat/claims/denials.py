"""Find what a statement denies and its passage does not, or the other way round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.sign import Sign

_WHOLE = 1.5
"""A clause with two thirds of a statement's weight counts as all of it."""


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
