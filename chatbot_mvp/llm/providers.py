"""Which provider answers: what is configured, what was chosen, what responds. The App holds one ``Providers``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from chatbot_mvp.errors import ChatbotError, InvalidSetting, ProviderNotConfigured
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, ChatStream, Completion, Message
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.llm.registry import PROVIDERS, create_chat_model, create_remote_model, find_provider, is_installed
from chatbot_mvp.llm.reply_cache import ReplyCache
from chatbot_mvp.remote.limiter import set_process_cap
from chatbot_mvp.settings.model import AUTO, Settings
from chatbot_mvp.settings.saved import save_provider, saved_provider

_CHECK_SECONDS = 10.0
_MODEL_FIELDS = {
    name
    for name in Settings.model_fields
    if name.startswith(("provider", "gemini_", "groq_", "llm_", "nim_", "openai_", "ollama_", "local_"))
}
"""Settings that a model is made from."""


@dataclass(frozen=True)
class ProviderCheck:
    """What came of trying a provider."""

    reachable: bool
    seconds: float | None
    """Of a short request; None where there was nothing to ask."""
    error: ChatbotError | None
    at: str
    """When, in ISO 8601 and UTC."""


@dataclass(frozen=True)
class ProviderStatus:
    """A provider as Admin, home page and doctor show it."""

    name: str
    configured: bool
    missing: str
    """Variables that have to be set ("A / B": one of them), or the command that installs its package; "" if none."""
    model: str
    """"" for the one without a language model."""
    chosen: bool
    always_shown: bool
    note: str
    """"small_model" where answers should not be relied on, else ""."""
    check: ProviderCheck | None
    """The latest try, if there was one."""


class Providers:
    """The providers under some settings. Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self._given = settings
        self._settings = self._resolved(settings)
        set_process_cap(settings.nim_max_concurrent_requests)
        self._models: dict[str, ChatModel] = {}
        self._checks: dict[str, ProviderCheck] = {}
        self._lock = threading.Lock()

    @property
    def settings(self) -> Settings:
        """The settings with the provider that is in use."""
        return self._settings

    @property
    def fixed(self) -> bool:
        """True if PROVIDER names one, so that nothing can be chosen in Admin."""
        return self._given.provider != AUTO

    @property
    def reason(self) -> str:
        """Why the provider in use is this one, to follow "because"."""
        if self.fixed:
            return "PROVIDER names it"
        _, reason = self._given.automatic_provider
        saved = saved_provider(self._given.app_settings_path)
        return "it was chosen in Admin" if saved in PROVIDERS else reason

    def statuses(self) -> list[ProviderStatus]:
        """Every provider, in the order of the registry."""
        return [self._status(name) for name in PROVIDERS]

    def choose(self, name: str) -> None:
        """Take a provider from now on, and after a restart.

        Raises:
            UnknownChoice: no such provider.
            ProviderNotConfigured: says what is missing.
            InvalidSetting: PROVIDER is set, and wins.
        """
        status = self._status(find_provider(name).name)
        if self.fixed:
            reason = f"it is set outside of Admin and wins over the choice of {name!r}; remove it there first"
            raise InvalidSetting(name="PROVIDER", found=self._given.provider, reason=reason)
        if not status.configured:
            raise ProviderNotConfigured(provider=name, missing=status.missing)
        save_provider(self._given.app_settings_path, name)
        self._settings = self._given.with_changes(provider=name)

    def take(self, settings: Settings) -> None:
        """Go on with other settings; the provider that was chosen stays."""
        self._given = settings
        self._settings = self._resolved(settings)
        set_process_cap(settings.nim_max_concurrent_requests)

    def require_chosen(self) -> None:
        """Fails where the provider that is in use cannot be used; asks nobody.

        Raises:
            UnknownChoice, ProviderNotConfigured
        """
        status = self._status(find_provider(self._settings.provider).name)
        if not status.configured:
            raise ProviderNotConfigured(provider=status.name, missing=status.missing)

    def check(self, name: str) -> ProviderCheck:
        """Try a provider with one short request; the result is kept for ``statuses``.

        Raises:
            UnknownChoice: no such provider.
        """
        provider = find_provider(name)
        seconds, error = None, None
        try:
            if provider.has_model:
                model = create_remote_model(self._given.with_changes(provider=name))
                seconds = model.check(min(_CHECK_SECONDS, self._given.nim_request_timeout))
        except ChatbotError as failure:
            error = failure
        check = ProviderCheck(error is None, seconds, error, datetime.now(UTC).isoformat(timespec="seconds"))
        with self._lock:
            self._checks[name] = check
        return check

    def check_configured(self) -> list[ProviderStatus]:
        """Try every provider that is configured, side by side; the statuses after that."""
        names = [status.name for status in self.statuses() if status.configured]
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(self.check, names))
        return self.statuses()

    def model(self, settings: Settings) -> ChatModel:
        """The model of ``settings``' provider, made once.

        Raises:
            UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting
        """
        key = settings.model_dump_json(include=_MODEL_FIELDS)
        with self._lock:
            if key not in self._models:
                self._models[key] = create_chat_model(settings)
            return self._models[key]

    def current(self) -> ChatModel:
        """A model that follows the choice in Admin. Making it needs nothing: what is missing is told by its calls."""
        return _Current(lambda: self._settings, self.model)

    def language_model(
        self, settings: Settings, seen: Callable[[Completion], None] = lambda _: None
    ) -> LanguageModel | None:
        """What retrieval may ask under some settings; None where the provider has no model or is not configured.

        Args:
            seen: told of every reply.
        """
        provider = PROVIDERS.get(settings.chosen_provider)
        if provider is None or not provider.has_model or provider.missing(settings):
            return None
        options = ChatOptions(max_tokens=settings.llm_max_tokens)

        def ask(prompt: str) -> str:
            completion = self.model(settings).complete(ChatRequest((Message("user", prompt),), options))
            seen(completion)
            return completion.text

        return LanguageModel(settings.language_model, ask)

    def reply_cache(self) -> ReplyCache:
        """The replies that are kept on disk."""
        return ReplyCache(self._given.reply_cache_path)

    def _resolved(self, settings: Settings) -> Settings:
        saved = "" if settings.provider != AUTO else saved_provider(settings.app_settings_path)
        return settings.with_changes(provider=saved if saved in PROVIDERS else settings.chosen_provider)

    def _status(self, name: str) -> ProviderStatus:
        provider = PROVIDERS[name]
        missing = provider.missing(self._given)
        if not missing and not is_installed(provider):
            missing = provider.command
        return ProviderStatus(
            name,
            configured=not missing,
            missing=missing,
            model=self._given.model_of(name),
            chosen=name == self._settings.provider,
            always_shown=provider.always_shown,
            note=provider.note(self._given),
            check=self._checks.get(name),
        )


class _Current:
    """A ``ChatModel`` that asks the provider which is chosen at the time of the call."""

    def __init__(self, settings: Callable[[], Settings], model: Callable[[Settings], ChatModel]) -> None:
        self._settings = settings
        self._model = model

    @property
    def name(self) -> str:
        return self._settings().language_model

    @property
    def needs_evidence(self) -> bool:
        return not find_provider(self._settings().chosen_provider).has_model

    def complete(self, request: ChatRequest) -> Completion:
        return self._model(self._settings()).complete(request)

    def stream(self, request: ChatRequest) -> ChatStream:
        return self._model(self._settings()).stream(request)
