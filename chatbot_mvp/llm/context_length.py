"""How much a model behind an OpenAI-like endpoint can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatbot_mvp.errors import ProviderError
from chatbot_mvp.remote.http import JsonEndpoint

_CHARS_PER_TOKEN = 3
"""Spanish and English need 3.5 to 4.5; the lower figure leaves room."""
_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length")


def context_tokens(endpoint: JsonEndpoint, model: str) -> int | None:
    """Tokens of prompt and reply together, as ``/v1/models`` tells them; None where it does not.

    NIM and vLLM call it ``max_model_len``, groq ``context_window``, llama.cpp ``meta.n_ctx``.

    Raises:
        ProviderError: the endpoint did not answer.
    """
    listed = endpoint.get("models")
    rows = listed.get("data", []) if isinstance(listed, Mapping) else []
    row = next((row for row in rows if isinstance(row, Mapping) and row.get("id") == model), None)
    if row is None:
        return None
    meta = row.get("meta")
    found: list[Any] = [row.get(name) for name in _NAMES]
    if isinstance(meta, Mapping):
        found += [meta.get("n_ctx"), meta.get("n_ctx_train")]
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def context_chars(endpoint: JsonEndpoint, model: str, reply_tokens: int) -> int | None:
    """Characters of context that fit beside a reply of ``reply_tokens``; None where the length is not told."""
    try:
        tokens = context_tokens(endpoint, model)
    except ProviderError:
        return None
    return None if tokens is None else chars_of(tokens, reply_tokens)


def chars_of(tokens: int, reply_tokens: int) -> int:
    """Characters of prompt in a context of ``tokens`` that also has to hold a reply."""
    return max(0, tokens - reply_tokens) * _CHARS_PER_TOKEN
