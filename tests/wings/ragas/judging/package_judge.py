"""A judge over HTTP that is asked with prompts in the form of the ragas package, and translates texts when asked to."""

from __future__ import annotations

import json
from typing import Any

from tests.llm.http_stub import Request, Response, StubServer

TRANSLATED = " (traduit)"


class PackageJudge(StubServer):
    """Says yes to everything. Keeps the (system message, input) of each request that is no translation."""

    def __init__(self) -> None:
        super().__init__()
        self.translations: list[dict[str, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.texts: list[str] = []
        """Requests of one message, which ask for a number."""
        self.rating = "Score: 1."
        self.lost_translations = 0
        """Texts missing from each translation."""

    def answer(self, request: Request) -> Response:
        messages = [message["content"] for message in request.json["messages"]]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": self._said(messages)},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return Response.json({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})

    def _said(self, messages: list[str]) -> str:
        if len(messages) == 1:
            self.texts.append(messages[0])
            return self.rating
        system, said = messages[0], messages[-1] if messages[-1].startswith("{") else messages[1]
        given = json.loads(said[said.index("{") : said.rindex("}") + 1])  # texts to translate are delimited
        if "texts" in given:
            self.translations.append(given)
            made = [text + TRANSLATED for text in given["texts"]]
            return json.dumps({"texts": made[: len(made) - self.lost_translations]})
        self.asked.append((system, given))
        return json.dumps(self._judged(json.loads(system.rsplit("\n", 1)[1])["properties"], given))

    def _judged(self, properties: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        match sorted(properties):
            case ["classifications"]:
                return {"classifications": [{"statement": "s", "reason": "r", "attributed": 1}]}
            case ["noncommittal", "question"]:
                return {"question": "¿Qué?", "noncommittal": 0}
            case ["statements"] if "statements" in given:
                verdicts = enumerate(given["statements"])
                return {"statements": [{"statement": s, "reason": "r", "verdict": n % 2} for n, s in verdicts]}
            case ["statements"]:
                return {"statements": ["A one.", "A two."]}
            case _:
                return {"reason": "r", "verdict": 1}
