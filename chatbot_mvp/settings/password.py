"""The password of Admin: hashing, comparison in constant time, and limits on wrong tries."""

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
from functools import cached_property
from ipaddress import IPv6Address, ip_network

from chatbot_mvp.errors import SignInError

LEAST_CHARS = 8
"""Minimum length of a plain-text password."""

_PREFIX = "scrypt:"
_FORM = re.compile(r"scrypt:(\d+):(\d+):(\d+):([A-Za-z0-9_-]+={0,2}):([A-Za-z0-9_-]+={0,2})")
_COST, _BLOCK, _PARALLEL, _BYTES = 2**14, 8, 1, 32
_MOST_MEMORY = 128 * 2**20
"""Maximum memory of one comparison, in bytes; a hash that needs more is rejected."""

_PAUSE_S = 0.5
_FREE_TRIES = 5
_LONGEST_WAIT_S = 300.0
_FORGOTTEN_AFTER_S = 3_600.0
_MOST_ASKERS = 10_000
_AT_ONCE = 4
"""Askers whose passwords are compared at the same time. Each has one place at most, and keeps it during the pause."""


def hash_password(password: str) -> str:
    """Return the salted scrypt hash of a password, as ``scrypt:N:r:p:salt:hash``. Safe to store in a readable file."""
    salt = secrets.token_bytes(16)
    digest = _scrypt(password, salt, _COST, _BLOCK, _PARALLEL, _BYTES)
    texts = (base64.urlsafe_b64encode(part).decode() for part in (salt, digest))
    return f"{_PREFIX}{_COST}:{_BLOCK}:{_PARALLEL}:{':'.join(texts)}"


def reason_against(configured: str) -> str:
    """Return why a value cannot be used as ADMIN_PASSWORD; "" if it can."""
    if configured.startswith(_PREFIX):
        return "" if _parts(configured) else "it is not a hash as `chatbot-mvp hash-password` writes it"
    if 0 < len(configured) < LEAST_CHARS:
        return f"legal: {LEAST_CHARS} characters or more, or a hash from `chatbot-mvp hash-password`"
    return ""


class PasswordGate:
    """Checks the password and slows down clients that try wrong ones. Safe to share between threads."""

    def __init__(self, configured: str, clock: Callable[[], float] = time.monotonic, pause: float = _PAUSE_S) -> None:
        """
        Args:
            configured: the password or its hash; "" for no password, in which case no input matches.
            clock: returns seconds that never decrease.
            pause: seconds that an asker waits after a wrong password.
        """
        self._configured = configured
        self._clock = clock
        self._pause = pause
        self._misses: dict[str, _Misses] = {}
        self._checking: set[str] = set()
        """Askers whose check has not ended."""
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()

    @property
    def configured(self) -> bool:
        """Whether a password is set."""
        return bool(self._configured)

    @cached_property
    def _hash(self) -> str:
        # A plain password is hashed too, so that every comparison takes the same time. Commands that compare none do
        # not wait for it.
        plain = bool(self._configured) and not self._configured.startswith(_PREFIX)
        return hash_password(self._configured) if plain else self._configured

    def check(self, given: str, asker: str) -> None:
        """Return if ``given`` is the password.

        From the fifth wrong try on, each one makes its asker wait: 1 second at first, then twice as long each time,
        up to 300 seconds. Other askers do not wait for it, unless four guess at the same moment.

        Args:
            asker: identifies the client to slow down, such as its address. Addresses of one IPv6 network (64 bits)
                are one asker.

        Raises:
            SignInError (password_wrong): it is not the password.
            SignInError: the asker must still wait, or another try of the asker's is being checked; the
                password was not compared.
        """
        asker = _network_of(asker)
        with self._lock:
            misses = self._misses.get(asker)
            wait_s = 1.0 if asker in self._checking else misses.wait_until - self._clock() if misses else 0.0
            if wait_s > 0:
                raise SignInError("password_tries_exhausted", seconds=math.ceil(wait_s))
            self._checking.add(asker)
        try:
            # A place is kept during the pause, which limits an attacker with many addresses.
            with self._places:
                if self._matches(given):
                    with self._lock:
                        self._misses.pop(asker, None)
                    return
                self._remember(asker)
                time.sleep(self._pause)
        finally:
            with self._lock:
                self._checking.discard(asker)
        raise SignInError("password_wrong", variable="ADMIN_PASSWORD")

    def _matches(self, given: str) -> bool:
        parts = _parts(self._hash)
        if parts is None:
            return False
        cost, block, parallel, salt, digest = parts
        return hmac.compare_digest(_scrypt(given, salt, cost, block, parallel, len(digest)), digest)

    def _remember(self, asker: str) -> None:
        with self._lock:
            now, misses = self._clock(), self._misses.get(asker)
            if misses is None and len(self._misses) >= _MOST_ASKERS:
                del self._misses[min(self._misses, key=lambda key: self._misses[key].at)]
            recent = misses is not None and now - misses.at <= _FORGOTTEN_AFTER_S
            count = (misses.count if misses is not None and recent else 0) + 1
            beyond = count - _FREE_TRIES
            wait = min(2.0**beyond, _LONGEST_WAIT_S) if beyond >= 0 else 0.0
            self._misses[asker] = _Misses(count, now, now + wait)


def _network_of(asker: str) -> str:
    """Return the network of an IPv6 address: its owner can choose any address in it. Other names are unchanged."""
    try:
        address = IPv6Address(asker.partition("%")[0])
    except ValueError:
        return asker
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


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
