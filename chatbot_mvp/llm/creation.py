"""Create the language model of the chosen provider."""

from __future__ import annotations

from chatbot_mvp.errors import MissingPackage, ProviderNotConfigured
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.context_length import chars_of, context_chars
from chatbot_mvp.llm.prices import load_prices
from chatbot_mvp.llm.registry import find_provider
from chatbot_mvp.llm.remote_model import RemoteModel
from chatbot_mvp.llm.reply_cache import CachedModel, ReplyCache
from chatbot_mvp.remote.http import JsonEndpoint, calls_for
from chatbot_mvp.settings.model import Settings

_CONNECT_SECONDS = 10.0


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
        return chars_of(settings.local_context_tokens, settings.llm_max_tokens)
    if not provider.tells_context or provider.missing(settings):
        return None
    endpoint = provider.endpoint(settings)
    # One short try: without an answer, the chat's usual context is used.
    impatient = settings.with_changes(nim_max_retries=0)
    timeout = min(settings.nim_request_timeout, _CONNECT_SECONDS)
    listing = JsonEndpoint(calls_for(endpoint, impatient, provider.concurrency), timeout)
    return context_chars(listing, endpoint.model, settings.llm_max_tokens)
