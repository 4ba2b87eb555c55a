"""Writes answers in OpenAI's protocol, with additional fields that explain them."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from chatbot_mvp.api import Answer
from chatbot_mvp.chat.answer import Event, Finished, Piece, Restarted
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.demo import CHARS_PER_TOKEN
from chatbot_mvp.server.errors import refusal_of

NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})


def completion(
    answer: Answer, model: str, ignored: Sequence[str] = (), left_out: Mapping[str, Sequence[str]] = NOTHING
) -> dict[str, Any]:
    """Return the object of an answer that is not streamed.

    Args:
        ignored: as in ``AskedCompletion``.
        left_out: knowledge base -> paths of its documents that cannot be read and were not asked.
    """
    # A client of this protocol shows the content alone, so the hint of a fixed reply is part of it.
    content = f"{answer.text}\n\n{answer.hint}" if answer.hint else answer.text
    message = {"role": "assistant", "content": content, "refusal": None}
    return {
        **_head("chat.completion", model),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}],
        "usage": _usage(answer),
        "system_fingerprint": answer.fingerprint,
        **_extra(answer, ignored, left_out),
    }


class Chunks:
    """Turns the events of one answer into server-sent events. ``left_out`` is as in ``completion``."""

    def __init__(
        self,
        model: str,
        with_usage: bool,
        ignored: Sequence[str] = (),
        left_out: Mapping[str, Sequence[str]] = NOTHING,
    ) -> None:
        self._head = _head("chat.completion.chunk", model)
        self._with_usage = with_usage
        self._ignored, self._left_out = ignored, left_out
        self._sent = False
        self._said = False

    def begin(self) -> bytes:
        return self._line({"role": "assistant", "content": ""})

    def of(self, event: Event) -> Iterator[bytes]:
        """Yield the lines of one event."""
        if isinstance(event, Piece):
            self._sent = self._said = True
            yield self._line({"content": event.text})
        elif isinstance(event, Restarted):
            # The text already sent cannot be taken back; the replacement answer begins in a new paragraph.
            self._said = False
            yield self._line({"content": "\n\n" if self._sent else ""}, fell_back=True)
        elif isinstance(event, Finished):
            yield from self._end(event.answer)

    def failed(self, error: ChatbotError) -> bytes:
        return _sse(refusal_of(error).body)

    def _end(self, answer: Answer) -> Iterator[bytes]:
        if answer.why == "unsupported" and self._said:
            # The model's text is sent already; the fixed reply that replaces it begins in a new paragraph.
            yield self._line({"content": f"\n\n{answer.text}"})
        elif not self._said:  # a fixed reply, or words that were held back
            yield self._line({"content": answer.text})
        if answer.hint:
            yield self._line({"content": f"\n\n{answer.hint}"})
        yield self._line(
            {}, _finish_reason(answer), answer=answer.text, **_extra(answer, self._ignored, self._left_out)
        )
        if self._with_usage:
            yield _sse({**self._head, "choices": [], "usage": _usage(answer)})

    def _line(self, delta: Mapping[str, Any], reason: str | None = None, **extra: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if self._with_usage else {}
        return _sse({**self._head, "choices": [choice], **usage, **extra})


DONE = b"data: [DONE]\n\n"


def _head(kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), "model": model}


def _sse(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def _extra(answer: Answer, ignored: Sequence[str], left_out: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    told = {**record_of(answer).as_reply(), "provider": answer.completion.model if answer.completion else None}
    told |= {"ignored": list(ignored)} if ignored else {}
    return told | ({"left_out": left_out} if left_out else {})


def _finish_reason(answer: Answer) -> str:
    reason = answer.completion.finish_reason if answer.completion else "stop"
    return {"length": "length", "filtered": "content_filter"}.get(reason, "stop")


def _usage(answer: Answer) -> dict[str, int]:
    """Return the provider's count; where it reports none, an estimate; zeros for a reply that no model wrote."""
    prompt = completion = 0
    if answer.completion is not None:
        usage = answer.completion.usage
        asked = "".join(message.content for message in answer.messages)
        prompt = _estimated(asked) if usage.prompt_tokens is None else usage.prompt_tokens
        completion = _estimated(answer.completion.text) if usage.completion_tokens is None else usage.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _estimated(text: str) -> int:
    return math.ceil(len(text) / CHARS_PER_TOKEN)
