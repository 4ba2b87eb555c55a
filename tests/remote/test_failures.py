"""What a status means, how long to wait, and that no key gets into a text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from chatbot_mvp.remote.failures import (
    Endpoint,
    Failure,
    HiddenCause,
    Kind,
    error_of,
    failure_of_status,
    retry_after_seconds,
    safe_cause,
)

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
TPM = "Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000. Please try again in 2s."
TPD = "Rate limit reached for model `x` on tokens per day (TPD): Limit 500000. Please try again in 9m."
MINUTE = "You exceeded your current quota, please check your plan and billing details."
PER_MINUTE = {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]}
PER_DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}

STATUSES: dict[str, tuple[int, Any, Kind]] = {
    "refused": (401, {"error": {"message": "Incorrect API key"}}, "key"),
    "forbidden": (403, {"detail": "no access"}, "key"),
    "a key that is not valid, as Gemini says it": (400, {"error": {"message": "API key not valid."}}, "key"),
    "no such model": (404, {"error": {"message": "model not found"}}, "model"),
    "a bad request": (400, {"error": {"message": "temperature: 3"}}, "request"),
    "not processable": (422, {"detail": [{"msg": "field required"}]}, "request"),
    "OpenAI's context": (400, {"error": {"message": "m", "code": "context_length_exceeded"}}, "too_long"),
    "vLLM's context": (400, {"message": "This model's maximum context length is 4096 tokens."}, "too_long"),
    "llama.cpp's context": (400, {"error": {"type": "exceed_context_size_error", "message": "too big"}}, "too_long"),
    "groq's size": (413, {"error": {"message": "Request too large"}}, "too_long"),
    "a minute's tokens": (429, {"error": {"message": TPM}}, "rate"),
    "a day's tokens": (429, {"error": {"message": TPD}}, "quota"),
    "Gemini's minute": (429, {"error": {"message": MINUTE, "details": [PER_MINUTE]}}, "rate"),
    "Gemini's day": (429, {"error": {"message": MINUTE, "details": [PER_DAY]}}, "quota"),
    "OpenAI's credit": (429, {"error": {"code": "insufficient_quota", "message": "m"}}, "quota"),
    "payment": (402, "Payment Required", "quota"),
    "a time-out of the server": (408, "", "unavailable"),
    "an error of the server": (500, "<html>", "unavailable"),
    "overloaded": (529, {"error": "overloaded"}, "unavailable"),
}


@pytest.mark.parametrize(("status", "body", "kind"), STATUSES.values(), ids=STATUSES)
def test_a_status_and_the_providers_words_tell_the_kind_of_failure(status: int, body: Any, kind: Kind) -> None:
    failure = failure_of_status(status, {}, body)
    assert failure.kind == kind
    assert failure.reason.startswith(f"{status}: ")
    assert failure.passing == (kind in ("rate", "unavailable"))


WAITS: dict[str, tuple[dict[str, str], str, float | None]] = {
    "seconds": ({"Retry-After": "7"}, "", 7.0),
    "milliseconds win": ({"retry-after-ms": "250", "retry-after": "7"}, "", 0.25),
    "a date": ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, "", 30.0),
    "a date that has passed": ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, "", 0.0),
    "a date without a zone": ({"retry-after": "Sat, 21 Nov 2026 12:00:05 -0000"}, "", 5.0),
    "Google's detail": ({}, '{"retryDelay": "34s"}', 34.0),
    "words": ({"retry-after": "soon"}, "", None),
    "a negative number": ({"retry-after": "-1"}, "", None),
    "nothing": ({}, "", None),
}


@pytest.mark.parametrize(("headers", "body", "seconds"), WAITS.values(), ids=WAITS)
def test_the_wait_is_read_in_every_form_it_comes_in(headers: dict[str, str], body: str, seconds: float | None) -> None:
    assert retry_after_seconds(headers, body, NOW) == seconds


ENDPOINT = Endpoint("openai", "gpt", "http://a/v1", SecretStr("sk-secret"), "OPENAI_API_KEY", "OPENAI_MODEL_NAME")


@pytest.mark.parametrize("kind", ["key", "model", "request", "too_long", "rate", "quota", "unavailable", "reply"])
def test_every_error_names_provider_and_model_and_no_key(kind: Kind) -> None:
    error = error_of(Failure(kind, "said sk-secret aloud " + "x" * 1_000), ENDPOINT, 3)
    assert "'openai'" in str(error)
    assert "'gpt'" in str(error)
    assert "sk-secret" not in str(error) + repr(error) + repr(error.params)
    assert len(str(error)) < 800


def test_a_cause_that_shows_the_key_is_replaced_wherever_it_stands_in_the_chain() -> None:
    inner, outer = ValueError("key sk-secret"), RuntimeError("outer")
    outer.__cause__ = inner
    assert isinstance(safe_cause(outer, ENDPOINT.key), HiddenCause)
    assert "sk-secret" not in repr(safe_cause(inner, ENDPOINT.key))
    assert safe_cause(RuntimeError("harmless"), ENDPOINT.key).args == ("harmless",)
