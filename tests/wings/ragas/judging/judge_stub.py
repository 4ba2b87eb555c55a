"""A judge over HTTP that speaks OpenAI's protocol, knows our prompts, and breaks the JSON of some of its replies."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from chatbot_mvp.wings.ragas.judging import Prompts
from tests.judges.broken_json import perhaps_broken
from tests.llm.http_stub import Request, Response, StubServer
from tests.wings.ragas.judging.scripted_judge import prompt_of

_NUMBERED = re.compile(r"^\d+\. ", re.M)


class JudgeStub(StubServer):
    """Judges by the hash of what it is asked, so that every run of the same requests is the same."""

    def __init__(self, prompts: Prompts, broken: float) -> None:
        """
        Args:
            broken: share of the replies, 0-1, whose JSON is not as asked for.
        """
        super().__init__()
        self._prompts = prompts
        self.broken = broken

    def answer(self, request: Request) -> Response:
        if request.method == "GET":  # pages try the chosen provider by themselves
            return Response.json({"object": "list", "data": [{"id": "judge", "object": "model"}]})
        messages = [(message["role"], message["content"]) for message in request.json["messages"]]
        name = prompt_of(messages, self._prompts)
        asked = messages[1 + 2 * len(self._prompts.of[name].examples)][1]
        reply = json.dumps(self._judged(name, asked), ensure_ascii=False)
        # The seed tells the generated questions apart; a correction makes another request.
        text = perhaps_broken(reply, request.body.decode(), self.broken)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return Response.json({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})

    def _judged(self, name: tuple[str, str], asked: str) -> dict[str, Any]:
        drawn = hashlib.sha256(asked.encode()).digest()
        match name:
            case ("context_precision", _):
                return {"reason": "Lo dice el fragmento.", "verdict": drawn[0] % 2}
            case ("context_recall", _):
                said = [
                    {"statement": f"Afirmación {number}, «tal cual».", "reason": "Sí.", "attributed": byte % 2}
                    for number, byte in enumerate(drawn[: 1 + drawn[0] % 4])
                ]
                return {"classifications": said}
            case ("faithfulness", "statements"):
                return {"statements": [f'Afirmación {n}: el "río" mide {n}.' for n in range(1 + drawn[0] % 4)]}
            case ("faithfulness", _):
                count = len(_NUMBERED.findall(asked))
                said = [{"number": n, "reason": "Sí.", "verdict": drawn[n] % 2} for n in range(1, count + 1)]
                return {"verdicts": said}
            case ("answer_relevancy", _):
                return {"question": f"¿Qué se cuenta en el texto {drawn[0]}?", "noncommittal": int(drawn[1] < 25)}
            case _:
                return {"rating": drawn[0] % 3}
