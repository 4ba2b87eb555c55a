"""A request whose answer nobody waits for is ended at the provider, before its first word too."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.errors import RequestStopped
from chatbot_mvp.llm.base import ChatOptions, ChatRequest, Message
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.local_server import PARALLEL, LocalServer
from chatbot_mvp.remote.stop import Stop
from chatbot_mvp.settings.model import Settings
from tests.llm.gemini_stub import GeminiStub
from tests.llm.openai_stub import OpenAiStub
from tests.server.silent_provider import SilentProvider
from tests.tls import own_certificate, speak_tls
from tests.waiting import SOON_S, wait_until

PROVIDERS = {
    "openai": {"openai_api_key": "k", "openai_base_url": "URL"},
    "groq": {"groq_api_key": "k", "groq_base_url": "URL"},
    "ollama": {"ollama_model_name": "m", "ollama_base_url": "URL"},
    "gemini": {"gemini_api_key": "k", "gemini_base_url": "URL"},
}


def configured(settings: Settings, provider: str, url: str) -> Settings:
    changes: dict[str, Any] = {name: value.replace("URL", url) for name, value in PROVIDERS[provider].items()}
    return settings.with_changes(provider=provider, llm_cache_enabled=False, **changes)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stop_ends_a_request_that_waits_for_its_first_word(
    settings: Settings, silent: SilentProvider, provider: str, streamed: bool
) -> None:
    stopped_while_waiting(configured(settings, provider, silent.url), silent, streamed)


def stopped_while_waiting(settings: Settings, silent: SilentProvider, streamed: bool) -> None:
    """Stop a request while its provider is silent, and check that both sides hear of it at once."""
    model = create_chat_model(settings)
    stop, raised = Stop(), []

    def ask() -> None:
        request = ChatRequest((Message("user", "?"),), stop=stop)
        try:
            _ = list(model.stream(request)) if streamed else model.complete(request)
        except RequestStopped as error:
            raised.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: silent.came == 1, 10, "the request")
    stop.set()
    thread.join(SOON_S)  # the provider stays silent for longer
    assert len(raised) == 1
    wait_until(lambda: silent.left == 1, SOON_S, "the provider to hear of the stop")
    assert silent.came == 1, "a stopped request is not repeated"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("provider", "trusted"), [("openai", "SSL_CERT_FILE"), ("gemini", "REQUESTS_CA_BUNDLE")])
def test_a_stop_ends_a_request_over_tls_too(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, trusted: str, streamed: bool
) -> None:
    certificate = own_certificate(tmp_path)
    monkeypatch.setenv(trusted, str(certificate))
    secure = SilentProvider()
    speak_tls(secure, certificate)
    with secure:
        stopped_while_waiting(configured(settings, provider, secure.url.replace("http:", "https:")), secure, streamed)


def test_a_request_that_is_stopped_already_is_not_sent(settings: Settings, silent: SilentProvider) -> None:
    model = create_chat_model(configured(settings, "openai", silent.url))
    stop = Stop()
    stop.set()
    with pytest.raises(RequestStopped):
        model.complete(ChatRequest((Message("user", "?"),), stop=stop))
    assert silent.came == 0


def test_after_a_stop_the_same_model_answers_the_next_request(settings: Settings) -> None:
    with OpenAiStub(seconds=3) as provider:
        model = create_chat_model(configured(settings, "openai", provider.url))
        stop = Stop()
        threading.Timer(0.1, stop.set).start()
        with pytest.raises(RequestStopped):
            model.complete(ChatRequest((Message("user", "?"),), stop=stop))
        provider.seconds = 0
        assert model.complete(ChatRequest((Message("user", "?"),))).text
        assert model.complete(ChatRequest((Message("user", "?"),))).text


@pytest.mark.slow
def test_a_stop_of_gemini_between_two_pieces_ends_the_stream_and_the_next_request_is_answered(
    settings: Settings,
) -> None:
    with GeminiStub("k") as provider:
        provider.piece_delay = 5.0
        model = create_chat_model(configured(settings, "gemini", provider.url))
        stop = Stop()
        pieces = iter(model.stream(ChatRequest((Message("user", "tres dos uno"),), stop=stop)))
        assert next(pieces) == "uno "
        threading.Timer(0.1, stop.set).start()
        started = time.monotonic()
        with pytest.raises(RequestStopped):
            _ = list(pieces)
        assert time.monotonic() - started < 5, "it did not wait for the next piece"
        provider.piece_delay = 0.0
        assert model.complete(ChatRequest((Message("user", "dos uno"),))).text == "uno dos"
        with pytest.raises(RequestStopped):
            model.complete(ChatRequest((Message("user", "dos uno"),), stop=stop))


def test_a_stop_of_one_request_leaves_the_others_alone(settings: Settings) -> None:
    with OpenAiStub(seconds=2) as provider:
        model = create_chat_model(configured(settings, "openai", provider.url))
        stops = [Stop() for _ in range(6)]
        texts: dict[int, str] = {}

        def ask(row: int) -> None:
            try:
                texts[row] = model.complete(ChatRequest((Message("user", "?"),), stop=stops[row])).text
            except RequestStopped:
                texts[row] = "stopped"

        threads = [threading.Thread(target=ask, args=(row,)) for row in range(6)]
        for thread in threads:
            thread.start()
        wait_until(lambda: provider.calls == 6, 5, "six requests")
        for stop in stops[::2]:
            stop.set()
        for thread in threads:
            thread.join(SOON_S)
    assert [texts[row] == "stopped" for row in range(6)] == [True, False] * 3


@pytest.mark.slow
@pytest.mark.xdist_group("llama")
def test_llama_cpp_hears_of_a_stop_and_has_its_places_free_at_once(llama: LocalServer, settings: Settings) -> None:
    own = settings.with_changes(
        provider="nim",
        llm_base_url=llama.base_url,
        nvidia_api_key=llama.key.get_secret_value(),
        llm_cache_enabled=False,
    )
    model = create_chat_model(own)
    long = ChatRequest((Message("user", "Count from 1 to 1000, one number per line."),), ChatOptions(max_tokens=300))
    short = ChatRequest((Message("user", "Say yes."),), ChatOptions(max_tokens=1))
    # The model works in this process. Its processor time does not depend on what else the machine does.
    started, cpu = time.monotonic(), time.process_time()
    model.complete(long)
    whole, whole_cpu = time.monotonic() - started, time.process_time() - cpu
    stops = [Stop() for _ in range(4 * PARALLEL)]

    def ask(stop: Stop) -> None:
        with suppress(RequestStopped):
            model.complete(replace(long, stop=stop))

    threads = [threading.Thread(target=ask, args=(stop,)) for stop in stops]
    for thread in threads:
        thread.start()
    time.sleep(min(0.3, whole / 10))
    for stop in stops:
        stop.set()
    cpu = time.process_time()
    model.complete(short)
    spent = time.process_time() - cpu
    for thread in threads:
        thread.join(SOON_S)
    # llama.cpp looks once a second whether its client is there. Without the stop, three rounds of two long answers, or
    # more, would come before the short one.
    assert spent < 2 * whole_cpu, f"{spent:.2f} s of processor time after a stop; a whole answer takes {whole_cpu:.2f}"
