"""Connections to a provider's address. Each has a client of its own, so that another thread can cut exactly that one.

A thread that waits for a reply cannot be interrupted, and closing a client does not wake it. Shutting down its socket
does both: the thread gets an error at once, and the provider hears that its client left.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from chatbot_mvp.errors import RequestStopped
from chatbot_mvp.remote.stop import Stop

T = TypeVar("T")
_CONNECT_SECONDS = 10.0
_CONNECTED = ("connect_tcp.complete", "start_tls.complete")


class _Line(Generic[T]):
    """One connection: kept open between requests, opened again when it is lost."""

    def __init__(self, make: Callable[[Any], T], timeout: float, context: ssl.SSLContext) -> None:
        import httpx

        self._stop = Stop()
        self._stream: Any = None
        client = httpx.Client(
            verify=context,
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            follow_redirects=True,
            event_hooks={"request": [self._trace]},
        )
        self.sdk = make(client)

    @contextmanager
    def stopped_by(self, stop: Stop) -> Iterator[T]:
        self._stop = stop
        with stop.cutting(self._cut):
            yield self.sdk

    def _trace(self, request: Any) -> None:
        request.extensions["trace"] = self._note

    def _note(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith(_CONNECTED):
            self._stream = info["return_value"]
        if self._stop.is_set and name.endswith(".started"):
            # Set while the connection was opened, when there was nothing to cut.
            self._cut()

    def _cut(self) -> None:
        if self._stream is not None:
            with suppress(OSError):  # it is closed already
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


class Lines(Generic[T]):
    """The connections of one model, as many as it has requests under way. Safe to share between threads."""

    def __init__(self, make: Callable[[Any], T], timeout: float, provider: str) -> None:
        """
        Args:
            make: creates the vendor's client over an ``httpx.Client``.
            timeout: maximum wait for a reply, in seconds.
            provider: named in errors.
        """
        import httpx

        self._make = make
        self._timeout = timeout
        self._provider = provider
        self._context = httpx.create_ssl_context()
        self._free: list[_Line[T]] = []

    @contextmanager
    def borrow(self, stop: Stop) -> Iterator[T]:
        """Give a client for one request, which ``stop`` ends.

        Raises:
            RequestStopped: ``stop`` is set, before or during the request.
        """
        if stop.is_set:
            raise RequestStopped(provider=self._provider)
        try:
            line = self._free.pop()
        except IndexError:
            line = _Line(self._make, self._timeout, self._context)
        try:
            with line.stopped_by(stop) as sdk:
                yield sdk
        except Exception as error:
            if stop.is_set:
                raise RequestStopped(provider=self._provider) from error
            raise
        finally:
            self._free.append(line)
