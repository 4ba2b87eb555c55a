"""A server whose certificate nobody vouches for gets no request: TLS is verified everywhere, and the error says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.datasets.hotpotqa import _not_received
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.base import ChatRequest, Message
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.remote.download import download
from chatbot_mvp.remote.http import JsonEndpoint, calls_for
from chatbot_mvp.remote.s3 import S3Url, open_storage
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.loopback import LoopbackServer
from tests.tls import own_certificate, speak_tls

REQUEST = ChatRequest((Message("user", "secreto"),))


class _Handler(BaseHTTPRequestHandler):
    server: TlsServer

    def do_GET(self) -> None:
        self.server.heard.append(self.path)
        self.send_response(200)
        self.end_headers()

    do_POST = do_PUT = do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


class TlsServer(LoopbackServer):
    """Speaks TLS with a certificate that it signed itself. Keeps the paths of requests that reached it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(_Handler)
        self.heard: list[str] = []
        self.certificate = own_certificate(folder)
        speak_tls(self, self.certificate)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_port}"


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    with TlsServer(tmp_path_factory.mktemp("tls")) as server:
        yield server


def ask(**changes: str) -> Callable[[Settings, str], object]:
    """Ask a provider for an answer."""

    def call(settings: Settings, url: str) -> object:
        given = {name: value.replace("URL", url) for name, value in changes.items()}
        return create_chat_model(settings.with_changes(**given)).complete(REQUEST)

    return call


def stream(settings: Settings, url: str) -> object:
    own = settings.with_changes(provider="openai", openai_api_key="k", openai_base_url=url)
    return list(create_chat_model(own).stream(REQUEST))


def endpoint(settings: Settings, url: str) -> object:
    own = settings.with_changes(llm_base_url=url)
    return JsonEndpoint(calls_for(PROVIDERS["nim"].endpoint(own), own), 5.0).post("embeddings", {"input": ["secreto"]})


def fetched(settings: Settings, url: str) -> object:
    failed = partial(_not_received, url)
    return download(f"{url}/corpus.jsonl", settings.data_dir / "corpus.jsonl", failed, pause=0.01)


def stored(settings: Settings, url: str) -> object:
    storage = open_storage(settings.with_changes(minio_endpoint=url, minio_access_key="a", minio_secret_key="b"))
    assert storage is not None
    return storage.folders(S3Url("bucket", ""))


CALLS: dict[str, Callable[[Settings, str], object]] = {
    "openai": ask(provider="openai", openai_api_key="k", openai_base_url="URL"),
    "openai, streamed": stream,
    "groq": ask(provider="groq", groq_api_key="k", groq_base_url="URL"),
    "nim": ask(provider="nim", llm_base_url="URL"),
    "ollama": ask(provider="ollama", ollama_model_name="m", ollama_base_url="URL"),
    "gemini": ask(provider="gemini", gemini_api_key="k", gemini_base_url="URL"),
    "embeddings and reranking": endpoint,
    "download": fetched,
    "s3": stored,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_certificate_that_nobody_vouches_for_ends_the_connection(
    settings: Settings, tls: TlsServer, name: str
) -> None:
    tls.heard.clear()
    with pytest.raises(ChatbotError) as refused:
        CALLS[name](settings.with_changes(nim_max_retries=0, llm_cache_enabled=False), tls.url)
    assert "certificate" in str(refused.value).casefold()
    assert tls.heard == []


def test_a_certificate_of_the_installation_is_accepted(
    settings: Settings, tls: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An authority of one's own is named by SSL_CERT_FILE; the server then is heard, and this one gives no answer."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tls.certificate))
    with pytest.raises(ChatbotError) as refused:
        CALLS["openai"](settings.with_changes(nim_max_retries=0, llm_cache_enabled=False), tls.url)
    assert "certificate" not in str(refused.value).casefold()
    assert tls.heard == ["/v1/chat/completions"]


def test_no_source_file_switches_verification_off() -> None:
    files = [path for folder in ("chatbot_mvp", "streamlit_app") for path in (PROJECT_ROOT / folder).rglob("*.py")]
    assert len(files) > 100
    for word in ("verify=" + "False", "CERT_" + "NONE", "check_hostname" + " = False", "_create_unverified"):
        assert [path.name for path in files if word in path.read_text("utf-8")] == []
