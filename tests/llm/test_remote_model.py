"""What streams and retries do between an adapter and its reader; the adapter is a fake, the threads are real."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence

import pytest

from chatbot_mvp.errors import ProviderReplyUnusable, ProviderUnavailable
from chatbot_mvp.llm.base import ChatRequest, Message
from chatbot_mvp.llm.remote_model import RemoteModel
from chatbot_mvp.llm.wire import Delta
from chatbot_mvp.remote.calls import Calls
from chatbot_mvp.remote.failures import Endpoint, Failure
from chatbot_mvp.remote.limiter import Limiter

REQUEST = ChatRequest((Message("user", "?"),))


class FakeWire:
    """An adapter whose pieces come from a function."""

    def __init__(self, pieces: Callable[[], Generator[Delta, None, None]]) -> None:
        self.pieces = pieces
        self.opened = 0
        self.asked = ""
        self.closed = threading.Event()

    def complete(self, request: ChatRequest) -> Delta:
        self.asked = request.messages[-1].content
        return Delta("".join(piece.text for piece in self.stream(request)), "stop")

    def stream(self, request: ChatRequest) -> Generator[Delta, None, None]:
        self.opened += 1
        try:
            yield from self.pieces()
        finally:
            self.closed.set()

    def models(self, timeout: float) -> Sequence[str]:
        return ["m"]

    def failure_of(self, error: Exception) -> Failure | None:
        return Failure("unavailable", str(error)) if isinstance(error, ConnectionError) else None


def model_of(
    pieces: Callable[[], Generator[Delta, None, None]], concurrency: int = 1
) -> tuple[RemoteModel, FakeWire, Limiter]:
    wire, limiter = FakeWire(pieces), Limiter(concurrency)
    return RemoteModel(wire, Calls(Endpoint("nim", "m", "http://a"), limiter, 1, 1.0), lambda _: None), wire, limiter


def slowly() -> Generator[Delta, None, None]:
    for number in range(50):
        yield Delta(f"{number} ")
        time.sleep(0.05)
    yield Delta(finish_reason="stop")


def test_a_stream_that_is_never_read_asks_nobody_and_holds_no_slot() -> None:
    model, wire, limiter = model_of(slowly)
    stream = model.stream(REQUEST)
    assert (wire.opened, limiter.running) == (0, 0)
    stream.close()
    assert list(stream) == []
    assert wire.opened == 0


def test_half_a_letter_is_sent_as_a_question_mark() -> None:
    model, wire, _ = model_of(lambda: iter([Delta("x", "stop")]))  # type: ignore[arg-type,return-value]
    assert model.complete(ChatRequest((Message("user", "¿\ud83d?"),))).text == "x"
    assert wire.asked == "¿??"


def test_a_stop_from_another_thread_ends_the_reader_and_frees_the_slot() -> None:
    model, wire, limiter = model_of(slowly)
    stream = model.stream(REQUEST)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.extend(stream))
    reader.start()
    time.sleep(0.12)
    stream.close()
    reader.join(2)
    assert not reader.is_alive()
    assert wire.closed.wait(2)
    assert limiter.running == 0
    assert 0 < len(read) < 10
    assert stream.completion.finish_reason == "cancelled"
    assert stream.completion.text == "".join(read)


def test_a_reader_that_goes_away_frees_the_slot() -> None:
    model, wire, limiter = model_of(slowly)
    stream = model.stream(REQUEST)
    for _ in stream:
        break
    assert limiter.running == 1
    del stream
    assert wire.closed.wait(2)
    assert limiter.running == 0


def test_a_stream_is_begun_anew_only_while_nothing_was_shown() -> None:
    def broken() -> Generator[Delta, None, None]:
        raise ConnectionError("no")
        yield

    model, wire, _ = model_of(broken)
    with pytest.raises(ProviderUnavailable, match="tries: 2"):
        list(model.stream(REQUEST))
    assert wire.opened == 2

    def torn() -> Generator[Delta, None, None]:
        yield Delta("a")
        raise ConnectionError("no")

    model, wire, limiter = model_of(torn)
    with pytest.raises(ProviderUnavailable):
        list(model.stream(REQUEST))
    assert (wire.opened, limiter.running) == (1, 0)


@pytest.mark.parametrize(
    "pieces",
    [[], [Delta("a")], [Delta(finish_reason="stop")], [Delta(finish_reason="length")]],
    ids=["none", "no end", "no text", "all tokens thought away"],
)
def test_a_stream_without_text_or_end_is_no_answer(pieces: list[Delta]) -> None:
    def given() -> Generator[Delta, None, None]:
        yield from pieces

    with pytest.raises(ProviderReplyUnusable):
        list(model_of(given)[0].stream(REQUEST))


def test_an_error_of_our_own_code_is_not_dressed_up_as_the_providers() -> None:
    def wrong() -> Generator[Delta, None, None]:
        raise AttributeError("a mistake")
        yield

    model, wire, limiter = model_of(wrong)
    with pytest.raises(AttributeError):
        model.complete(REQUEST)
    with pytest.raises(AttributeError):
        list(model.stream(REQUEST))
    assert (wire.opened, limiter.running) == (2, 0)
