"""Finds the context length of a model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatbot_mvp.errors import ProviderError
from chatbot_mvp.remote.http import JsonEndpoint

_CHARS_PER_TOKEN = 3
"""Spanish and English have 3.5 to 4.5 characters per token; the lower figure leaves a margin."""
_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length")


def context_tokens(endpoint: JsonEndpoint, model: str) -> int | None:
    """Return the context length in tokens, prompt and reply together, from ``/v1/models``; None if not reported.

    NIM and vLLM call the field ``max_model_len``, groq ``context_window``, llama.cpp ``meta.n_ctx``.

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
    """Return the characters of prompt that fit next to a reply of ``reply_tokens``; None if the length is not known."""
    try:
        tokens = context_tokens(endpoint, model)
    except ProviderError:
        return None
    return None if tokens is None else chars_of(tokens, reply_tokens)


def chars_of(tokens: int, reply_tokens: int) -> int:
    """Return the characters of prompt that fit in a context of ``tokens`` together with the reply."""
    return max(0, tokens - reply_tokens) * _CHARS_PER_TOKEN
