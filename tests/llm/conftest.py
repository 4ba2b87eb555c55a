"""A real model server on loopback, a server in front of each provider, and the table of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tenacity import wait_random_exponential

from chatbot_mvp.app import App
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.local_server import LocalServer, local_server
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.remote import calls, limiter
from chatbot_mvp.settings.fields import ADDRESS_SETTINGS, MODEL_SETTINGS
from chatbot_mvp.settings.model import Settings
from tests.fakes import fake_app
from tests.llm.contract_table import Cells, render
from tests.llm.gemini_stub import MODEL as GEMINI_MODEL
from tests.llm.gemini_stub import GeminiStub
from tests.llm.http_stub import GroqProxy, Proxy, StubServer
from tests.llm.openai_stub import OpenAiStub
from tests.models import gguf

KEY = "sk-Secret-0123456789"
CONTEXT_TOKENS = 512
CELLS = pytest.StashKey[Cells]()

URLS = {
    name: (address, next(iter(PROVIDERS[name].keys), ""), MODEL_SETTINGS[name])
    for name, address in ADDRESS_SETTINGS.items()
}
"""Provider -> its settings for address, key and model."""


@dataclass(frozen=True)
class Rig:
    """A provider with what stands behind it."""

    provider: str
    settings: Settings
    server: StubServer | None
    """Takes the requests and misbehaves on demand; None where there is no network in between."""

    def model(self, **changes: object) -> ChatModel:
        """The model as the app makes it."""
        return create_chat_model(self.settings.with_changes(**changes))

    @property
    def front(self) -> StubServer:
        """The server, for a behaviour that needs one."""
        if self.server is None:
            reason = {"demo": "asks nobody", "local": "runs in the process: no network in between"}[self.provider]
            pytest.skip(reason)
        return self.server

    def needs_model(self) -> None:
        """Skip the behaviour for the provider without a language model."""
        if not PROVIDERS[self.provider].has_model:
            pytest.skip("has no language model")


@pytest.fixture(scope="session")
def llama() -> LocalServer:
    """llama.cpp's own server; one per session, so the tests that need it are of one xdist group."""
    path = gguf()
    return local_server(path, path.stem, CONTEXT_TOKENS, 1)


@pytest.fixture
def left() -> Iterator[OpenAiStub]:
    """The provider ``openai``, which a test chooses first and leaves."""
    with OpenAiStub() as stub:
        yield stub


@pytest.fixture
def chosen() -> Iterator[OpenAiStub]:
    """The provider ``ollama``, which a test chooses then."""
    with OpenAiStub() as stub:
        yield stub


def between(settings: Settings, left: OpenAiStub, chosen: OpenAiStub, **changes: Any) -> App:
    """An App that may choose between two providers on loopback; the first one is chosen."""
    app = fake_app(
        settings.with_changes(
            **{"retrieval_strategy": "LEXICAL", **changes},
            llm_cache_enabled=False,
            openai_api_key="k",
            openai_base_url=left.url,
            ollama_base_url=chosen.url,
            ollama_model_name="m",
        )
    )
    app.providers.choose("openai")
    return app


@pytest.fixture
def rig(request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """The provider that the test is parametrised with, its requests going to loopback."""
    provider: str = request.param
    if provider == "huggingface":
        pytest.skip("runs in the process, on an extra: tests/llm/test_huggingface.py")
    monkeypatch.setattr(limiter, "_LIMITERS", limiter.Limiters())
    monkeypatch.setattr(calls, "_BACKOFF", wait_random_exponential(multiplier=0.05, max=1))
    usual = settings.with_changes(
        provider=provider,
        nim_max_retries=2,
        nim_request_timeout=20,
        local_model_path=str(gguf()),
        local_context_tokens=CONTEXT_TOKENS,
        local_threads=1,
    )
    if provider not in URLS:
        yield Rig(provider, usual, None)
        return
    address, key, model = URLS[provider]
    if provider == "gemini":
        server: StubServer = GeminiStub(KEY)
        name = GEMINI_MODEL
    else:
        upstream = request.getfixturevalue("llama")
        front = GroqProxy if provider == "groq" else Proxy
        server = front(upstream.base_url, upstream.key.get_secret_value(), KEY if key else "")
        name = gguf().stem
    with server:
        changes = {address: server.url, model: name, **({key: KEY} if key else {})}
        yield Rig(provider, usual.with_changes(**changes), server)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--contract-table", action="store_true", help="print the table providers x behaviours")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CELLS] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    spec = getattr(item, "callspec", None)
    mark = item.get_closest_marker("behaviour")
    if spec is not None and mark is not None and "rig" in spec.params:
        cell = ("contract", f"{spec.params['rig']}|{mark.args[0]}")
        if cell not in item.user_properties:
            item.user_properties.append(cell)
    yield


class _Collector:
    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name != "contract":
                continue
            provider, behaviour = str(value).split("|")
            reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
            if report.when == "call" or report.outcome != "passed":
                self._cells[provider, behaviour] = (report.outcome, reason)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(_Collector(session.config.stash[CELLS]), "contract-cells")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--contract-table", default=False):
        for line in render(config.stash[CELLS], list(PROVIDERS)):
            terminalreporter.write_line(line)
