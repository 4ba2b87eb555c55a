"""What a model thinks aloud is no part of its reply; what a server refuses or needs not is not sent to it again."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest

from chatbot_mvp.errors import ProviderReplyUnusable
from chatbot_mvp.llm.base import ChatOptions, ChatRequest, Message
from chatbot_mvp.llm.openai_wire import OpenAiWire
from chatbot_mvp.llm.thoughts import without_thoughts
from chatbot_mvp.llm.wire import Delta
from tests.llm.test_remote_model import REQUEST, model_of

REPLIES = {
    "<think>Quizá 20.</think>\n\nSon 23 días. [1]": "Son 23 días. [1]",
    "Veamos.\n</think>\n\nSon 23 días. [1]": "Son 23 días. [1]",
    "Son <reasoning>a ver</reasoning>23 días.": "Son 23 días.",
    "Si a < b, son 23 días.\n": "Si a < b, son 23 días.\n",
    '{"cita": "</think>"}': '{"cita": "</think>"}',
}


@pytest.mark.parametrize(("raw", "said"), REPLIES.items())
def test_a_reply_is_without_thoughts_whole_and_piece_by_piece(raw: str, said: str) -> None:
    def letters() -> Generator[Delta, None, None]:
        yield from (Delta(letter) for letter in raw)
        yield Delta(finish_reason="stop")

    assert without_thoughts(raw) == said
    model, _, _ = model_of(letters)
    first = model.stream(REQUEST)
    shown = "".join(first)
    assert first.completion.text == model.complete(REQUEST).text == said
    assert "Quizá" not in shown and "a ver" not in shown
    second = model.stream(REQUEST)
    assert "".join(second) == second.completion.text == said, "a closing tag alone is known from the reply before"


def test_a_reply_that_is_only_thought_is_no_answer() -> None:
    def thinking() -> Generator[Delta, None, None]:
        yield Delta("<think>Son 23 días.")
        yield Delta(finish_reason="length")

    model, _, _ = model_of(thinking)
    with pytest.raises(ProviderReplyUnusable):
        model.complete(REQUEST)
    with pytest.raises(ProviderReplyUnusable, match="LLM_MAX_TOKENS"):
        list(model.stream(REQUEST))


class _Server:
    """A client of OpenAI's SDK whose server refuses a parameter."""

    def __init__(self, refuses: str, told: str) -> None:
        self.refuses, self.told = refuses, told
        self.sent: list[dict[str, Any]] = []
        self.chat = SimpleNamespace(completions=self)

    def borrow(self, _: Any) -> Any:
        return nullcontext(self)

    def create(self, **arguments: Any) -> Any:
        self.sent.append(arguments)
        if self.refuses in arguments:
            response: Any = httpx.Response(400, request=httpx.Request("POST", "http://a"))
            raise openai.BadRequestError(self.told, response=response, body=None)
        choice = SimpleNamespace(message=SimpleNamespace(content="Sí."), finish_reason="stop")
        return SimpleNamespace(choices=[choice], usage=None)


def _sent(server: _Server, model: str) -> list[dict[str, Any]]:
    lines: Any = server
    wire = OpenAiWire(openai, lines, model, 1.0)
    request = ChatRequest((Message("user", "?"),), ChatOptions(max_tokens=9, seed=3))
    assert [wire.complete(request).text for _ in range(2)] == ["Sí.", "Sí."]
    return server.sent


@pytest.mark.parametrize("model", ["gpt-5-mini", "openai/gpt-5-mini", "router/openai/o3"])
def test_a_model_with_its_own_temperature_is_known_behind_a_prefix(model: str) -> None:
    assert all("temperature" not in sent for sent in _sent(_Server("temperature", "no"), model))


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        ("seed", "Unsupported parameter: 'seed'"),
        ("temperature", "temperature is not supported by this model"),
        ("max_tokens", "Use 'max_completion_tokens' instead of 'max_tokens'."),
    ],
)
def test_a_refused_parameter_is_left_out_once_and_from_then_on(refused: str, told: str) -> None:
    sent = _sent(_Server(refused, told), "a/model")
    assert [refused in one for one in sent] == [True, False, False]
    assert all("max_completion_tokens" in one for one in sent[1:]) is (refused == "max_tokens")


def test_another_fault_of_a_request_is_not_tried_again() -> None:
    server = _Server("model", "max_tokens is too large for this context")
    lines: Any = server
    with pytest.raises(openai.BadRequestError):
        OpenAiWire(openai, lines, "a", 1.0).complete(ChatRequest((Message("user", "?"),), ChatOptions(max_tokens=9)))
    assert len(server.sent) == 1
