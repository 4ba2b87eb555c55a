"""OpenAI's protocol on loopback: answers, and verdicts for a judge, after a fixed time. A token is four characters."""

from __future__ import annotations

import json
import time

from tests.llm.http_stub import Request, Response, StubServer

MODEL = "gpt-4.1-mini"
ANSWER = "Una respuesta breve que nunca es la de referencia"


class OpenAiStub(StubServer):
    """Counts as ``calls`` the requests for completions."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds = seconds
        self.reply = ANSWER
        """What every completion says, verdicts of a judge excepted."""

    @property
    def calls(self) -> int:
        return sum(request.method == "POST" for request in self.requests)

    def answer(self, request: Request) -> Response:
        if request.method == "GET":
            return Response.json({"data": [{"id": MODEL, "context_length": 32_768}]})
        time.sleep(self.seconds)
        text = "\n".join(message["content"] for message in request.json["messages"])
        verdict = json.dumps({"reason": "Los pasajes lo dicen.", "score": 1.0})
        reply = verdict if "response_format" in request.json else self.reply
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(reply) // 4}
        return Response.json({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})
