"""One provider, asked by the chat, a run and a health check at the same time: whose concurrency bounds whom."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatbot_mvp.llm.base import ChatModel, ChatRequest, Message
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings, load_settings
from tests.llm.http_stub import Request, Response
from tests.llm.openai_stub import MODEL, OpenAiStub

SECONDS = 0.15


class CountingStub(OpenAiStub):
    """Knows how many requests for completions it had at the same time."""

    def __init__(self) -> None:
        super().__init__(SECONDS)
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Response:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            return super().answer(request)
        finally:
            with self._lock:
                self._now -= 1


@pytest.fixture
def stub() -> Iterator[CountingStub]:
    with CountingStub() as server:
        yield server


@pytest.fixture
def live(settings: Settings, stub: CountingStub) -> LiveSettings:
    """Settings under which an address may have four requests at the same time."""
    # Only what is given here counts as set outside of Admin.
    own = load_settings(
        data_dir=settings.data_dir,
        provider="openai",
        openai_base_url=stub.url,
        openai_api_key="sk-Secret-0123456789",
        openai_model_name=MODEL,
        llm_cache_enabled=False,
    )
    found = LiveSettings(own)
    found.change("nim_max_concurrent_requests", 4)
    return found


@pytest.fixture
def providers(live: LiveSettings) -> Providers:
    return Providers(live)


def ask_at_once(*models: ChatModel) -> None:
    request = ChatRequest((Message("user", "¿Y?"),))
    with ThreadPoolExecutor(len(models)) as pool:
        list(pool.map(lambda model: model.complete(request), models))


def test_a_run_at_concurrency_1_leaves_the_chat_its_places(
    providers: Providers, live: LiveSettings, stub: CountingStub
) -> None:
    ask_at_once(providers.current())
    providers.model(live.current.with_changes(nim_max_concurrent_requests=1))
    ask_at_once(*[providers.current()] * 4)
    assert stub.most_at_once == 4


def test_a_run_stays_within_its_own_concurrency_across_its_models_and_a_health_check(
    providers: Providers, live: LiveSettings, stub: CountingStub
) -> None:
    run = live.current.with_changes(nim_max_concurrent_requests=1)
    generator, judge = providers.model(run), providers.model(run.with_changes(llm_max_tokens=7))
    assert generator is not judge
    started = time.monotonic()
    assert providers.check("openai").reachable
    ask_at_once(generator, judge, generator)
    assert stub.most_at_once == 1
    assert time.monotonic() - started >= 3 * SECONDS


def test_a_run_with_a_larger_concurrency_stays_within_the_cap(
    providers: Providers, live: LiveSettings, stub: CountingStub
) -> None:
    run = providers.model(live.current.with_changes(nim_max_concurrent_requests=16))
    ask_at_once(*[run] * 8)
    assert stub.most_at_once == 4


def test_a_changed_setting_is_the_new_cap(providers: Providers, live: LiveSettings, stub: CountingStub) -> None:
    live.change("nim_max_concurrent_requests", 2)
    ask_at_once(*[providers.current()] * 4)
    assert stub.most_at_once == 2
