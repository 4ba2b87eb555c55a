"""The server loads its knowledge bases when it starts, says so, and answers meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import httpx
import pytest

from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.server.run import server_for
from chatbot_mvp.server.warmup import WarmUp
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, SOURCE
from tests.fakes import FakeEmbedder, fake_app
from tests.loopback import free_port
from tests.server.serving import TOKEN, user
from tests.waiting import wait_until


class GatedEmbedder(FakeEmbedder):
    """Gives no vectors before ``gate`` is set."""

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        assert self.gate.wait(20)
        return super().embed(texts, input_type)


@pytest.mark.slow
def test_health_says_how_far_it_is_and_questions_are_answered_meanwhile(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = threading.Event()
    app = fake_app(settings, lambda _: GatedEmbedder(gate), DemoModel)
    kb_id = app.kbs.add("manual.md", SOURCE.encode()).kb_id
    warm_up = WarmUp(app)
    port = free_port()
    server = server_for(app, TOKEN, "127.0.0.1", port, warm_up)
    thread = threading.Thread(target=server.run, daemon=True)
    warm_up.start()
    thread.start()
    wait_until(lambda: server.started, 10, "the server")
    url = f"http://127.0.0.1:{port}"
    assert httpx.get(f"{url}/health").json() == {"status": "loading", "loaded": 0, "total": 1}
    body = {"model": f"{kb_id}:strict", "messages": user(INSIDE)}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    reply = httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=20).json()
    assert (reply["outcome"], reply["vectors_share"]) == ("answered", 0.0)
    gate.set()
    wait_until(lambda: httpx.get(f"{url}/health").json() == {"status": "ok"}, 10, "everything to be loaded")
    reply = httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=20).json()
    assert reply["vectors_share"] == 1.0
    server.should_exit = True
    thread.join(10)
    told = capsys.readouterr().err
    assert "loading 1 knowledge bases" in told
    assert "ready after" in told


def test_a_knowledge_base_that_cannot_be_loaded_does_not_stop_the_others(settings: Settings) -> None:
    app = fake_app(settings, chat_model=DemoModel)
    broken = app.kbs.add("manual.md", SOURCE.encode()).kb_id
    kept = app.kbs.add("otro.md", f"{SOURCE}\n\nOtra línea.\n".encode()).kb_id
    (settings.kb_dir / broken / "text.txt").unlink(missing_ok=True)
    for path in (settings.kb_dir / broken).glob("*.txt"):
        path.write_bytes(b"\xff")
    warm_up = WarmUp(app)
    warm_up.start()
    wait_until(lambda: warm_up.ready, 20, "the warm-up")
    assert (warm_up.done, warm_up.total) == (2, 2)
    assert app.kbs.growing(kept).best(0).vectors_share == 1.0


def test_nothing_is_loaded_where_building_an_index_asks_a_paid_model(settings: Settings) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID"), chat_model=DemoModel)
    app.kbs.add("manual.md", SOURCE.encode())
    warm_up = WarmUp(app)
    warm_up.start()
    wait_until(lambda: warm_up.ready, 10, "the warm-up")
    assert (warm_up.done, warm_up.total) == (0, 0)
