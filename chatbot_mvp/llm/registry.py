"""The registry of providers: one row each, everything else reads the rows."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from chatbot_mvp.errors import InvalidSetting, MissingPackage, ProviderNotConfigured, UnknownChoice
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.context_length import chars_of, context_chars
from chatbot_mvp.llm.local_server import PARALLEL, SMALL_MODEL_BYTES
from chatbot_mvp.llm.prices import load_prices
from chatbot_mvp.llm.remote_model import RemoteModel
from chatbot_mvp.llm.reply_cache import CachedModel, ReplyCache
from chatbot_mvp.llm.wire import Wire
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import JsonEndpoint, calls_for, v1
from chatbot_mvp.remote.limiter import limiter_for
from chatbot_mvp.settings.model import MODEL_SETTINGS, Settings

NVIDIA_URL = "https://integrate.api.nvidia.com/v1"
_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of a provider before anything of it is imported."""

    name: str
    keys: tuple[str, ...] = ()
    """Settings of which one must hold a key."""
    needs: tuple[str, ...] = ()
    """Settings that must not be empty."""
    package: str = ""
    """What is imported when the model is made."""
    command: str = ""
    """Installs it."""
    base_url: Callable[[Settings], str] = lambda settings: ""
    wire: Callable[[Endpoint, Settings], Wire] | None = None
    """None for the one without a language model."""
    always_shown: bool = False
    """Offered in Admin even where it is not configured."""
    concurrency: int | None = None
    """Requests that it can serve at the same time, where that is known."""
    tells_context: bool = False
    """Whether ``/v1/models`` may say how much its model can read."""

    @property
    def has_model(self) -> bool:
        """True if there is a language model behind it."""
        return self.wire is not None

    def key(self, settings: Settings) -> SecretStr:
        """The first key that is set; empty if none is."""
        found: list[SecretStr] = [getattr(settings, name) for name in self.keys]
        return next((key for key in found if key.get_secret_value()), SecretStr(""))

    def missing(self, settings: Settings) -> str:
        """The variables that have to be set before it can be used; "" if it can."""
        if self.name == "nim":
            # One's own NIM may ask for no key; NVIDIA's does.
            configured = settings.llm_base_url or self.key(settings).get_secret_value()
            return "" if configured else "LLM_BASE_URL / NVIDIA_API_KEY"
        if self.keys and not self.key(settings).get_secret_value():
            return " / ".join(name.upper() for name in self.keys)
        return ", ".join(name.upper() for name in self.needs if not getattr(settings, name))

    def note(self, settings: Settings) -> str:
        """ "small_model" where answers should not be relied on, else ""."""
        path = Path(settings.local_model_path)
        small = self.name == "local" and path.is_file() and path.stat().st_size < SMALL_MODEL_BYTES
        return "small_model" if small else ""

    def endpoint(self, settings: Settings) -> Endpoint:
        """Whom its requests go to."""
        variable = MODEL_SETTINGS.get(self.name, "local_model_path")
        return Endpoint(
            self.name,
            settings.model_of(self.name),
            self.base_url(settings),
            self.key(settings),
            " / ".join(name.upper() for name in self.keys),
            variable.upper(),
        )


def _gemini(endpoint: Endpoint, settings: Settings) -> Wire:
    from chatbot_mvp.llm.gemini_wire import GeminiWire

    return GeminiWire(endpoint.key, endpoint.base_url, endpoint.model, settings.nim_request_timeout)


def _groq(endpoint: Endpoint, settings: Settings) -> Wire:
    import groq
    import httpx

    from chatbot_mvp.llm.openai_wire import OpenAiWire

    timeout = settings.nim_request_timeout
    client = groq.Groq(
        api_key=endpoint.key.get_secret_value(),
        base_url=endpoint.base_url,
        timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
        max_retries=0,
    )
    return OpenAiWire(groq, client, endpoint.model, timeout, "max_completion_tokens", asks_usage=False)


def _openai_like(token_limit: str = "max_tokens") -> Callable[[Endpoint, Settings], Wire]:
    def make(endpoint: Endpoint, settings: Settings) -> Wire:
        import openai

        from chatbot_mvp.llm.openai_wire import OpenAiWire

        timeout = settings.nim_request_timeout
        client = openai.OpenAI(
            # The SDK takes no empty key; a server that asks for none does not look at this one.
            api_key=endpoint.key.get_secret_value() or "none",
            base_url=v1(endpoint.base_url),
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            max_retries=0,
        )
        return OpenAiWire(openai, client, endpoint.model, timeout, token_limit)

    return make


def _local(endpoint: Endpoint, settings: Settings) -> Wire:
    from dataclasses import replace

    from chatbot_mvp.llm.local_server import local_server

    path = Path(settings.local_model_path)
    if not path.is_file():
        raise InvalidSetting(name="LOCAL_MODEL_PATH", found=str(path), reason="there is no such file")
    server = local_server(path, endpoint.model, settings.local_context_tokens, settings.local_threads)
    return _openai_like()(replace(endpoint, base_url=server.base_url, key=server.key), settings)


_ROWS = (
    Provider(
        "gemini",
        keys=("gemini_api_key", "google_api_key"),
        package="google.generativeai",
        command="pip install google-generativeai",
        base_url=lambda settings: settings.gemini_base_url,
        wire=_gemini,
        always_shown=True,
    ),
    Provider(
        "groq",
        keys=("groq_api_key",),
        package="groq",
        command="pip install groq",
        base_url=lambda settings: settings.groq_base_url,
        wire=_groq,
        always_shown=True,
    ),
    Provider(
        "nim",
        keys=("nvidia_api_key",),
        package="openai",
        command="pip install openai",
        base_url=lambda settings: settings.llm_base_url or NVIDIA_URL,
        wire=_openai_like(),
        tells_context=True,
    ),
    Provider(
        "openai",
        keys=("openai_api_key",),
        package="openai",
        command="pip install openai",
        base_url=lambda settings: settings.openai_base_url,
        wire=_openai_like("max_completion_tokens"),
        tells_context=True,
    ),
    Provider(
        "ollama",
        needs=("ollama_model_name",),
        package="openai",
        command="pip install openai",
        base_url=lambda settings: settings.ollama_base_url,
        wire=_openai_like(),
    ),
    Provider(
        "local",
        needs=("local_model_path",),
        package="xllamacpp",
        command="pip install 'chatbot-mvp[local]'",
        base_url=lambda settings: settings.local_model_path,
        wire=_local,
        concurrency=PARALLEL,
    ),
    Provider("demo", always_shown=True, concurrency=1),
)
PROVIDERS: Mapping[str, Provider] = {row.name: row for row in _ROWS}
"""Name of the setting ``PROVIDER`` -> what is known of it. Its SDK is imported when its model is made."""


def find_provider(name: str) -> Provider:
    """
    Raises:
        UnknownChoice: no such provider.
    """
    if name not in PROVIDERS:
        raise UnknownChoice(kind="provider", found=name, legal=", ".join(PROVIDERS))
    return PROVIDERS[name]


def create_remote_model(settings: Settings) -> RemoteModel:
    """The chosen provider's model, not cached.

    Raises:
        UnknownChoice: no such provider.
        ProviderNotConfigured: says what is missing.
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
    """The chosen provider's model as chat, generator and judge use it: limited, retried, cached.

    Raises:
        UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting: as ``create_remote_model``.
    """
    if not find_provider(settings.chosen_provider).has_model:
        from chatbot_mvp.llm.demo import DemoModel

        return DemoModel()
    model = create_remote_model(settings)
    if not settings.llm_cache_enabled:
        return model
    return CachedModel(model, ReplyCache(settings.reply_cache_path), model.address)


def requests_at_once(settings: Settings) -> int:
    """How many requests the chosen provider gets at the same time: those of ``settings``, within the process's cap."""
    provider = find_provider(settings.chosen_provider)
    limiter = limiter_for(provider.name, provider.base_url(settings), provider.concurrency)
    return min(settings.nim_max_concurrent_requests, limiter.concurrency)


def address_of(settings: Settings) -> tuple[str, str]:
    """The chosen provider and where it is: what one limiter is for."""
    provider = find_provider(settings.chosen_provider)
    return provider.name, provider.base_url(settings)


def readable_chars(settings: Settings) -> int | None:
    """Characters of context that fit into the chosen model beside its longest reply; None where nobody tells."""
    provider = find_provider(settings.chosen_provider)
    if provider.name == "local":
        return chars_of(settings.local_context_tokens, settings.llm_max_tokens)
    if not provider.tells_context or provider.missing(settings):
        return None
    endpoint = provider.endpoint(settings)
    # One short try: whoever does not tell is asked for the chat's usual context.
    impatient = settings.with_changes(nim_max_retries=0)
    timeout = min(settings.nim_request_timeout, _CONNECT_SECONDS)
    listing = JsonEndpoint(calls_for(endpoint, impatient, provider.concurrency), timeout)
    return context_chars(listing, endpoint.model, settings.llm_max_tokens)


def is_installed(provider: Provider) -> bool:
    """True if its package can be imported."""
    if not provider.package:
        return True
    try:
        return importlib.util.find_spec(provider.package) is not None
    except ModuleNotFoundError:
        return False
