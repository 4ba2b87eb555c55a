"""Connections of the library ``requests``, for SDKs that are built on it."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.remote.lines import Line


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
