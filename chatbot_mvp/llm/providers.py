"""Which providers are configured, which one is chosen, which ones respond, and the models they give."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from chatbot_mvp.errors import ChatbotError, ProviderLeft, ProviderNotConfigured
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, ChatStream, Completion, Message
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.llm.creation import create_chat_model, create_remote_model
from chatbot_mvp.llm.registry import PROVIDERS, find_provider, is_installed
from chatbot_mvp.llm.remote_model import RemoteModel
from chatbot_mvp.llm.reply_cache import ReplyCache
from chatbot_mvp.llm.wrapped import WrappedStream
from chatbot_mvp.remote.limiter import set_process_cap
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.fields import ADDRESS_SETTINGS, MODEL_SETTINGS, PROVIDER_SETTINGS, ROWS
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.types import T

_CHECK_SECONDS = 10.0
_TRIAL = "Responda con una sola palabra: listo"
_TRIAL_CHARS = 80
_OTHER_MODEL = re.compile(r"embed|whisper|tts|dall-e|moderation|rerank|transcribe|realtime|image|speech|guard", re.I)
"""Names of models that answer no questions."""
_MODEL_FIELDS = {*PROVIDER_SETTINGS, *(name for name, row in ROWS.items() if row.group == "provider")}
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
    reply: str = ""
    """What its model answered, if it was asked a question."""


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
    note: str
    """"small_model" where answers should not be relied on, else ""."""
    check: ProviderCheck | None
    """The latest try, if there was one."""


class Providers(ModelSource):
    """The providers under the settings in effect. Safe to share between threads."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live
        self._models: dict[str, ChatModel] = {}
        self._checks: dict[str, ProviderCheck] = {}
        self._lock = threading.Lock()
        self._version = -1
        self._follow_settings()

    @property
    def chosen(self) -> str:
        """Name of the provider that is chosen at this moment."""
        return self._live.current.provider

    @property
    def fixed(self) -> bool:
        """True if PROVIDER names a provider, so that Admin cannot choose another one."""
        return self._live.provider_fixed

    @performs(Action.READ)
    def statuses(self) -> list[ProviderStatus]:
        """Every provider, in the order of the registry."""
        return [self._status(name) for name in PROVIDERS]

    @performs(Action.CHANGE_SETTINGS)
    def choose(self, name: str) -> None:
        """Use another provider from the next request on, and after a restart.

        Raises:
            UnknownChoice: there is no such provider.
            ProviderNotConfigured: the message names the missing variable or package.
            InvalidSetting: PROVIDER is set, and wins.
            ConfigurationError (choice_not_kept): the choice could not be written; nothing changes.
        """
        status = self._status(find_provider(name).name)
        if not status.configured and not self.fixed:
            raise ProviderNotConfigured(provider=name, missing=status.missing)
        self._live.choose_provider(name)

    def require_chosen(self) -> None:
        """Raise an error if the current provider cannot be used. Sends no request.

        Raises:
            UnknownChoice, ProviderNotConfigured
        """
        status = self._status(find_provider(self._live.current.provider).name)
        if not status.configured:
            raise ProviderNotConfigured(provider=status.name, missing=status.missing)

    def check(self, name: str) -> ProviderCheck:
        """Try a provider with one short request; the result is kept for ``statuses``.

        Raises:
            UnknownChoice: no such provider.
        """
        timeout_s = min(_CHECK_SECONDS, self._live.current.nim_request_timeout)
        return self._checked(name, lambda model: (model.check(timeout_s), ""))

    @performs(Action.CHECK)
    def try_out(self, name: str) -> ProviderCheck:
        """Ask a provider's model one short question; the result is kept for ``statuses``. It may cost a little.

        Raises:
            UnknownChoice: no such provider.
        """
        options = ChatOptions(max_tokens=self._live.current.llm_max_tokens)
        request = ChatRequest((Message("user", _TRIAL),), options)

        def ask(model: RemoteModel) -> tuple[float, str]:
            completion = model.complete(request)
            return completion.seconds, completion.text.strip()[:_TRIAL_CHARS]

        return self._checked(name, ask)

    def models(self, name: str, timeout_s: float = _CHECK_SECONDS, address: str = "") -> list[str]:
        """Ask a provider for the names of its models that may answer questions, in alphabetical order.

        Args:
            address: where to ask instead of at its own address.

        Raises:
            UnknownChoice: no such provider.
            ProviderNotConfigured, MissingPackage, InvalidSetting, ProviderError
        """
        settings, model = self._live.current, MODEL_SETTINGS.get(name, "")
        # The list tells which name to set, so it is asked for without one, too.
        changes = {model: "-"} if model and not getattr(settings, model) else {}
        changes |= {ADDRESS_SETTINGS[name]: address} if address else {}
        found = create_remote_model(settings.with_changes(provider=name, **changes)).models(timeout_s)
        return sorted(one for one in {*found} if not _OTHER_MODEL.search(one))

    def _checked(self, name: str, attempt: Callable[[RemoteModel], tuple[float, str]]) -> ProviderCheck:
        provider = find_provider(name)
        seconds, error, reply = None, None, ""
        try:
            if provider.has_model:
                impatient = self._live.current.with_changes(provider=name, nim_max_retries=0)
                seconds, reply = attempt(create_remote_model(impatient))
        except ChatbotError as failure:
            error = failure
        check = ProviderCheck(error is None, seconds, error, utc_now(), reply)
        with self._lock:
            self._checks[name] = check
        return check

    def forget_check(self, name: str) -> None:
        """Drop what came of trying a provider, whose key, address or model is another one now."""
        with self._lock:
            self._checks.pop(name, None)

    def check_configured(self) -> list[ProviderStatus]:
        """Try every provider that is configured, side by side; the statuses after that."""
        names = [status.name for status in self.statuses() if status.configured]
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(self.check, names))
        return self.statuses()

    @performs(Action.READ)
    def judge_for(self, provider: str) -> str:
        """Return a provider that can judge the answers of another one: the first that is configured; "" if none is.

        A model that is too small for reliable answers is none. Whoever starts a run decides whether texts go there.
        """
        able = (one for one in self.statuses() if one.configured and PROVIDERS[one.name].has_model and not one.note)
        return next((one.name for one in able if one.name != provider), "")

    def model(self, settings: Settings) -> ChatModel:
        """The model of ``settings``' provider, made once.

        Raises:
            UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting
        """
        self._follow_settings()
        # Written settings mask the secrets; a model with another key is another model.
        key = f"{settings.model_dump_json(include=_MODEL_FIELDS)} {settings.secret_values}"
        with self._lock:
            if key not in self._models:
                self._models[key] = create_chat_model(settings)
            return self._models[key]

    def current(self) -> ChatModel:
        """A model that sends each request to the provider that is chosen at that moment.

        A request that must be repeated after another provider was chosen is sent to that one. Making the model needs no
        configuration: its calls raise an error that names what is missing.
        """
        return _Current(self._live, self)

    @performs(Action.CHANGE_SETTINGS)
    def reply_cache(self) -> ReplyCache:
        """The replies that are kept on disk."""
        return ReplyCache(self._live.current.reply_cache_path)

    def _follow_settings(self) -> None:
        # The settings, not a run or a check, say how many requests one provider may get from this process.
        now = self._live.snapshot
        if now.version != self._version:
            settings = now.settings
            set_process_cap(settings.nim_max_concurrent_requests, settings.nim_max_requests_per_second)
            self._version = now.version

    def _status(self, name: str) -> ProviderStatus:
        provider, settings = PROVIDERS[name], self._live.current
        missing = provider.missing(settings)
        if not missing and not is_installed(provider):
            missing = provider.command
        return ProviderStatus(
            name,
            configured=not missing,
            missing=missing,
            model=settings.model_of(name),
            chosen=name == settings.provider,
            note=provider.note(settings),
            check=self._checks.get(name),
        )


class _Current:
    """A ``ChatModel`` that sends each request to the provider that is chosen at that moment."""

    def __init__(self, live: LiveSettings, providers: Providers) -> None:
        self._live = live
        self._providers = providers

    @property
    def name(self) -> str:
        return self._live.current.language_model

    @property
    def needs_evidence(self) -> bool:
        return not find_provider(self._live.current.provider).has_model

    def complete(self, request: ChatRequest) -> Completion:
        return _until_chosen(lambda: self._now().complete(request))

    def stream(self, request: ChatRequest) -> ChatStream:
        return _CurrentStream(lambda: self._now().stream(request))

    def _now(self) -> ChatModel:
        settings = self._live.current
        return following(self._providers, settings.provider).model(settings)


class _CurrentStream(WrappedStream):
    """A stream that begins again at the provider chosen now, if the one before was left before its first piece."""

    def __init__(self, open_now: Callable[[], ChatStream]) -> None:
        super().__init__(_until_chosen(open_now))
        self._open_now = open_now
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        began = False
        while True:
            try:
                for piece in self._stream:
                    began = True
                    yield piece
                return
            except ProviderLeft:
                if began or self._closed:
                    raise
                self._stream = _until_chosen(self._open_now)

    def close(self) -> None:
        self._closed = True
        super().close()


def _until_chosen(ask: Callable[[], T]) -> T:
    while True:
        try:
            return ask()
        except ProviderLeft:
            continue  # the next try asks the provider that is chosen now


def following(source: ModelSource, provider: str) -> ModelSource:
    """The models of work that goes on with the provider that is chosen then: a request to ``provider``, once it was
    left, raises ``ProviderLeft``.
    """
    return source.while_chosen(provider, lambda now: ProviderLeft(provider=provider, chosen=now))
