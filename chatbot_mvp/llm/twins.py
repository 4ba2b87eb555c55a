"""``complete`` and ``stream`` for a running event loop, built once over any ChatModel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from anyio import CancelScope, to_thread

from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion


async def acomplete(model: ChatModel, request: ChatRequest) -> Completion:
    """``model.complete`` in a thread; the loop goes on meanwhile. A cancelled wait leaves the request to its end.

    Raises:
        ProviderError
    """
    return await to_thread.run_sync(model.complete, request, abandon_on_cancel=True)


async def astream(model: ChatModel, request: ChatRequest) -> AsyncStream:
    """``model.stream`` as an asynchronous iterator.

    Raises:
        ProviderError: at once, or while it is iterated.
    """
    return AsyncStream(await to_thread.run_sync(model.stream, request, abandon_on_cancel=True))


class AsyncStream:
    """A ``ChatStream`` for ``async for``. Leaving the iteration early, by cancellation too, frees the connection."""

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
        """As of the ``ChatStream``."""
        return self._stream.completion

    async def aclose(self) -> None:
        """Stop early. Safe to call twice, and after the end."""
        with CancelScope(shield=True):
            await to_thread.run_sync(self._stream.close)


def _next(pieces: Iterator[str]) -> str | None:
    # A StopIteration cannot leave a thread through a coroutine.
    return next(pieces, None)
