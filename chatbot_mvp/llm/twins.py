"""Asynchronous versions of ``complete`` and ``stream`` for any ChatModel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from anyio import CancelScope, to_thread

from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion


async def acomplete(model: ChatModel, request: ChatRequest) -> Completion:
    """Run ``model.complete`` in a thread. If the wait is cancelled, the request still runs to its end.

    Raises:
        ProviderError: as in ``complete``.
    """
    return await to_thread.run_sync(model.complete, request, abandon_on_cancel=True)


async def astream(model: ChatModel, request: ChatRequest) -> AsyncStream:
    """Return ``model.stream`` as an asynchronous iterator.

    Raises:
        ProviderError: at once, or during the iteration.
    """
    return AsyncStream(await to_thread.run_sync(model.stream, request, abandon_on_cancel=True))


class AsyncStream:
    """A ``ChatStream`` for ``async for``. Ending the iteration early, also by cancellation, frees the connection."""

    def __init__(self, stream: ChatStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        pieces = iter(self._stream)
        ended = False
        try:
            while (piece := await to_thread.run_sync(_next, pieces, abandon_on_cancel=True)) is not None:
                yield piece
            ended = True
        finally:
            if not ended:
                await self.aclose()

    @property
    def completion(self) -> Completion:
        """As in ``ChatStream``."""
        return self._stream.completion

    async def aclose(self) -> None:
        """Stop early. Safe to call repeatedly and after the end."""
        with CancelScope(shield=True):
            await to_thread.run_sync(self._stream.close)


def _next(pieces: Iterator[str]) -> str | None:
    # StopIteration cannot be raised into a coroutine, so the end is None.
    return next(pieces, None)
