"""A provider is connected in a real browser: key, test call, model, and the chat answers with it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser import SOON_MS
from tests.e2e.test_tour import DOCUMENT, ask, settle, upload, visit
from tests.hostile.test_secrets import files_below
from tests.llm.http_stub import Request, Response
from tests.llm.openai_stub import OpenAiStub

pytestmark = [pytest.mark.e2e]

KEY = "sk-typed-in-a-browser-4711"
MODELS = ("gpt-4.1-mini", "vecino-7b", "text-embedding-3-small")
SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL", "NIM_MAX_RETRIES": "0"}


class Streaming(OpenAiStub):
    """Lists some models, wants the key, and streams its answers."""

    reply_text = "Cada lector puede llevarse hasta cinco libros [1]."

    def answer(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Response.json({"error": {"message": "wrong key", "code": "invalid_api_key"}}, 401)
        if request.method == "GET":
            return Response.json({"data": [{"id": name} for name in MODELS]})
        if not request.json.get("stream"):
            return super().answer(request)
        parts = [({"content": self.reply_text}, None), ({}, "stop")]
        chunks = [{"id": "1", "choices": [{"index": 0, "delta": d, "finish_reason": end}]} for d, end in parts]
        events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
        return Response(200, [*events, b"data: [DONE]\n\n"], {"Content-Type": "text/event-stream"})


@pytest.fixture
def provider() -> Iterator[Streaming]:
    with Streaming() as server:
        server.reply = "Listo"
        yield server


@pytest.mark.slow
def test_a_key_is_typed_tried_and_the_chat_answers_with_the_chosen_model(page, server, provider) -> None:  # type: ignore[no-untyped-def]
    visit(page, server, "Admin")
    upload(page, "biblioteca.md", DOCUMENT.encode())
    page.get_by_text("«biblioteca.md» está lista").wait_for()
    page.get_by_role("tab", name="Proveedores").click()
    card = page.locator(".st-key-provider-card-openai")
    card.get_by_role("button", name="Configurar").click()
    card.get_by_label("Dirección del servidor").fill(f"{provider.url}/v1")
    for key, told in (("sk-wrong-0815", "ha rechazado la clave"), (KEY, "«Listo»")):
        card.get_by_role("textbox", name="Clave").fill(key)
        card.get_by_role("button", name="Guardar y probar").click()
        card.get_by_text(told).wait_for(timeout=SOON_MS)
        expect(card.get_by_role("textbox", name="Clave")).to_have_value("")
        settle(page)
    card.get_by_role("combobox", name="Modelo").click()
    expect(page.get_by_role("option")).to_have_text(["gpt-4.1-mini", "vecino-7b"])
    page.get_by_role("option", name="vecino-7b").click()
    settle(page)
    card.get_by_role("button", name="Usar vecino-7b en el chat").click()
    card.get_by_text("Guardado: el chat contesta con vecino-7b").wait_for()
    settle(page)
    assert KEY not in page.content() + page.url

    visit(page, server, "Chat")
    ask(page, "¿Cuántos libros puede llevarse cada lector?")
    page.locator("[data-testid='stChatMessage']").last.get_by_role("button", name="Detalles").click()
    page.locator("[data-testid='stPopoverBody']").get_by_text("openai/vecino-7b").wait_for()
    page.keyboard.press("Escape")
    settle(page)
    assert "vecino-7b" in [request.json["model"] for request in provider.requests if request.method == "POST"]
    assert not any(KEY.encode() in content for content in files_below(server.data_dir))
