"""Runs a GGUF file in the process with llama.cpp (xllamacpp), as an OpenAI-compatible server on loopback."""

from __future__ import annotations

import os
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from chatbot_mvp.errors import InvalidSetting, MissingPackage

_PROMPT_CACHE_MIB = 256  # memory for processed prompts; the default is 8 GB
PARALLEL = 2
"""Maximum concurrent answers; further requests wait."""
SMALL_MODEL_BYTES = 1_500_000_000
"""Models in smaller files are too small to be reliable (about 2 billion parameters at 4 bits)."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A loaded model and the address of its server."""

    base_url: str
    key: SecretStr
    """Generated per process, so that other users of the machine cannot use the model."""
    handle: Any
    """Keeps the model in memory; the server stops when it is garbage-collected."""


_SERVERS: dict[tuple[str, int, int], LocalServer] = {}
_LOCK = threading.Lock()


def local_server(path: Path, model: str, context_tokens: int, threads: int) -> LocalServer:
    """Return the server of a GGUF file. The first call in a process loads it.

    Args:
        path: the GGUF file.
        model: name of the model in requests.
        context_tokens: context length of one request, prompt and answer together.
        threads: threads of the engine; 0: half the cores.

    Raises:
        MissingPackage: xllamacpp is not installed.
        InvalidSetting: the file cannot be loaded.
    """
    key = (str(path), context_tokens, threads)
    with _LOCK:
        if key not in _SERVERS:
            _SERVERS[key] = _load(path, model, context_tokens, threads or max(1, (os.cpu_count() or 2) // 2))
        return _SERVERS[key]


def _load(path: Path, model: str, context_tokens: int, threads: int) -> LocalServer:
    try:
        import xllamacpp
    except ImportError as error:
        command = "pip install 'chatbot-mvp[local]'"
        raise MissingPackage(feature="The provider 'local'", package="xllamacpp", command=command) from error
    token = secrets.token_urlsafe(24)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {model}
    params.n_ctx = context_tokens * PARALLEL
    params.n_parallel = PARALLEL
    # With more threads than free cores, threads wait for each other at every layer: slower than a single thread.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [token]
    params.ui = False
    params.verbosity = -1
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    # On a CPU, flash attention halves the speed of generation after about 1,000 tokens of context.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        reason = f"llama.cpp cannot load it: {error}"
        raise InvalidSetting(name="LOCAL_MODEL_PATH", found=str(path), reason=reason) from error
    return LocalServer(f"{server.listening_address}/v1", SecretStr(token), server)
