"""Connections to a provider's address. Each has a client of its own, so that another thread can cut exactly that one.

A thread that waits for a reply cannot be interrupted, and closing a client does not wake it. Shutting down its socket
does both: the thread gets an error at once, and the provider hears that its client left.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from chatbot_mvp.errors import RequestStopped
from chatbot_mvp.remote.stop import Stop

T = TypeVar("T")
CONNECT_SECONDS = 10.0
"""Longest wait for a connection to a provider."""
_CONNECTED = ("connect_tcp.complete", "start_tls.complete")


class Line:
    """One connection: kept open between requests, opened again when it is lost. Any thread may cut it."""

    def __init__(self) -> None:
        self._stop = Stop()
        self._socket: socket.socket | None = None

    @contextmanager
    def stopped_by(self, stop: Stop) -> Iterator[None]:
        """Cut the connection if ``stop`` is set within the ``with`` block."""
        self._stop = stop
        with stop.cutting(self._cut):
            yield

    def connected(self, opened: socket.socket) -> None:
        """Use the socket of a connection that was just opened."""
        self._socket = opened
        self.check()

    def check(self) -> None:
        """Cut the connection if the stop was set while it was opened, when there was nothing to cut."""
        if self._stop.is_set:
            self._cut()

    def _cut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it is closed already
                self._socket.shutdown(socket.SHUT_RDWR)


Connect = Callable[[Line], Any]
"""Creates the HTTP client of one line, which reports each socket that it opens."""


def _httpx_client(timeout: float) -> Connect:
    import httpx

    context = httpx.create_ssl_context()

    def connect(line: Line) -> Any:
        def note(name: str, info: Mapping[str, Any]) -> None:
            if name.endswith(_CONNECTED):
                line.connected(info["return_value"].get_extra_info("socket"))
            elif name.endswith(".started"):
                line.check()

        def trace(request: Any) -> None:
            request.extensions["trace"] = note

        return httpx.Client(
            verify=context,
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            follow_redirects=False,  # question, passages and key go to the address of the settings alone
            event_hooks={"request": [trace]},
        )

    return connect


def requests_adapter(line: Line) -> Any:
    """Create a transport adapter for a ``requests.Session`` whose connection can be cut.

    Behind a SOCKS proxy, the connection cannot be cut: a stop takes effect at the next piece of the reply.
    """
    from requests.adapters import HTTPAdapter
    from urllib3 import ProxyManager
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            line.connected(self.sock)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            line.connected(self.sock)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    pools = {"http": PlainPool, "https": SecurePool}

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
            super().init_poolmanager(*arguments, **options)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
            manager = super().proxy_manager_for(*arguments, **options)
            if type(manager) is ProxyManager:
                manager.pool_classes_by_scheme = pools
            return manager

    return Adapter(pool_connections=1, pool_maxsize=1)


class Lines(Generic[T]):
    """The connections of one model, as many as it has requests under way. Safe to share between threads."""

    def __init__(self, make: Callable[[Any], T], timeout: float, provider: str, connect: Connect | None = None) -> None:
        """
        Args:
            make: creates the vendor's client over what ``connect`` returns.
            timeout: maximum wait for a reply, in seconds; ``connect`` replaces it.
            provider: named in errors.
            connect: by default creates an ``httpx.Client``.
        """
        self._make = make
        self._connect = connect or _httpx_client(timeout)
        self._provider = provider
        self._free: list[tuple[Line, T]] = []

    @contextmanager
    def borrow(self, stop: Stop) -> Iterator[T]:
        """Give a client for one request, which ``stop`` ends.

        Raises:
            RequestStopped: ``stop`` is set, before or during the request.
        """
        if stop.is_set:
            raise RequestStopped(provider=self._provider)
        try:
            line, sdk = self._free.pop()
        except IndexError:
            line = Line()
            sdk = self._make(self._connect(line))
        try:
            with line.stopped_by(stop):
                yield sdk
        except Exception as error:
            if stop.is_set:
                raise RequestStopped(provider=self._provider) from error
            raise
        finally:
            self._free.append((line, sdk))
