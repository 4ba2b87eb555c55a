"""A loopback server that speaks Gemini's REST protocol (v1beta): models, generateContent, streamGenerateContent."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.llm.http_stub import Request, Response, StubServer

MODEL = "gemini-2.5-flash"
PROMPT_TOKENS = 7
THOUGHT_TOKENS = 5


class GeminiStub(StubServer):
    """Answers with the last user text turned round, word by word in a stream; refuses what Gemini refuses."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.bodies: list[dict[str, Any]] = []
        """Bodies of the requests that were accepted."""

    def answer(self, request: Request) -> Response:
        if request.headers.get("x-goog-api-key") != self.key:
            return _refusal(
                400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"
            )
        if request.method == "GET" and request.path.startswith("/v1beta/models"):
            models = [
                {"name": f"models/{MODEL}", "supportedGenerationMethods": ["generateContent", "countTokens"]},
                {"name": "models/gemini-embedding-001", "supportedGenerationMethods": ["embedContent"]},
            ]
            return Response.json({"models": models})
        called = re.match(r"/v1beta/models/([^:]+):(generateContent|streamGenerateContent)", request.path)
        if not called:
            return _refusal(404, "NOT_FOUND", "no such route")
        if called.group(1) != MODEL:
            return _refusal(404, "NOT_FOUND", f"models/{called.group(1)} is not found for API version v1beta")
        body = json.loads(request.body)
        if reason := _fault(body):
            return _refusal(400, "INVALID_ARGUMENT", reason)
        self.bodies.append(body)
        text, finish = _reply(body)
        said = len(text.split())
        counts = (PROMPT_TOKENS, said, PROMPT_TOKENS + THOUGHT_TOKENS + said)
        usage = dict(zip(("promptTokenCount", "candidatesTokenCount", "totalTokenCount"), counts, strict=True))
        usage["thoughtsTokenCount"] = THOUGHT_TOKENS
        if called.group(2) == "generateContent":
            return Response.json(_content(text, finish, usage))
        words = re.findall(r"\S+\s*", text)
        parts = [_content(word, None, None) for word in words[:-1]] + [_content(words[-1], finish, usage)]
        pieces = [("[" if not n else ",\n") + json.dumps(part, ensure_ascii=False) for n, part in enumerate(parts)]
        return Response(200, pieces=[piece.encode() for piece in [*pieces, "]"]])


def _fault(body: dict[str, Any]) -> str:
    """Why Gemini would answer 400; "" if it would not."""
    if set(body) - {"model", "contents", "generationConfig", "systemInstruction"}:
        return f"Invalid JSON payload received. Unknown name in {sorted(body)}"
    roles = {content.get("role") for content in body.get("contents", [])}
    if not roles or roles - {"user", "model"}:
        return "Please use a valid role: user, model."
    text = json.dumps(body["contents"])
    if len(text) > 20_000:
        return f"The input token count ({len(text)}) exceeds the maximum number of tokens allowed (5000)."
    if "additionalProperties" in json.dumps(body.get("generationConfig", {})):
        return "Unknown name additionalProperties"
    return ""


def _reply(body: dict[str, Any]) -> tuple[str, str]:
    if body.get("generationConfig", {}).get("responseMimeType") == "application/json":
        return '{"color": "blue"}', "STOP"
    said = body["contents"][-1]["parts"][0]["text"]
    words = said.split()
    limit = body.get("generationConfig", {}).get("maxOutputTokens", 1_000)
    return " ".join(reversed(words[-limit:])), "STOP" if len(words) <= limit else "MAX_TOKENS"


def _content(text: str, finish: str | None, usage: dict[str, int] | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **({"usageMetadata": usage} if usage else {})}


def _refusal(status: int, name: str, message: str, reason: str = "") -> Response:
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}
    error = {"code": status, "message": message, "status": name, "details": [detail] if reason else []}
    return Response.json({"error": error}, status)


def quota_of_the_day() -> Response:
    """The 429 of a free key whose requests of the day are used up."""
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        "quotaValue": "250",
    }
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
    ]
    message = "You exceeded your current quota, please check your plan and billing details."
    return Response.json(
        {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}}, 429
    )
