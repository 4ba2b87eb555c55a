"""Sessions see nothing of each other; none waits for another's provider; a change of provider holds at once."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.llm.base import ChatRequest
from chatbot_mvp.remote import calls
from chatbot_mvp.settings.model import Settings
from tests.cases import draws
from tests.chat.conftest import INSIDE, SOURCE
from tests.fakes import FakeChatModel, fake_app
from tests.llm.openai_stub import OpenAiStub
from tests.server.serving import client_of, running, user
from tests.server.silent_provider import SilentProvider
from tests.waiting import SOON_S, wait_until

SESSIONS = 20
SECRET = re.compile(r"clave[a-t]{3}")


class Session:
    """One visitor with a knowledge base, a conversation and a client of its own. Collects everything that it sees."""

    def __init__(self, app: App, url: str, number: int, seed: int) -> None:
        self.app = app
        self.rng = random.Random(f"{seed}/{number}")
        letter = chr(97 + number)
        self.secret = f"clave{letter * 3}"
        text = f"# Archivo\n\n## Puerta\n\nLa puerta se abre con {self.secret} y se cierra con {self.secret} siempre.\n"
        self.kb_id = app.kbs.add(f"{self.secret}.md", text.encode()).kb_id
        self.name = app.chat.new_session()
        self.conversation = app.chat.start(self.name, self.kb_id, f"{self.secret}.md")
        self.client = client_of(url, 60)
        self.said: list[Any] = []
        self.seen: list[str] = []

    def step(self) -> None:
        """Do one thing that a visitor may do, chosen at random."""
        self.rng.choice([self.chat, self.plain, self.streamed, self.export, self.look, self.rate])()
        time.sleep(self.rng.random() * 0.01)

    def question(self) -> str:
        return self.rng.choice([f"¿Con qué se abre la puerta de {self.secret}?", "¿Y con qué se cierra la puerta?"])

    def chat(self) -> None:
        turn = self.app.chat.begin(self.name, self.conversation, self.question(), UserContext())
        if self.rng.random() < 0.2:
            self.app.chat.stop(self.name, self.conversation)
        assert turn.join(60)

    def plain(self) -> None:
        self.said += user(self.question())
        reply = self.client.chat.completions.create(model=f"{self.kb_id}:strict", messages=self.said)
        self.told(reply.choices[0].message.content or "", str(reply))

    def streamed(self) -> None:
        self.said += user(self.question())
        asked: dict[str, Any] = {"model": f"{self.kb_id}:general", "messages": self.said, "stream": True}
        chunks = list(self.client.chat.completions.create(**asked))
        self.told("".join(chunk.choices[0].delta.content or "" for chunk in chunks), str(chunks))

    def told(self, text: str, everything: str) -> None:
        self.said.append({"role": "assistant", "content": text})
        self.seen.append(everything)

    def export(self) -> None:
        form = self.rng.choice(["json", "markdown"])
        self.seen.append(self.app.chat.export(self.name, self.conversation, form, "es"))

    def look(self) -> None:
        self.seen.append(str(self.app.chat.conversations(self.name, self.kb_id)))

    def rate(self) -> None:
        turns = self.app.chat.conversation(self.name, self.conversation).turns
        if turns:
            note = f"nota de {self.secret}"
            self.app.chat.rate(self.name, self.conversation, turns[-1].turn_id, self.rng.random() < 0.5, note)


def repeats(request: ChatRequest) -> str:
    """A model that repeats what it was shown."""
    assert request.grounding is not None
    passages = request.grounding.passages
    return f"{passages[0].text.splitlines()[-1]} [1]" if passages else "Nada."


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_twenty_sessions_interleaved_at_random_see_nothing_of_each_other(settings: Settings, seed: int) -> None:
    model = FakeChatModel(repeats)
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), chat_model=lambda: model)

    def live(session: Session) -> None:
        for _ in range(8 if seed == 1 else draws(60, 20)):
            session.step()

    with running(app) as url, ThreadPoolExecutor(SESSIONS) as pool:
        sessions = [Session(app, url, number, seed) for number in range(SESSIONS)]
        list(pool.map(live, sessions))
    for session in sessions:
        session.export()
        session.look()
        assert set(SECRET.findall("\n".join(session.seen))) <= {session.secret}
        assert any(session.secret in text for text in session.seen)
        other = sessions[(sessions.index(session) + 1) % SESSIONS]
        for forbidden in (app.chat.conversation, app.chat.stop, app.chat.under_way):
            with pytest.raises(ConversationNotFound):
                forbidden(session.name, other.conversation)
        assert app.chat.conversations(session.name, other.kb_id) == []
    assert len(model.requests) > SESSIONS
    for request in model.requests:
        assert len(set(SECRET.findall(str(request.messages)))) == 1, "a prompt has the words of one session"


# --- providers that do not answer


def between(settings: Settings, first: str, second: str, retries: int = 0) -> tuple[App, str]:
    """An App with two providers on loopback, of which ``openai`` is chosen, and its knowledge base."""
    own = settings.with_changes(
        retrieval_strategy="LEXICAL",
        llm_cache_enabled=False,
        nim_max_concurrent_requests=8,
        nim_max_retries=retries,
        openai_api_key="k",
        openai_base_url=first,
        ollama_base_url=second,
        ollama_model_name="m",
    )
    app = fake_app(own)
    app.providers.choose("openai")
    return app, app.kbs.add("manual.md", SOURCE.encode()).kb_id


def test_a_provider_that_hangs_freezes_no_other_session(settings: Settings, silent: SilentProvider) -> None:
    """Twice as many answers hang as the provider may get at once; everything that needs no model goes on."""
    app, kb_id = between(settings, silent.url, "http://127.0.0.1:9")
    hanging = []
    for _ in range(16):
        session = app.chat.new_session()
        conversation = app.chat.start(session, kb_id, "manual.md")
        app.chat.begin(session, conversation, INSIDE, UserContext(kb_doubt_evidence=1.0))
        hanging.append((session, conversation))
    wait_until(lambda: silent.came == 8, 10, "the provider to be busy")
    with running(app) as url:
        client = client_of(url, SOON_S)
        for _ in range(20):
            reply = client.chat.completions.create(
                model=f"{kb_id}:strict", messages=user("¿Xqzw kjxv?"), extra_body={"kb_doubt_evidence": 1.0}
            )
            assert reply.outcome == "refused"
        assert (silent.came, silent.left) == (8, 0), "the provider still holds what it got"
        # Another provider has places of its own: whoever asks now is answered at once.
        app.providers.choose("demo")
        assert "23" in app.answering.ask(kb_id, INSIDE).text
        assert (silent.came, silent.left) == (8, 0), "the provider still holds what it got"
    for session, conversation in hanging:
        app.chat.stop(session, conversation)
    wait_until(lambda: silent.left == silent.came, 10, "the provider to hear of the stops")
    for session, conversation in hanging:
        wait_until(lambda s=session, c=conversation: not app.chat.under_way(s, c), 10, "the answers to end")  # type: ignore[misc]
    assert silent.came <= 16


def test_a_dead_provider_delays_only_who_asks_it(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def held(_: object) -> float:
        go_on.wait(SOON_S)
        return 0.0

    monkeypatch.setattr(calls, "_BACKOFF", held)
    dead = "http://127.0.0.1:9"
    app, kb_id = between(settings, dead, dead, retries=3)
    asking = []
    for _ in range(16):
        session = app.chat.new_session()
        conversation = app.chat.start(session, kb_id, "manual.md")
        asking.append(app.chat.begin(session, conversation, INSIDE, UserContext(kb_doubt_evidence=1.0)))
    for _ in range(20):
        assert app.answering.ask(kb_id, "¿Xqzw kjxv?", UserContext(kb_doubt_evidence=1.0)).outcome == "refused"
    assert not any(turn.join(0) for turn in asking), "the provider is still being tried"
    go_on.set()
    assert all(turn.join(20) for turn in asking)


# --- the change of provider

Ask = Callable[[App, str, openai.OpenAI], object]


def _begin(app: App, kb_id: str) -> object:
    session = app.chat.new_session()
    conversation = app.chat.start(session, kb_id, "manual.md")
    return app.chat.begin(session, conversation, INSIDE, UserContext(kb_doubt_evidence=1.0)).join(20)


ASKED: dict[str, Ask] = {
    "serve": lambda _, kb_id, client: client.chat.completions.create(model=f"{kb_id}:strict", messages=user(INSIDE)),
    "serve, streamed": lambda _, kb_id, client: list(
        client.chat.completions.create(model=f"{kb_id}:strict", messages=user(INSIDE), stream=True)
    ),
    "chat": lambda app, kb_id, _: _begin(app, kb_id),
    "command": lambda app, kb_id, _: app.answering.ask(kb_id, INSIDE),
    "check": lambda app, kb_id, _: app.providers.check(app.settings.provider),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ASKED)
def test_a_change_of_provider_holds_from_the_next_request_on(settings: Settings, name: str) -> None:
    with OpenAiStub() as left, OpenAiStub() as chosen:
        app, kb_id = between(settings, left.url, chosen.url)
        with running(app) as url:
            client = client_of(url, SOON_S)
            ASKED[name](app, kb_id, client)
            heard = len(left.requests)
            assert heard > 0
            assert not chosen.requests
            app.providers.choose("ollama")
            for _ in range(3):
                ASKED[name](app, kb_id, client)
            assert len(left.requests) == heard
            assert len(chosen.requests) >= 3
            app.providers.choose("demo")
            told = len(chosen.requests)
            ASKED[name](app, kb_id, client)
            assert (len(left.requests), len(chosen.requests)) == (heard, told)
