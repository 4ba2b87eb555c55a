"""Find words of a statement whose place opposite words take in its passage: comparisons, quantifiers, modal verbs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.lexicon import COMPARING, EXCEPT, MODALS, OPPOSITES, QUANTIFIERS
from chatbot_mvp.chat.claims.reading import Token, denies
from chatbot_mvp.chat.claims.sign import Sign


def opposites(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of words with an opposite, and of comparisons that the passage does not make."""
    statement, source = aligned.statement, aligned.source.reading
    here = {token.plain for token in statement.tokens}
    there = {source.tokens[row].plain for row in aligned.window}
    near = {source.tokens[at].clause for _, at in aligned.pairs}
    for row, token in enumerate(statement.tokens):
        others = OPPOSITES.get(token.plain)
        if (
            not others
            or denies(token)
            or token.plain in there
            or any(aligned.token(at).plain == token.plain for at in _rows(aligned, token))
        ):
            continue
        found = [at for at in sorted(aligned.window) if source.tokens[at].plain in others - here]
        found = [at for at in found if not denies(source.tokens[at]) and source.tokens[at].clause in near]
        bounds = (_bounds(statement.tokens, row), bool(found) and _bounds(source.tokens, found[0]))
        if any(bounds) and (not all(bounds) or _before_figure(statement.tokens, row)):
            continue
        if not found:
            if token.plain in COMPARING:
                yield Sign("comparison", "comparative", 1.0, token.text)
            continue
        other = source.tokens[found[0]]
        same_denial = (token.clause in statement.denied) == (other.clause in source.denied)
        yield Sign("opposite" if same_denial else "opposite_denied", "comparative", 1.0, token.text, other.text)


def _bounds(tokens: Sequence[Token], row: int) -> bool:
    """Return whether a word that compares is part of a bound, such as "al menos" or "more than"."""
    before, behind = tokens[row - 1].plain if row else "", tokens[row + 1].plain if row + 1 < len(tokens) else ""
    if tokens[row].plain not in ("mas", "menos", "more", "less", "fewer", "most", "least"):
        return False
    return before in ("al", "at", "lo", "o", "or", "no") or (behind in ("de", "than") and _before_figure(tokens, row))


def _before_figure(tokens: Sequence[Token], row: int) -> bool:
    return any(token.plain[0].isdigit() for token in tokens[row + 1 : row + 3])


def _rows(aligned: Aligned, token: Token) -> list[int]:
    return [at for at in aligned.source.places.of(token) if at in aligned.window]


def quantifiers(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of "all", "some", "only" and the like."""
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


def modals(aligned: Aligned) -> Iterator[Sign]:
    """Yield a sign if a statement allows what the passage demands, or demands what it allows."""
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
        if (
            name
            and there
            and name not in there
            and token.clause not in statement.denied
            and _is_modal(statement.tokens, row)
        ):
            yield Sign("modal", "quantifier", 1.0, token.text)
            return


def _is_modal(tokens: Sequence[Token], row: int) -> bool:
    behind = tokens[row + 1].plain if row + 1 < len(tokens) else ""
    return behind in ("que", "to") or tokens[row].plain not in (
        "tiene",
        "tienen",
        "hay",
        "has",
        "have",
        "needs",
        "need",
    )
