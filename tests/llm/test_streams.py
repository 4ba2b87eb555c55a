"""A finished completion can be read like one on its way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.llm.base import Completion, FinishedStream


@given(st.text())
def test_the_pieces_add_up_to_the_text(text: str) -> None:
    stream = FinishedStream(Completion(text, "m", 0.0))
    assert "".join(stream) == text
    assert stream.completion == Completion(text, "m", 0.0)


def test_a_closed_stream_keeps_what_has_come() -> None:
    stream = FinishedStream(Completion("uno dos tres", "m", 0.0))
    pieces = iter(stream)
    first = next(pieces)
    stream.close()
    stream.close()
    assert list(pieces) == []
    assert stream.completion.text == first == "uno "
    assert stream.completion.finish_reason == "cancelled"
