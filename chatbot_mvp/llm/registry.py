"""Registry of providers: one row each.

A provider with an API like OpenAI's needs no row: its key, model and address among ``settings.fields.providers`` are
enough. Any other provider has a row here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from chatbot_mvp.errors import InvalidSetting, UnknownChoice
from chatbot_mvp.llm.local_server import PARALLEL, SMALL_MODEL_BYTES, local_server
from chatbot_mvp.llm.provider import Provider
from chatbot_mvp.llm.wire import Wire
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import v1
from chatbot_mvp.remote.limiter import limiter_for
from chatbot_mvp.remote.lines import Lines
from chatbot_mvp.settings.fields.providers import ProviderFields
from chatbot_mvp.settings.kinds import marked
from chatbot_mvp.settings.model import Settings

NVIDIA_URL = "https://integrate.api.nvidia.com/v1"


def _gemini(endpoint: Endpoint, settings: Settings) -> Wire:
    from chatbot_mvp.llm.gemini_wire import GeminiWire

    return GeminiWire(endpoint.key, endpoint.base_url, endpoint.model, settings.nim_request_timeout)


def _groq(endpoint: Endpoint, settings: Settings) -> Wire:
    import groq

    return _over_sdk(groq, groq.Groq, endpoint, settings, endpoint.base_url, "max_completion_tokens", asks_usage=False)


def _openai(endpoint: Endpoint, settings: Settings, limit_name: str = "max_tokens") -> Wire:
    import openai

    return _over_sdk(openai, openai.OpenAI, endpoint, settings, v1(endpoint.base_url), limit_name)


def _over_sdk(
    sdk: ModuleType,
    client: Callable[..., Any],
    endpoint: Endpoint,
    settings: Settings,
    address: str,
    limit_name: str,
    asks_usage: bool = True,
) -> Wire:
    from chatbot_mvp.llm.openai_wire import OpenAiWire

    timeout = settings.nim_request_timeout
    # OpenAI's SDK rejects an empty key; a server without keys ignores this one.
    key = endpoint.key.get_secret_value() or "none"
    lines = Lines(
        lambda http: client(api_key=key, base_url=address, http_client=http, max_retries=0), timeout, endpoint.provider
    )
    return OpenAiWire(sdk, lines, endpoint.model, timeout, limit_name, asks_usage)


def _local(endpoint: Endpoint, settings: Settings) -> Wire:
    path = Path(settings.local_model_path)
    if not path.is_file():
        raise InvalidSetting(name="LOCAL_MODEL_PATH", found=str(path), reason="there is no such file")
    server = local_server(path, endpoint.model, settings.local_context_tokens, settings.local_threads)
    return _openai(replace(endpoint, base_url=server.base_url, key=server.key), settings)


def _small_model(settings: Settings) -> str:
    path = Path(settings.local_model_path)
    return "small_model" if path.is_file() and path.stat().st_size < SMALL_MODEL_BYTES else ""


def _huggingface(endpoint: Endpoint, settings: Settings) -> Wire:
    from chatbot_mvp.llm.huggingface_wire import HuggingFaceWire

    return HuggingFaceWire(settings.huggingface_model_name, settings.huggingface_options)


_ROWS = (
    Provider(
        "gemini",
        package="google.generativeai",
        command="pip install google-generativeai",
        wire=_gemini,
        key_url="https://aistudio.google.com/apikey",
    ),
    Provider(
        "groq",
        package="groq",
        command="pip install groq",
        wire=_groq,
        key_url="https://console.groq.com/keys",
    ),
    Provider(
        "nim",
        package="openai",
        command="pip install openai",
        usual_url=NVIDIA_URL,
        wire=_openai,
        tells_context=True,
        key_url="https://build.nvidia.com/settings/api-keys",
    ),
    Provider(
        "openai",
        package="openai",
        command="pip install openai",
        wire=partial(_openai, limit_name="max_completion_tokens"),
        tells_context=True,
        key_url="https://platform.openai.com/api-keys",
    ),
    Provider("ollama", needs=("ollama_model_name",), package="openai", command="pip install openai", wire=_openai),
    Provider(
        "local",
        needs=("local_model_path",),
        package="xllamacpp",
        command="pip install 'chatbot-mvp[local]'",
        place="local_model_path",
        wire=_local,
        concurrency=PARALLEL,
        note=_small_model,
    ),
    Provider(
        "huggingface",
        needs=("huggingface_model_name",),
        package="transformers",
        command="pip install 'chatbot-mvp[transformers]'",
        place="huggingface_model_name",
        wire=_huggingface,
        concurrency=1,
    ),
    Provider("demo", concurrency=1),
)


def _like_openai() -> Iterator[Provider]:
    described = {row.name for row in _ROWS}
    marks = filter(None, map(marked, ProviderFields.model_fields.values()))
    for name in dict.fromkeys(mark.provider for mark in marks if mark.provider not in described):
        yield Provider(name, package="openai", command="pip install openai", wire=_openai)


PROVIDERS: Mapping[str, Provider] = Registry("provider", Provider, (*_ROWS, *_like_openai()))
"""Value of ``PROVIDER`` -> its description. The SDK is imported when the model is created."""


def find_provider(name: str) -> Provider:
    """Return the provider called ``name``.

    Raises:
        UnknownChoice: no such provider.
    """
    if name not in PROVIDERS:
        raise UnknownChoice(kind="provider", found=name, legal=", ".join(PROVIDERS))
    return PROVIDERS[name]


def requests_at_once(settings: Settings) -> int:
    """Return the maximum number of concurrent requests to the chosen provider, within the cap of the process."""
    provider = find_provider(settings.chosen_provider)
    limiter = limiter_for(provider.name, provider.base_url(settings), provider.concurrency)
    return min(settings.nim_max_concurrent_requests, limiter.concurrency)


def address_of(settings: Settings) -> tuple[str, str]:
    """Return the name and the address of the chosen provider, which together identify its limiter."""
    provider = find_provider(settings.chosen_provider)
    return provider.name, provider.base_url(settings)


def is_installed(provider: Provider) -> bool:
    """Return whether the provider's package can be imported."""
    if not provider.package:
        return True
    try:
        return importlib.util.find_spec(provider.package) is not None
    except ModuleNotFoundError:
        return False
