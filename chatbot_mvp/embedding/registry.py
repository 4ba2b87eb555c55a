"""The registry of embedding models."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.own.model_files import find_files
from chatbot_mvp.errors import EmbedderFileMissing, ProviderNotConfigured, UnknownChoice
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import JsonEndpoint, calls_for
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import (
    CT2_PREFIX,
    FASTEMBED_PREFIX,
    HUGGINGFACE_PREFIX,
    LOCAL_EMBEDDER,
    ONNX_PREFIX,
    Settings,
)


@cache
def _local_e5(models_dir: Path, threads: int) -> Embedder:
    """Load the local model once in a process, which takes 0.5 s and 200 MB."""
    from chatbot_mvp.embedding.e5.embedder import local_e5

    return local_e5(models_dir, threads)


def _own(name: str, settings: Settings) -> Embedder:
    from chatbot_mvp.embedding.own.embedder import own_embedder

    return own_embedder(name, settings.embedding_threads)


def _has_own(name: str) -> bool:
    try:
        find_files(name)
    except (EmbedderFileMissing, OSError):
        return False
    return True


def _fastembed(name: str, settings: Settings) -> Embedder:
    from chatbot_mvp.embedding.libraries import FastEmbedEmbedder

    return FastEmbedEmbedder(name, settings.models_dir / "fastembed", settings.embedding_threads)


def _huggingface(name: str, settings: Settings) -> Embedder:
    from chatbot_mvp.embedding.libraries import HuggingFaceEmbedder

    return HuggingFaceEmbedder(name, settings.models_dir / "huggingface")


@dataclass(frozen=True, slots=True)
class InProcess:
    """Models that run in this process, selected by the prefix of the model name."""

    prefix: str
    create: Callable[[str, Settings], Embedder]
    """Imports the model's package when called."""
    is_there: Callable[[str], bool]
    """Returns whether the model's files or its package are installed. Loads no model."""


IN_PROCESS = (
    InProcess(ONNX_PREFIX, _own, _has_own),
    InProcess(CT2_PREFIX, _own, _has_own),
    InProcess(FASTEMBED_PREFIX, _fastembed, lambda _: find_spec("fastembed") is not None),
    InProcess(HUGGINGFACE_PREFIX, _huggingface, lambda _: find_spec("sentence_transformers") is not None),
)
_BY_NAME = InProcess("sentence-transformers/", _huggingface, lambda _: find_spec("sentence_transformers") is not None)
"""Models that run in this process unless a server at EMBEDDING_BASE_URL may have them."""


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
    """Create the embedder for the model ``name``.

    It runs in this process if the name says so. Otherwise it is at EMBEDDING_BASE_URL, or hosted by a vendor if that
    is empty.

    Raises:
        UnknownChoice: the name is neither in the registry nor has a known prefix, and EMBEDDING_BASE_URL is empty.
        EmbedderFileMissing, ConfigurationError: the files of a
            user's own model cannot be used.
        ConfigurationError: a model of fastembed or sentence-transformers cannot be downloaded.
        ProviderNotConfigured: the vendor's key is missing.
        MissingPackage: the model's package is not installed.
    """
    if name == LOCAL_EMBEDDER:
        return _local_e5(settings.models_dir, settings.embedding_threads)
    if own := _in_process(name):
        return own.create(name, settings)
    if base_url := settings.embedding_base_url:
        asymmetric = settings.embedding_model_type == "asymmetric"
        vendor: Hosted | None = Hosted("nim", "", "nvidia_api_key", base_url, asymmetric, True)
    elif name.startswith(_BY_NAME.prefix):
        return _BY_NAME.create(name, settings)
    else:
        vendor = _vendor(name)
    if vendor is None:
        prefixes = [found.prefix for found in (*IN_PROCESS, _BY_NAME, *HOSTED)]
        legal = ", ".join([LOCAL_EMBEDDER, *(f"{prefix}…" for prefix in prefixes), "any with EMBEDDING_BASE_URL"])
        raise UnknownChoice(kind="embedding model", found=name, legal=legal)
    key, variable = getattr(settings, vendor.key), vendor.key.upper()
    if not (base_url or key.get_secret_value()):
        raise ProviderNotConfigured(provider=vendor.provider, missing=variable)
    model = name if vendor.keeps_prefix else name.removeprefix(vendor.prefix)
    address = vendor.base_url or settings.openai_base_url
    endpoint = Endpoint(vendor.provider, model, address, key, variable, "EMBEDDING_MODEL_NAME")
    from chatbot_mvp.embedding.remote import RemoteEmbedder

    http = JsonEndpoint(calls_for(endpoint, settings), settings.nim_request_timeout)
    return RemoteEmbedder(http, vendor.asymmetric, settings.embedding_batch_size)


class Embedders:
    """The embedding models by name. Each is loaded at most once. Safe to share between threads."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live
        self._made: dict[str, Embedder] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Embedder:
        """The model of this name; the first call loads it.

        Raises:
            As ``create_embedder``.
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
    if name == LOCAL_EMBEDDER:
        return True
    if own := _in_process(name):
        return own.is_there(name)
    if base_url or settings.embedding_base_url:
        return base_url == settings.embedding_base_url
    if name.startswith(_BY_NAME.prefix):
        return _BY_NAME.is_there(name)
    vendor = _vendor(name)
    return vendor is not None and bool(getattr(settings, vendor.key).get_secret_value())


def _in_process(name: str) -> InProcess | None:
    return next((found for found in IN_PROCESS if name.startswith(found.prefix)), None)


def _vendor(name: str) -> Hosted | None:
    return next((vendor for vendor in HOSTED if name.startswith(vendor.prefix)), None)
