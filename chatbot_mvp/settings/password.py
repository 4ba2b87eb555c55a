"""The password of Admin: how it may be written down, and comparing it in constant time and not too often."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from chatbot_mvp.errors import PasswordTriesExhausted, PasswordWrong

LEAST_CHARS = 8
"""Of a password that is written down as it is."""

_PREFIX = "scrypt:"
_FORM = re.compile(r"scrypt:(\d+):(\d+):(\d+):([A-Za-z0-9_-]+={0,2}):([A-Za-z0-9_-]+={0,2})")
_COST, _BLOCK, _PARALLEL, _BYTES = 2**14, 8, 1, 32
_MOST_MEMORY = 128 * 2**20
"""Bytes that one comparison may take: a hash that asks for more is none of ours."""

_PAUSE_S = 0.5
_FREE_TRIES = 5
_LONGEST_WAIT_S = 300.0
_FORGOTTEN_AFTER_S = 3_600.0
_MOST_ASKERS = 10_000


def hash_password(password: str) -> str:
    """A password as it may stand in a file that others read: ``scrypt:N:r:p:salt:hash``."""
    salt = secrets.token_bytes(16)
    digest = _scrypt(password, salt, _COST, _BLOCK, _PARALLEL, _BYTES)
    texts = (base64.urlsafe_b64encode(part).decode() for part in (salt, digest))
    return f"{_PREFIX}{_COST}:{_BLOCK}:{_PARALLEL}:{':'.join(texts)}"


def reason_against(configured: str) -> str:
    """Why a value cannot be the password; "" if it can."""
    if configured.startswith(_PREFIX):
        return "" if _parts(configured) else "that is no hash as `chatbot-mvp hash-password` writes it"
    if 0 < len(configured) < LEAST_CHARS:
        return f"legal: {LEAST_CHARS} characters or more, or a hash of `chatbot-mvp hash-password`"
    return ""


class PasswordGate:
    """Safe to share between threads."""

    def __init__(self, configured: str, clock: Callable[[], float] = time.monotonic, pause: float = _PAUSE_S) -> None:
        """
        Args:
            configured: the password or its hash; "" for none, which nothing matches.
            pause: seconds that a wrong one keeps all others waiting.
        """
        # A plain one is hashed too: every comparison takes as long, whatever was configured.
        self._hash = hash_password(configured) if configured and not configured.startswith(_PREFIX) else configured
        self._clock = clock
        self._pause = pause
        self._misses: dict[str, _Misses] = {}
        self._lock = threading.Lock()

    @property
    def configured(self) -> bool:
        """Whether there is a password at all."""
        return bool(self._hash)

    def check(self, given: str, asker: str) -> None:
        """Return if ``given`` is the password.

        Five wrong ones are free; from then on each costs its asker a wait, twice as long as the one before.

        Args:
            asker: who is slowed down, such as an address.

        Raises:
            PasswordWrong
            PasswordTriesExhausted: not even compared.
        """
        # One at a time, and after a wrong one a pause: it bounds how many can be tried by somebody of many addresses.
        with self._lock:
            now = self._clock()
            misses = self._misses.get(asker)
            if misses is not None and now - misses.at > _FORGOTTEN_AFTER_S:
                misses = None
            if misses is not None and now < misses.wait_until:
                raise PasswordTriesExhausted(seconds=math.ceil(misses.wait_until - now))
            if self._matches(given):
                self._misses.pop(asker, None)
                return
            self._remember(asker, (misses.count if misses else 0) + 1, now)
            time.sleep(self._pause)
        raise PasswordWrong(variable="ADMIN_PASSWORD")

    def _matches(self, given: str) -> bool:
        parts = _parts(self._hash)
        if parts is None:
            return False
        cost, block, parallel, salt, digest = parts
        return hmac.compare_digest(_scrypt(given, salt, cost, block, parallel, len(digest)), digest)

    def _remember(self, asker: str, count: int, now: float) -> None:
        if len(self._misses) >= _MOST_ASKERS:
            del self._misses[min(self._misses, key=lambda key: self._misses[key].at)]
        beyond = count - _FREE_TRIES
        wait = min(2.0**beyond, _LONGEST_WAIT_S) if beyond >= 0 else 0.0
        self._misses[asker] = _Misses(count, now, now + wait)


@dataclass(frozen=True, slots=True)
class _Misses:
    count: int
    at: float
    wait_until: float


def _parts(text: str) -> tuple[int, int, int, bytes, bytes] | None:
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    cost, block, parallel = (int(match[group]) for group in (1, 2, 3))
    try:
        salt, digest = (base64.urlsafe_b64decode(match[group]) for group in (4, 5))
    except (binascii.Error, ValueError):
        return None
    usable = cost >= 2 and not cost & (cost - 1) and block >= 1 and 1 <= parallel <= 16 and len(digest) >= 16
    return (cost, block, parallel, salt, digest) if usable and 128 * cost * block <= _MOST_MEMORY else None


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int, size: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=cost,
        r=block,
        p=parallel,
        dklen=size,
        maxmem=2 * _MOST_MEMORY,
    )
