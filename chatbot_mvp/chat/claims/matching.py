"""Find for each word of a statement where the passage says it: the same word, or a form of it."""

from __future__ import annotations

from chatbot_mvp.chat.claims.reading import Reading, Token

_STEM = 5
"""Words with this many letters in common at their beginning are forms of one word …"""
_TAIL = 5
"""… if no more letters than this follow in either."""


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


def _common(one: str, other: str) -> int:
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)
