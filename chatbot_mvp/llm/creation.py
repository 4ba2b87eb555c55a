"""Create the language model of the chosen provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatbot_mvp.errors import MissingPackage, ProviderError, ProviderNotConfigured
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.prices import load_prices
from chatbot_mvp.llm.registry import find_provider
from chatbot_mvp.llm.remote_model import RemoteModel
from chatbot_mvp.llm.reply_cache import CachedModel, ReplyCache
from chatbot_mvp.remote.http import JsonEndpoint, calls_for
from chatbot_mvp.settings.model import Settings

_CONNECT_SECONDS = 10.0
_CHARS_PER_TOKEN = 3
"""Spanish and English have 3.5 to 4.5 characters per token; the lower figure leaves a margin."""
_CONTEXT_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length")


def create_remote_model(settings: Settings) -> RemoteModel:
    """Create the model of the chosen provider, without the reply cache.

    Raises:
        UnknownChoice: no such provider.
        ProviderNotConfigured: a setting is missing, or the provider has no language model.
        MissingPackage: its SDK is not installed.
        InvalidSetting: the file of ``local`` or the price table cannot be read.
    """
    provider = find_provider(settings.chosen_provider)
    if provider.wire is None:
        raise ProviderNotConfigured(provider=provider.name, missing="PROVIDER")
    if missing := provider.missing(settings):
        raise ProviderNotConfigured(provider=provider.name, missing=missing)
    endpoint = provider.endpoint(settings)
    try:
        wire = provider.wire(endpoint, settings)
    except ImportError as error:
        feature = f"The provider {provider.name!r}"
        raise MissingPackage(feature=feature, package=provider.package, command=provider.command) from error
    prices = load_prices(settings.data_dir / "prices.toml")
    return RemoteModel(
        wire,
        calls_for(endpoint, settings, provider.concurrency),
        lambda usage: prices.cost(endpoint.provider, endpoint.model, usage),
    )


def create_chat_model(settings: Settings) -> ChatModel:
    """Create the model of the chosen provider for chat, generator and judge: limited, retried and cached.

    Raises:
        UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting: as in ``create_remote_model``.
    """
    if not find_provider(settings.chosen_provider).has_model:
        from chatbot_mvp.llm.demo import DemoModel

        return DemoModel()
    model = create_remote_model(settings)
    if not settings.llm_cache_enabled:
        return model
    return CachedModel(model, ReplyCache(settings.reply_cache_path), model.address)


def readable_chars(settings: Settings) -> int | None:
    """Return the characters of context that fit in the chosen model next to its longest reply; None if not known."""
    provider = find_provider(settings.chosen_provider)
    if provider.name == "local":
        return _chars_of(settings.local_context_tokens, settings.llm_max_tokens)
    if not provider.tells_context or provider.missing(settings):
        return None
    endpoint = provider.endpoint(settings)
    # One short try: without an answer, the chat's usual context is used.
    impatient = settings.with_changes(nim_max_retries=0)
    timeout = min(settings.nim_request_timeout, _CONNECT_SECONDS)
    listing = JsonEndpoint(calls_for(endpoint, impatient, provider.concurrency), timeout)
    return context_chars(listing, endpoint.model, settings.llm_max_tokens)


def context_chars(endpoint: JsonEndpoint, model: str, reply_tokens: int) -> int | None:
    """Return the characters of prompt that fit next to a reply of ``reply_tokens``; None if the length is not known."""
    try:
        tokens = context_tokens(endpoint, model)
    except ProviderError:
        return None
    return None if tokens is None else _chars_of(tokens, reply_tokens)


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
    found: list[Any] = [row.get(name) for name in _CONTEXT_NAMES]
    if isinstance(meta, Mapping):
        found += [meta.get("n_ctx"), meta.get("n_ctx_train")]
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def _chars_of(tokens: int, reply_tokens: int) -> int:
    """Return the characters of prompt that fit in a context of ``tokens`` together with the reply."""
    return max(0, tokens - reply_tokens) * _CHARS_PER_TOKEN
