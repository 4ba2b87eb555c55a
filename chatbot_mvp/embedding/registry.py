"""The registry of embedding models."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.errors import ProviderNotConfigured, UnknownChoice
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import JsonEndpoint, calls_for
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import LOCAL_EMBEDDER, Settings


def _local_e5(settings: Settings) -> Embedder:
    from chatbot_mvp.embedding.e5.embedder import local_e5

    return local_e5(settings.models_dir, settings.embedding_threads)


EMBEDDERS: dict[str, Callable[[Settings], Embedder]] = {LOCAL_EMBEDDER: _local_e5}
"""Value of ``EMBEDDING_MODEL_NAME`` -> factory. A factory imports its package when called."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """A vendor's hosted endpoint, selected by the prefix of the model name."""

    provider: str
    prefix: str
    key: str
    """Name of the setting that holds the key."""
    base_url: str
    asymmetric: bool
    keeps_prefix: bool
    """True if the prefix is part of the vendor's own model names."""


HOSTED = (
    Hosted("nim", "nvidia/", "nvidia_api_key", "https://integrate.api.nvidia.com/v1", True, True),
    Hosted("openai", "openai/", "openai_api_key", "", False, False),
)


def create_embedder(name: str, settings: Settings) -> Embedder:
    """Create the embedder for the model ``name``: local, at EMBEDDING_BASE_URL if that is set, or hosted by a vendor.

    Raises:
        UnknownChoice: the name is neither in the registry nor of a known vendor, and EMBEDDING_BASE_URL is empty.
        ProviderNotConfigured: the vendor's key is missing.
        MissingPackage: the model's package is not installed.
    """
    if name in EMBEDDERS:
        return EMBEDDERS[name](settings)
    if settings.embedding_base_url:
        asymmetric = settings.embedding_model_type == "asymmetric"
        endpoint = Endpoint(
            "nim", name, settings.embedding_base_url, settings.nvidia_api_key, "NVIDIA_API_KEY", "EMBEDDING_MODEL_NAME"
        )
        return _remote(endpoint, asymmetric, settings)
    for vendor in HOSTED:
        if not name.startswith(vendor.prefix):
            continue
        key = getattr(settings, vendor.key)
        if not key.get_secret_value():
            raise ProviderNotConfigured(provider=vendor.provider, missing=vendor.key.upper())
        model = name if vendor.keeps_prefix else name.removeprefix(vendor.prefix)
        base_url = vendor.base_url or settings.openai_base_url
        variable = vendor.key.upper()
        endpoint = Endpoint(vendor.provider, model, base_url, key, variable, "EMBEDDING_MODEL_NAME")
        return _remote(endpoint, vendor.asymmetric, settings)
    legal = ", ".join([*EMBEDDERS, *(f"{vendor.prefix}…" for vendor in HOSTED), "any with EMBEDDING_BASE_URL"])
    raise UnknownChoice(kind="embedding model", found=name, legal=legal)


class Embedders:
    """The embedding models by name. Each is loaded at most once. Safe to share between threads."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live
        self._made: dict[str, Embedder] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Embedder:
        """The model of this name; the first call loads it.

        Raises:
            UnknownChoice, ProviderNotConfigured, MissingPackage
        """
        with self._lock:
            if name not in self._made:
                self._made[name] = self._create(name)
            return self._made[name]

    def of(self, settings: Settings) -> Embedder:
        """The model that ``settings`` name; raises as ``get``."""
        return self.get(settings.embedding_model_name)

    def _create(self, name: str) -> Embedder:
        return create_embedder(name, self._live.current)


def is_configured(name: str, settings: Settings, base_url: str = "") -> bool:
    """Return whether ``create_embedder`` would create the model ``name`` that was served at ``base_url``.

    ``base_url`` is "" for a model without an address. Sends no request and loads no model.
    """
    if name in EMBEDDERS:
        return True
    if base_url or settings.embedding_base_url:
        return base_url == settings.embedding_base_url
    vendor = next((vendor for vendor in HOSTED if name.startswith(vendor.prefix)), None)
    return vendor is not None and bool(getattr(settings, vendor.key).get_secret_value())


def _remote(endpoint: Endpoint, asymmetric: bool, settings: Settings) -> Embedder:
    from chatbot_mvp.embedding.remote import RemoteEmbedder

    http = JsonEndpoint(calls_for(endpoint, settings), settings.nim_request_timeout)
    return RemoteEmbedder(http, asymmetric, settings.embedding_batch_size)
