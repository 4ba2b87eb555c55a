"""What a model says wrong, half right or beside the point has no tick on the page and over HTTP, from end to end.

A provider on loopback says it, in OpenAI's protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.settings.model import load_settings
from streamlit_app.shared import state
from streamlit_app.shared.state import get_app
from tests.chat.conftest import INSIDE, SOURCE
from tests.chat.test_ticks import TRUE, UNTICKED
from tests.fakes import fake_app
from tests.llm.saying_server import SayingServer
from tests.server.serving import TOKEN, Served, client_of, running
from tests.ui.test_pages import open_page, texts

TICK = ":green[:material/check_circle:]"
THOUGHT = f"<think>Dice 23 y no 40 días.</think>{TRUE}"


@pytest.fixture
def provider() -> Iterator[SayingServer]:
    with SayingServer() as server:
        yield server


@pytest.fixture
def app(tmp_path: Path, clean_env: Path, provider: SayingServer) -> App:
    made = fake_app(
        load_settings(
            data_dir=tmp_path,
            retrieval_strategy="LEXICAL",
            serve_token=TOKEN,
            provider="openai",
            openai_api_key="secret",
            openai_base_url=f"{provider.url}/v1",
            kb_min_evidence=0.0,
            kb_doubt_evidence=0.0,
            llm_cache_enabled=False,
        )
    )
    made.kbs.add("manual.md", SOURCE.encode())
    return made


@pytest.fixture
def served(app: App) -> Iterator[Served]:
    [record] = app.kbs.records()
    with running(app) as url:
        yield Served(client_of(url), record.kb_id, app)


@pytest.mark.parametrize("streamed", [False, True])
def test_the_endpoint_ticks_what_is_supported_and_nothing_else(
    served: Served, provider: SayingServer, streamed: bool
) -> None:
    def asked() -> Any:
        reply = served.ask(stream=streamed)
        return [chunk for chunk in reply if chunk.choices][-1] if streamed else reply

    for text in (TRUE, THOUGHT):
        provider.text = text
        reply = asked()
        assert (reply.outcome, reply.tick, len(reply.statements)) == ("answered", True, 1), text
    for name, text in UNTICKED.items():
        provider.text = text
        assert not asked().tick, name
    provider.text, provider.finish = TRUE, "length"
    assert not asked().tick
    provider.text, provider.finish = UNTICKED["half right"], "stop"
    reply = asked()
    assert reply.outcome == "answered" and [one["supported"] for one in reply.statements] == [True, False]
    provider.text, provider.counted = TRUE, 10
    assert asked().prompt_cut


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("half right", "Respondida en parte"),
        ("uncited beside", "Respondida en parte"),
        ("wrong", "Lo más cercano"),
        ("the same again", "Respondida, sin comprobar del todo"),
        ("its fence", "Lo más cercano"),
        ("another language", ""),
    ],
)
def test_the_page_shows_no_tick_over_what_is_not_supported(
    app: App, provider: SayingServer, monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    shown = on_the_page(app, provider, monkeypatch, UNTICKED[name])
    assert TICK not in shown and told in shown
    assert (":orange-background[" in shown) is (name in ("half right", "uncited beside"))


def test_the_page_ticks_what_a_model_says_behind_its_thoughts_and_says_that_its_prompt_was_cut(
    app: App, provider: SayingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.counted = 10
    shown = on_the_page(app, provider, monkeypatch, THOUGHT)
    assert f"{TICK} **Respondida**" in shown and "40 días" not in shown
    assert "El servidor del modelo recortó lo que se le envió" in shown


def on_the_page(app: App, provider: SayingServer, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    """All texts of the chat after a question to which the provider says this."""
    provider.text = text
    monkeypatch.setattr(state, "build_app", lambda _: app)
    get_app.clear()
    page = open_page("chat")
    page.chat_input[0].set_value(INSIDE).run()
    assert not page.exception, page.exception
    get_app.clear()
    return texts(page)
