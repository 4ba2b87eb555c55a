"""Error replies in the form that OpenAI's clients expect."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from chatbot_mvp.errors import ChatbotError, ConfigurationError


class BadRequest(Exception):
    """A request that is refused, with the reply that says why."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"error": {"message": message, "type": kind, "param": param, "code": code}}

    def response(self, **headers: str) -> Response:
        return JSONResponse(self.body, self.status, headers={k.replace("_", "-"): v for k, v in headers.items()})


_OF_PROVIDER = {
    "provider_key_refused": (401, "authentication_error", "invalid_api_key"),
    "provider_model_unknown": (404, "invalid_request_error", "model_not_found"),
    "provider_bad_request": (400, "invalid_request_error", "provider_bad_request"),
    "provider_prompt_too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "provider_rate_limited": (429, "rate_limit_error", "rate_limit_exceeded"),
    "provider_quota_exhausted": (429, "insufficient_quota", "insufficient_quota"),
}
"""Code of an error -> its status, type and code in the protocol, by which clients decide whether to ask again."""


def refusal_of(error: ChatbotError) -> BadRequest:
    """Return the reply for an error of the project: what the protocol has for it, 400 for a wrong request, else 502."""
    if error.code in _OF_PROVIDER:
        return BadRequest(str(error), *_OF_PROVIDER[error.code])
    wrong = isinstance(error, ConfigurationError)
    kind = "invalid_request_error" if wrong else "server_error"
    return BadRequest(str(error), 400 if wrong else 502, kind, error.code or None)


def no_model(model: str) -> BadRequest:
    return BadRequest(f"There is no model {model!r}; /v1/models lists the available ones.", 404, code="model_not_found")
