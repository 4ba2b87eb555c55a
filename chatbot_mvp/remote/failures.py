"""Classifies failed requests to a provider and converts them to errors. Keys are removed from all texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import SecretStr

from chatbot_mvp.errors import (
    ChatbotError,
    ProviderBadRequest,
    ProviderError,
    ProviderPromptTooLong,
    ProviderQuotaExhausted,
    ProviderRateLimited,
    ProviderReplyUnusable,
    ProviderUnavailable,
)
from chatbot_mvp.remote.retry_after import retry_after_seconds

Kind = Literal["key", "model", "request", "too_long", "rate", "quota", "unavailable", "reply"]

_REASON_CHARS = 300
_HIDDEN = "***"
_SHORTEST_KEY = 4

_TOO_LONG = re.compile(
    r"context.?(length|size|window)|maximum context|too many (input )?tokens|token count .{0,40}exceeds|"
    r"prompt is too long|request too large|reduce the length",
    re.I,
)
_QUOTA = re.compile(r"insufficient_quota|per.?day|daily|\((TPD|RPD)\)", re.I)
"""Does not match "exceeded your current quota": Gemini also says that when a per-minute limit is reached."""
_BAD_KEY = re.compile(r"api.?key (not valid|expired|not found|invalid)|API_KEY_INVALID|invalid api.?key", re.I)

OF_ONE_REQUEST = (
    ProviderBadRequest,
    ProviderPromptTooLong,
    ProviderRateLimited,
    ProviderReplyUnusable,
    ProviderUnavailable,
)
"""Errors that concern one request only. Any other (wrong key, no quota, unknown model) makes all requests fail."""

PASSING = (ProviderRateLimited, ProviderUnavailable)
"""Those of ``OF_ONE_REQUEST`` after which the same request may succeed later."""


def concerns_one_request(error: Exception) -> bool:
    """Return whether other requests may succeed after this error."""
    return isinstance(error, OF_ONE_REQUEST)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go: provider, model, address and key, and the settings that hold them."""

    provider: str
    model: str
    base_url: str
    key: SecretStr = field(default_factory=lambda: SecretStr(""))
    key_variable: str = ""
    """The environment variable that holds the key."""
    model_variable: str = ""
    """The environment variable that names the model."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request failed, in terms common to all providers."""

    kind: Kind
    reason: str
    retry_after: float | None = None
    """Seconds that the provider asked to wait; None if it did not."""

    @property
    def passing(self) -> bool:
        """True if the same request may succeed later."""
        return self.kind in ("rate", "unavailable")


def failure_of_status(status: int, headers: Mapping[str, str], body: Any) -> Failure:
    """Classify an HTTP status of 300 or more. ``body`` is the decoded JSON, or text if it is not JSON."""
    if status < 400:
        return redirected(headers)
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    reason = f"{status}: {_said(body)}"
    kind: Kind = "request"
    if status == 429:
        kind = "quota" if _QUOTA.search(text) else "rate"
    elif status >= 500 or status in (408, 425):
        kind = "unavailable"
    elif status == 402:
        kind = "quota"
    elif status in (401, 403) or _BAD_KEY.search(text):
        kind = "key"
    elif status == 404:
        kind = "model"
    elif status == 413 or (status in (400, 422) and _TOO_LONG.search(text)):
        kind = "too_long"
    return Failure(kind, reason, retry_after_seconds(headers, text) if kind in ("rate", "unavailable") else None)


def redirected(headers: Mapping[str, str]) -> Failure:
    """Return the failure of a reply that names another address. It is not followed: it would get the passages."""
    to = headers.get("location") or headers.get("Location") or "an address that it does not name"
    return Failure(
        "request", f"it redirects to {to}, and no redirect is followed; if that is the right address, set it"
    )


def _said(body: Any) -> str:
    """Return the provider's own error message, from wherever its JSON holds it."""
    found = body
    for name in ("error", "message", "detail"):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return " ".join(text.split()).rstrip(".") or "no text"


def error_of(failure: Failure, endpoint: Endpoint, tries: int = 1) -> ChatbotError:
    """Return the ProviderError for a failure; the key is removed and the reason shortened to 300 characters."""
    reason = scrub(failure.reason, endpoint.key)
    if len(reason) > _REASON_CHARS:
        reason = reason[:_REASON_CHARS].rstrip() + "…"
    common = {"provider": endpoint.provider, "model": endpoint.model, "reason": reason}
    address = endpoint.base_url
    match failure.kind:
        case "key":
            return ProviderError("provider_key_refused", **common, variable=endpoint.key_variable)
        case "model":
            return ProviderError("provider_model_unknown", **common, address=address, variable=endpoint.model_variable)
        case "request":
            return ProviderBadRequest(**common)
        case "too_long":
            return ProviderPromptTooLong(**common)
        case "rate":
            return ProviderRateLimited(**common, tries=tries)
        case "quota":
            return ProviderQuotaExhausted(**common)
        case "unavailable":
            return ProviderUnavailable(**common, address=address, tries=tries)
        case "reply":
            return ProviderReplyUnusable(**common)


class HiddenCause(Exception):
    """Replaces an exception whose text contained a key."""


def safe_cause(error: BaseException, key: SecretStr) -> BaseException:
    """Return ``error`` if it can be chained safely; a ``HiddenCause`` if it or one of its causes shows the key."""
    secret = _secret(key)
    seen: BaseException | None = error
    while secret and seen is not None:
        if secret in f"{seen}{seen!r}":
            return HiddenCause(scrub(f"{type(error).__name__}: {error}", key))
        seen = seen.__cause__ or seen.__context__
    return error


def scrub(text: str, key: SecretStr) -> str:
    """Return ``text`` with the key replaced by ``***``."""
    secret = _secret(key)
    return text.replace(secret, _HIDDEN) if secret else text


def _secret(key: SecretStr) -> str:
    """Return the key; "" if it is too short to be a real key, because it would match ordinary text."""
    secret = key.get_secret_value()
    return secret if len(secret) >= _SHORTEST_KEY else ""
