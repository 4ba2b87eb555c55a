"""A provider that says what it is told to, in OpenAI's protocol, streamed or not."""

from __future__ import annotations

import json
from typing import Any

from tests.llm.http_stub import Request, Response, StubServer


class SayingServer(StubServer):
    text = ""
    thought = ""
    """Given apart, as ``reasoning_content``."""
    finish = "stop"
    counted = 5_000
    """Tokens of the prompt that it says it has read."""

    def answer(self, request: Request) -> Response:
        if request.method == "GET":
            return Response.json({"object": "list", "data": [{"id": "stub", "object": "model"}]})
        said: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.thought:
            said["reasoning_content"] = self.thought
        whole = {"id": "1", "created": 1, "model": "stub"}
        usage = {"prompt_tokens": self.counted, "completion_tokens": 7, "total_tokens": self.counted + 7}
        if not request.json.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": self.finish}
            return Response.json({**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
        choices = [
            {"index": 0, "delta": said, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": self.finish},
        ]
        chunk = {**whole, "object": "chat.completion.chunk"}
        events = [{**chunk, "choices": [choice]} for choice in choices] + [{**chunk, "choices": [], "usage": usage}]
        lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
        return Response(200, [*lines, b"data: [DONE]\n\n"], {"Content-Type": "text/event-stream"})
