"""A model over HTTP that proposes questions of the passage it is shown, and is not always to be trusted."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from chatbot_mvp.text import sentences
from tests.judges.broken_json import perhaps_broken
from tests.llm.http_stub import Request, Response, StubServer

_FENCED = re.compile(r"<(datos-[0-9a-f]{8})>\n(.*?)\n</\1>", re.S)
INVENTED = "La dirección regala un viaje a Canarias a quien lo pida por escrito."


class QuestionStub(StubServer):
    """Speaks OpenAI's protocol. The same request gets the same reply; a correction is another request."""

    def __init__(self, broken: float = 0.0, invented: float = 0.0, answered: float = 0.0) -> None:
        """
        Args:
            broken: share of the replies, 0-1, whose JSON is not as asked for.
            invented: share of the questions whose sentence stands nowhere.
            answered: share of the questions said to have no answer that the passages do answer.
        """
        super().__init__()
        self.broken, self.invented, self.answered = broken, invented, answered
        self.proposals = 0
        """Requests for questions that came."""

    def answer(self, request: Request) -> Response:
        messages = request.json["messages"]
        found = _FENCED.search(messages[1]["content"])
        assert found is not None
        passage = found.group(2)
        if "unanswerable" in messages[0]["content"]:
            self.proposals += 1
            reply = self._proposed(passage)
        else:
            reply = self._checked(passage, messages[1]["content"])
        text = perhaps_broken(json.dumps(reply, ensure_ascii=False), request.body.decode(), self.broken)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 200, "completion_tokens": 60, "total_tokens": 260}
        return Response.json({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})

    def _proposed(self, passage: str) -> dict[str, Any]:
        spans = [passage[start:end] for start, end in sentences(passage) if end - start > 30]
        questions = []
        for sentence in spans[:2]:
            words = " ".join(sentence.split()[:5])
            quoted = INVENTED if _drawn(sentence) < self.invented else sentence
            questions.append({"question": f"¿Qué se sabe de {words}?", "evidence": quoted})
        about = " ".join(passage.split()[-4:])
        return {"questions": questions, "unanswerable": [f"¿Quién inventó {about}?", f"¿Cuánto pesa {about}?"]}

    def _checked(self, passage: str, asked: str) -> dict[str, Any]:
        if _drawn(asked) < self.answered:
            start, end = next(span for span in sentences(passage) if span[1] - span[0] > 30)
            return {"evidence": passage[start:end], "answered": True}
        return {"evidence": "", "answered": False}


def _drawn(text: str) -> float:
    return hashlib.sha256(text.encode()).digest()[0] / 256
