"""Find what a statement denies and its passage does not, or the other way round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.lexicon import OPPOSITES
from chatbot_mvp.chat.claims.reading import denies
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
        if _said_by_opposite(aligned, clause):
            continue
        weight = sum(aligned.weights[row] for row, _ in pairs)
        there = sum(aligned.weights[row] for row, at in pairs if source.tokens[at].clause in source.denied) / weight
        size = min(1.0, _WHOLE * weight / sum(aligned.weights))
        if clause in statement.denied and there < 0.5:
            said = _clause_text(aligned, clause)
            yield Sign("denied_beside" if beside else "denied", "negation", size * (1 - there), said)
        if clause not in statement.denied and there > 0.5:
            yield Sign("denied_there", "negation", size * there, "", _clause_text(aligned, clause))
        yield from _verbs(aligned, clause, pairs)
    yield from _prefixes(aligned)


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


def _prefixes(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of words that differ in a prefix ("possible", "impossible")."""
    for row, token in enumerate(aligned.statement.tokens):
        found = aligned.source.places.negated(token) if aligned.at[row] is None else []
        if inside := [aligned.token(at) for at in found if at in aligned.window]:
            denied = token.clause in aligned.statement.denied
            if denied == (inside[0].clause in aligned.source.reading.denied):
                yield Sign("prefix", "negation", 1.0, token.text, inside[0].text)


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
