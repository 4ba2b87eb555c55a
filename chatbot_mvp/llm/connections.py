"""How each provider is connected, for people who connect one: what it needs, where texts go, what it costs."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from chatbot_mvp import logs
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.prices import PriceRow, Prices, load_prices, question_usage
from chatbot_mvp.llm.provider import Provider
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.llm.registry import PROVIDERS, find_provider, is_installed
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.connections import KeyState, ProviderAccess
from chatbot_mvp.settings.fields import MODEL_SETTINGS
from chatbot_mvp.settings.keys import KeyPlace
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings

ConnectionState = Literal["ready", "needs_key", "needs_model", "not_running", "not_installed"]

_PORT_S, _LOOK_S = 0.3, 2.0
_USUAL_PORTS = {"Ollama": 11434, "llama.cpp": 8080, "vLLM": 8000, "LM Studio": 1234}
"""Servers of models that speak OpenAI's protocol without a key, and where they listen unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A provider as Admin connects it."""

    name: str
    state: ConnectionState
    command: str
    """What installs its package."""
    key: KeyState | None
    """None for a provider without keys."""
    key_url: str
    """Page where a key is made; "" if not known."""
    address: str
    """Of the server; "" for a provider without one."""
    address_changeable: bool
    model: str
    """"" if none is chosen, or it has none."""
    model_changeable: bool
    """Whether Admin may choose another model of the same provider."""
    models: tuple[str, ...] | None
    """Names of its models as last listed; None if they were not."""
    stays_here: bool
    """Whether questions and passages stay on this machine."""
    usd_per_thousand: float | None
    """US dollars for a thousand usual questions; None if the price is not known."""
    price: PriceRow | None


class Connections:
    """Connects providers: keys, addresses and models. Safe to share between sessions."""

    def __init__(self, live: LiveSettings, providers: Providers) -> None:
        self._live = live
        self._providers = providers
        self._access = ProviderAccess(live)
        self._listed: dict[tuple[str, str], tuple[str, ...]] = {}
        logs.mask(live.current.secret_values)

    @performs(Action.CHECK)
    def all(self) -> list[Connection]:
        """Describe every provider, in the order of the registry.

        A server that should be at work on this machine is tried, which takes no time; no request goes elsewhere.
        """
        settings = self._live.current
        prices = load_prices(settings.data_dir / "prices.toml")
        return [self._of(provider, settings, prices) for provider in PROVIDERS.values()]

    @performs(Action.CHANGE_SETTINGS)
    def connect(self, name: str, key: str = "", address: str | None = None, place: KeyPlace = "memory") -> None:
        """Put a key, an address or both into effect; arguments and errors are those of ``ProviderAccess.connect``.

        The provider in use stays in use.
        """
        # Before it is used, so that no line of a log can have it.
        logs.mask([key.strip()])
        if not self._providers.fixed:
            # A key alone sends nobody's documents anywhere: "auto" would follow some keys and addresses.
            self._live.choose_provider(self._providers.chosen)
        provider = find_provider(name)
        # Shown where none is set, the vendor's own address stays unset: with one, NIM counts as one's own server.
        where = "" if address == provider.usual_address else address
        self._access.connect(provider.name, key, where, place)
        self._providers.forget_check(name)

    @performs(Action.CHANGE_SETTINGS)
    def forget_key(self, name: str) -> None:
        """Remove the key of a provider from where it is kept; errors are those of ``ProviderAccess.forget_key``."""
        self._access.forget_key(find_provider(name).name)
        self._providers.forget_check(name)

    @performs(Action.CHECK)
    def list_models(self, name: str) -> Sequence[str]:
        """Ask a provider for its models, and keep the list; errors are those of ``Providers.models``."""
        found = tuple(self._providers.models(name))
        self._listed[name, PROVIDERS[name].base_url(self._live.current)] = found
        return found

    @performs(Action.CHECK)
    def servers_here(self) -> dict[str, str]:
        """Return the servers of models that listen at their usual ports on this machine: name -> address.

        What listens there is asked for its models, and left out if it names none.
        """
        found = {}
        for name, port in _USUAL_PORTS.items():
            address = f"http://127.0.0.1:{port}/v1"
            with suppress(ChatbotError):
                if _listens(address) and (models := self._providers.models("ollama", _LOOK_S, address)):
                    self._listed["ollama", address] = tuple(models)
                    found[name] = address
        return found

    @performs(Action.CHANGE_SETTINGS)
    def choose_model(self, name: str, model: str) -> None:
        """Choose the model of a provider; errors are those of ``LiveSettings.change``."""
        self._live.change(MODEL_SETTINGS[name], model.strip())
        self._providers.forget_check(name)

    def _of(self, provider: Provider, settings: Settings, prices: Prices) -> Connection:
        name, has_address = provider.name, provider.compatible
        address = provider.base_url(settings) if has_address else ""
        here = not provider.has_model or bool(provider.place) or is_loopback(provider.base_url(settings))
        listens = not (provider.own_server and here) or _listens(address)
        if listens and provider.own_server and here and (name, address) not in self._listed:
            self._listed[name, address] = ()  # what accepts connections and says nothing is waited for once
            with suppress(ChatbotError):
                self._listed[name, address] = tuple(self._providers.models(name, _LOOK_S))
        model = settings.model_of(name)
        cost, price = 0.0 if here else None, None  # the table has the prices of the vendors' own servers
        if not here and (not has_address or address == provider.usual_address):
            cost = prices.cost(name, model, question_usage(settings.kb_max_context_chars))
            price = prices.row(name, model)
        variable = MODEL_SETTINGS.get(name, "")
        return Connection(
            name,
            _state(provider, settings, listens),
            provider.command,
            self._access.key_state(name) if provider.keys else None,
            provider.key_url,
            address,
            has_address and self._access.address_changeable(name),
            model,
            bool(variable) and self._live.changeable(variable),
            self._listed.get((name, provider.base_url(settings))),
            here,
            None if cost is None else 1_000 * cost,
            price,
        )


def _state(provider: Provider, settings: Settings, listens: bool) -> ConnectionState:
    if not is_installed(provider):
        return "not_installed"
    if provider.keys and provider.missing(settings):
        return "needs_key"
    if not listens:
        return "not_running"
    return "needs_model" if provider.missing(settings) else "ready"


def is_loopback(address: str) -> bool:
    """Return whether an address is one of this machine."""
    host = urlsplit(address).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _listens(address: str) -> bool:
    parts = urlsplit(address)
    with suppress(OSError, ValueError):
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), _PORT_S):
            return True
    return False
