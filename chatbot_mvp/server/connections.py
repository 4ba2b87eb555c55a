"""The server's side of one HTTP connection: closes slow ones, and keeps their number within a limit."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from chatbot_mvp.server.errors import BadRequest

RECEIVE_SECONDS = 15.0
"""Longest time that a client may take to send the head of a request, and longest silence while it sends the body."""
SEND_SECONDS = 30.0
"""Longest time that a client may take to read what waits for it."""
KEEP_ALIVE_SECONDS = 5
"""How long an idle connection stays open for the next request."""


class BoundedConnection(H11Protocol):
    """uvicorn's connection with limits on the time to send a request, the time to read a reply, and on connections.

    A client that sends or reads a byte of a head now and then would keep its connection forever. If all places are
    taken, the connection that has waited longest for its request, or for the next piece of it, makes room, so that slow
    clients do not keep others out. If every connection has a request under way, the new one gets status 503. A request
    that was begun and is given up is answered.
    """

    limit = 200
    """Maximum number of connections; set on a subclass."""
    limited_by = " (SERVE_MAX_CONNECTIONS)"
    """The setting of the limit, for the reply to a connection that is one too many."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self.waiting_since = 0.0
        """When it began to wait for a request or for the next piece of its body, on the loop's clock."""

    @property
    def receiving(self) -> bool:
        """True until the request is there in full."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    # Narrower than asyncio's method, as in uvicorn: a connection of TCP is a Transport.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        self._watch()
        taken = [c for c in self.connections if isinstance(c, BoundedConnection)]  # all but WebSockets
        if len(taken) > self.limit:
            idle = [each for each in taken if each is not self and each.receiving]
            if idle:
                min(idle, key=lambda each: each.waiting_since).give_up(_too_many(self.limit, self.limited_by))
            else:
                self.app = _too_many(self.limit, self.limited_by).response(Retry_After="1", Connection="close")

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            self._unwatch()  # the time begins anew with each piece of a body
            self.waiting_since = self.loop.time()
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(SEND_SECONDS, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all_read()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._all_read()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.waiting_since = self.loop.time()
        self._watch()

    def drop(self) -> None:
        """Close the connection at once; a handler that waits for the body hears of it."""
        self.connections.discard(self)
        self.transport.abort()

    def give_up(self, refusal: BadRequest) -> None:
        """Answer a request that is not there in full, if it was begun and has no reply yet; close the connection."""
        begun = self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]
        if not begun or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.drop()
            return
        if self.cycle is not None:
            self.cycle.disconnected = True  # its handler has nobody to answer any more
        reply = refusal.response(Connection="close")
        head = h11.Response(status_code=reply.status_code, headers=reply.raw_headers)
        for event in (head, h11.Data(data=bytes(reply.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.connections.discard(self)
        self.transport.close()

    def _late(self) -> None:
        self._deadline = None
        if self.flow is not None and self.flow.read_paused:  # the server is behind, not the client
            self._watch()
        else:
            told = f"Nothing of the request came for {RECEIVE_SECONDS:g} s. Send it again."
            self.give_up(BadRequest(told, 408, code="request_timeout"))

    def _watch(self) -> None:
        if not self.receiving:
            self._unwatch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(RECEIVE_SECONDS, self._late)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _all_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def _too_many(limit: int, limited_by: str) -> BadRequest:
    return BadRequest(
        f"The server has {limit} connections, its limit{limited_by}. Try again in a moment.",
        503,
        "server_error",
        "too_many_connections",
    )


def connection_with(limit: int) -> type[BoundedConnection]:
    """Return the connection class of a server with at most ``limit`` connections."""
    return type("Connection", (BoundedConnection,), {"limit": limit})
