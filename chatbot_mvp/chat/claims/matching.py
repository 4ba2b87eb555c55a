"""Find for each word of a statement where the passage says it: the same word, a form of it, or its negation."""

from __future__ import annotations

from chatbot_mvp.chat.claims.reading import Reading, Token

_STEM = 5
"""Words with this many letters in common at their beginning are forms of one word …"""
_TAIL = 5
"""… if no more letters than this follow in either."""
_NEGATIVE = ("in", "im", "un", "non", "dis", "des", "ir")


class Places:
    """Where the words of a passage stand."""

    def __init__(self, reading: Reading) -> None:
        self._rows: dict[str, list[int]] = {}
        self._by_start: dict[str, list[int]] = {}
        for row, token in enumerate(reading.tokens):
            self._rows.setdefault(token.stem, []).append(row)
            if token.plain != token.stem:
                self._rows.setdefault(token.plain, []).append(row)
            if len(token.plain) >= _STEM and not token.stop:
                self._by_start.setdefault(token.plain[:_STEM], []).append(row)
        self._tokens = reading.tokens

    def of(self, token: Token) -> list[int]:
        """Return the rows where a word stands, as it is or in another form."""
        if found := self._rows.get(token.stem) or self._rows.get(token.plain):
            return found
        if token.stop or len(token.plain) < _STEM or token.plain.isdigit():
            return []
        same = len(token.plain)
        return [
            row
            for row in self._by_start.get(token.plain[:_STEM], ())
            if max(same, len(self._tokens[row].plain)) - _common(token.plain, self._tokens[row].plain) <= _TAIL
        ]

    def negated(self, token: Token) -> list[int]:
        """Return the rows of the word that says the opposite by a prefix ("possible" of "impossible", either way)."""
        found: list[int] = []
        if token.stop or len(token.plain) < 6:
            return found
        for prefix in _NEGATIVE:
            if token.plain.startswith(prefix) and len(token.plain) > len(prefix) + 4:
                found += self._starting(token.plain[len(prefix) :])
            found += self._starting(prefix + token.plain)
        return found

    def _starting(self, plain: str) -> list[int]:
        rows = self._by_start.get(plain[:_STEM], ())
        return [row for row in rows if len(self._tokens[row].plain) - _common(plain, self._tokens[row].plain) <= 2]


def _common(one: str, other: str) -> int:
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)
