"""Names visitors in a signed cookie, so that only the server decides whose conversations a browser finds.

A visitor's name is the name of the folder of conversations. It is never in an address, and a cookie with a name that
this server did not sign is nobody's.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from chatbot_mvp.storage.secret_key import kept_key, new_key

log = logging.getLogger(__name__)

KEPT_S = 400 * 86_400
"""How long a browser keeps the cookie after its last visit, in seconds; browsers allow no longer."""

_VALUE = re.compile(r"([0-9a-z]{16,64})\.([0-9a-f]{64})")


class VisitorCookie:
    """Signs and reads the cookie of one server."""

    def __init__(self, key: bytes) -> None:
        """
        Args:
            key: 32 random bytes, known to the server alone.
        """
        self._key = key
        # Browsers do not tell ports apart: two servers on one machine need two names.
        self.name = f"chatbot_visitor_{hashlib.sha256(key).hexdigest()[:8]}"

    def value(self, visitor: str) -> str:
        """Return the value of the cookie for a visitor's name (16 to 64 of ``0-9a-z``)."""
        return f"{visitor}.{self._sign('visitor', visitor)}"

    def visitor(self, cookies: Mapping[str, str]) -> str:
        """Return whom these cookies name; "" without the cookie, or if it was altered or forged."""
        match = _VALUE.fullmatch(cookies.get(self.name, ""))
        signed = match is not None and hmac.compare_digest(match[2], self._sign("visitor", match[1]))
        return match[1] if match is not None and signed else ""

    def person(self, identity: str) -> str:
        """Return the name of a signed-in person, which is the same in every browser.

        Args:
            identity: ``issuer#subject`` of the identity provider.
        """
        return self._sign("person", identity)[:32]

    def set_cookie(self, visitor: str, secure: bool) -> str:
        """Return the value of the header ``Set-Cookie``.

        Args:
            secure: whether the browser asked by https; it then sends the cookie by https only.
        """
        flags = "; Secure" if secure else ""
        return f"{self.name}={self.value(visitor)}; Path=/; Max-Age={KEPT_S}; HttpOnly; SameSite=Lax{flags}"

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}\n{text}".encode(), hashlib.sha256).hexdigest()


def new_visitor() -> str:
    """Return a new name: 128 random bits in hexadecimal."""
    return secrets.token_hex(16)


@cache
def visitor_cookie(key_path: Path) -> VisitorCookie:
    """Return the cookie of the server whose key is kept in this file; the file is created if it is missing.

    If it cannot be read or created, the key lasts as long as the process, and the log says so.
    """
    try:
        return VisitorCookie(kept_key(key_path))
    except OSError as error:
        log.warning("visitors lose their conversations at the next start: %s cannot be used: %s", key_path, error)
        return VisitorCookie(new_key())
