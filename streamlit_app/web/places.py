"""Bounds the pages that one visitor, one client and all together have open: each holds a session in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from chatbot_mvp.settings.network import FORWARDED

MOST_OF_VISITOR = 30
"""Open pages of one browser."""
MOST_OF_CLIENT = 200
"""Open pages of one address; an office may share one."""
MOST_OF_ALL = 1_000
"""Open pages of this server."""
_SHARED = frozenset({"", FORWARDED, "127.0.0.1", "::1"})
"""Addresses that do not tell clients apart: behind a proxy that TRUSTED_PROXIES does not name, all have one."""


class Places:
    """The open pages. Used in the server's event loop."""

    def __init__(self) -> None:
        self._visitors: Counter[str] = Counter()
        self._clients: Counter[str] = Counter()

    def refusal(self, visitor: str, client: str) -> str:
        """Return why one more page has no place, in Spanish and English; "" if it has one.

        Args:
            visitor: the browser's name; "" for one without a cookie.
            client: its address, as ``client_of`` gives it.
        """
        if visitor and self._visitors[visitor] >= MOST_OF_VISITOR:
            return _text(MOST_OF_VISITOR, "Este navegador", "This browser")
        if client not in _SHARED and self._clients[client] >= MOST_OF_CLIENT:
            return _text(MOST_OF_CLIENT, "Esta dirección", "This address")
        return _text(MOST_OF_ALL, "Este servidor", "This server") if self._clients.total() >= MOST_OF_ALL else ""

    @contextmanager
    def taken(self, visitor: str, client: str) -> Iterator[None]:
        """Hold the place of one open page."""
        self._visitors[visitor] += 1
        self._clients[client] += 1
        try:
            yield
        finally:
            for counter, name in ((self._visitors, visitor), (self._clients, client)):
                counter[name] -= 1
                if not counter[name]:
                    del counter[name]


def _text(most: int, es: str, en: str) -> str:
    return (
        f"{es} tiene {most} páginas abiertas, que es el máximo. Cierre alguna y recargue esta página. / "
        f"{en} has {most} pages open, which is the most. Close one, and reload this page."
    )
