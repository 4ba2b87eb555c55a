"""Each field of OpenAI's chat completions is obeyed, has no effect, or is refused by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.server.errors import BadRequest
from chatbot_mvp.server.request import read_request
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, SOURCE
from tests.fakes import FakeChatModel, FakeEmbedder, fake_app
from tests.server.serving import TOKEN, Served, client_of, running, user
from tests.server.test_tasks import TASKS


@pytest.fixture(scope="module")
def behind() -> FakeChatModel:
    """The language model behind the server."""
    return FakeChatModel("Cada persona dispone de 23 días laborables de vacaciones. [1]")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, behind: FakeChatModel) -> Iterator[Served]:
    """One server for all requests."""
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("data"), retrieval_strategy="LEXICAL")  # type: ignore[call-arg]
    app = fake_app(settings, lambda _: FakeEmbedder(), chat_model=lambda: behind)
    kb_id = app.kbs.add("manual.md", SOURCE.encode()).kb_id
    with running(app) as url:
        yield Served(client_of(url, 10), kb_id, app, "general")


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
REFUSED = [
    {"n": 2},
    {"n": True},
    {"logprobs": True},
    {"top_logprobs": 3},
    {"response_format": {"type": "json_object"}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}},
    {"tools": [TOOL]},
    {"tool_choice": "required"},
    {"tool_choice": {"type": "function", "function": {"name": "f"}}},
    {"functions": [{"name": "f"}]},
    {"modalities": ["text", "audio"]},
    {"audio": {"voice": "alloy", "format": "mp3"}},
    {"prediction": {"type": "content", "content": "x"}},
    {"web_search_options": {}},
    {"store": True},
    {"service_tier": "flex"},
    {"best_of": 3},
    {"max_tokens": 0},
    {"max_tokens": 2.5},
    {"max_tokens": "muchos"},
    {"max_completion_tokens": -1},
    {"temperature": "hot"},
    {"temperature": 3},
    {"temperature": True},
    {"filter": {"folder": ["rrhh"]}},
    {"filter": {"tags": "x"}},
    {"filter": {"tags": ["no hay"]}},
    {"seed": 1.5},
    {"seed": "x"},
    {"stream": "yes"},
    {"stream": True, "stream_options": [1]},
    {"stream": True, "stream_options": "x"},
    {"stream": True, "stream_options": {"include_usage": 1}},
    {"stream": True, "stream_options": {"include_obfuscation": True}},
    {"stream": True, "stream_options": {"tokens": True}},
    {"stream_options": {"include_usage": True}},
    {"kb_top_k": "x"},
    {"user": 5},
    {"messages": [{"role": "user", "content": None}]},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "user", "content": 5}]},
    {"messages": [{"role": "user", "content": ["x"]}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
    {"messages": [{"role": "user", "content": [{"type": "refusal", "refusal": "x"}]}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
    {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
    {"messages": [5]},
    {"messages": "x"},
]


@pytest.mark.parametrize("change", REFUSED, ids=json.dumps)
def test_what_cannot_be_obeyed_is_refused_by_name(
    served: Served, behind: FakeChatModel, change: dict[str, Any]
) -> None:
    asked = len(behind.requests)
    body = {"model": f"{served.kb_id}:general", "messages": user(INSIDE), **change}
    with pytest.raises(openai.BadRequestError) as refused:
        served.client.post("/chat/completions", cast_to=object, body=body)
    name = next(name for name in reversed(change) if name != "stream" or len(change) == 1)
    told: Any = refused.value.body
    message = told["message"]
    assert name in message or (name.startswith("max_") and "tokens" in message) or name.upper() in message
    assert len(behind.requests) == asked


WITHOUT_EFFECT: list[dict[str, Any]] = [
    {"n": 1, "stop": None, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}},
    {"logprobs": False, "top_logprobs": None, "response_format": {"type": "text"}, "tools": [], "tool_choice": "none"},
    {"user": "ana", "metadata": {"chat": "1"}, "store": False, "service_tier": "auto", "parallel_tool_calls": False},
    {"stream_options": None, "max_tokens": None, "temperature": None, "seed": None, "tools": None},
]


@pytest.mark.parametrize("change", WITHOUT_EFFECT, ids=json.dumps)
def test_a_value_that_asks_for_nothing_is_accepted(served: Served, change: dict[str, Any]) -> None:
    assert served.ask(**change).outcome == "answered"


def test_what_a_model_is_not_told_is_named_in_the_reply(served: Served) -> None:
    given = {"top_p": 0.5, "stop": ["fin"], "presence_penalty": 1, "frequency_penalty": 0, "logit_bias": {"5": -100}}
    named = ["logit_bias", "presence_penalty", "stop", "top_p"]
    assert served.ask(**given).ignored == named
    assert served.ask(**given, stream=True)[-1].ignored == named
    assert not hasattr(served.ask(top_p=1), "ignored")


def test_temperature_seed_and_length_reach_the_model(served: Served, behind: FakeChatModel) -> None:
    served.ask(temperature=0.7, seed=11, max_completion_tokens=44)
    options = behind.requests[-1].options
    assert (options.temperature, options.seed, options.max_tokens) == (0.7, 11, 44)


def test_a_filter_limits_the_documents_of_one_request(served: Served) -> None:
    chosen = {"filter": {"documents": ["manual.md"], "since": "2020-01-01"}}
    assert served.ask(extra_body=chosen).outcome == "answered"


def test_a_model_of_several_knowledge_bases_asks_all_of_them(served: Served) -> None:
    other = served.app.kbs.add("viajes.md", "# Viajes\n\nCada kilómetro se paga a veintiséis céntimos.".encode()).kb_id
    several = replace(served, kb_id=f"{served.kb_id}+{other}")
    for question, kb_id in ((INSIDE, served.kb_id), ("¿A cuánto se paga cada kilómetro?", other)):
        reply = several.ask(question, mode="strict")
        assert {source["doc_id"] for source in reply.sources or reply.nearest["passages"]} >= {kb_id}
        chunks = several.ask(question, mode="strict", stream=True)
        assert [source["file"] for source in chunks[-1].sources] == [source["file"] for source in reply.sources]
    with pytest.raises(openai.NotFoundError):
        replace(served, kb_id=f"{served.kb_id}+nada").ask()


def test_content_may_be_null_and_in_parts_as_the_protocol_has_it(served: Served, behind: FakeChatModel) -> None:
    messages: list[Any] = [
        {"role": "developer", "content": [{"type": "text", "text": "Sé breve."}]},
        {"role": "user", "content": "¿Hay dietas?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {}}]},
        {"role": "user", "content": "¿Y ayudas?"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No lo sé."}]},
        {"role": "user", "content": [{"type": "text", "text": "¿Cuántos días"}, {"type": "text", "text": "hay?"}]},
    ]
    served.ask(messages=messages)
    prompt = behind.requests[-1].messages[1].content
    assert "¿Cuántos días\nhay?" in prompt
    assert "No lo sé." in prompt


@pytest.mark.parametrize("wanted", [True, False])
def test_usage_comes_in_a_last_chunk_without_choices_if_it_is_wanted(served: Served, wanted: bool) -> None:
    chunks = served.ask(stream=True, stream_options={"include_usage": wanted})
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - wanted) + [True] * wanted
    assert [len(chunk.choices) for chunk in chunks] == [1] * (len(chunks) - wanted) + [0] * wanted
    assert all(("usage" in chunk.model_fields_set) is wanted for chunk in chunks)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("role", ["system", "user"])
def test_a_task_of_a_chat_client_is_not_answered_from_the_document(
    served: Served, behind: FakeChatModel, name: str, role: str
) -> None:
    asked = len(behind.requests)
    messages: Any = [{"role": role, "content": TASKS[name]}, *([] if role == "user" else user(INSIDE))]
    with pytest.raises(openai.BadRequestError) as refused:
        served.ask(messages=messages)
    assert refused.value.code == "not_a_question"
    assert len(behind.requests) == asked


def test_a_system_message_that_asks_for_no_title_does_not_stop_the_question(served: Served) -> None:
    messages: Any = [{"role": "system", "content": "You are a helpful assistant in this chat."}, *user(INSIDE)]
    assert served.ask(messages=messages).outcome == "answered"


@pytest.mark.parametrize("size", [0, 1, 40, 400])
def test_bytes_that_are_no_request_are_refused_and_break_nothing(size: int) -> None:
    import random

    rng = random.Random(size)
    values: list[Any] = [None, True, 0, -1, 1e400, "", "x:strict", [], [1], {}, {"role": "user"}, [{"content": {}}]]
    names = ["model", "messages", "stream", "stream_options", "n", "temperature", "tools", "kb_top_k", "metadata", "é"]
    for _ in range(size):
        body = {rng.choice(names): rng.choice(values) for _ in range(rng.randrange(6))}
        with pytest.raises(BadRequest) as refused:
            read_request(json.dumps(body).encode())
        assert refused.value.status in (400, 404)


def asked_with(app: App, headers: dict[str, str], method: str = "GET") -> httpx.Response:
    with running(app) as url:
        return httpx.request(method, f"{url}/models", headers={"Authorization": f"Bearer {TOKEN}", **headers})


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8600", 200),
        ("127.0.0.1", 200),
        ("[::1]:8600", 200),
        ("LOCALHOST.", 200),
        ("chat.example.org", 200),
        ("evil.example:8600", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.168.1.7", 403),
        ("localhost@evil.example", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_server_are_accepted_as_host(settings: Settings, host: str, status: int) -> None:
    app = fake_app(settings.with_changes(allowed_hosts="chat.example.org"), chat_model=DemoModel)
    assert asked_with(app, {"Host": host}).status_code == status


ORIGIN = "https://chat.example.org"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("origins", "origin", "status"),
    [
        ("", ORIGIN, 403),
        (ORIGIN, ORIGIN, 200),
        (ORIGIN, "https://evil.example", 403),
        ("", "null", 403),
        ("", "http://[", 403),
    ],
)
def test_a_web_page_may_call_only_from_an_origin_in_the_settings(
    settings: Settings, origins: str, origin: str, status: int
) -> None:
    app = fake_app(settings.with_changes(serve_cors_origins=origins), chat_model=DemoModel)
    reply = asked_with(app, {"Origin": origin})
    assert reply.status_code == status
    assert reply.headers.get("access-control-allow-origin") == (origin if status == 200 else None)


def test_a_browser_may_ask_beforehand_from_an_origin_in_the_settings(settings: Settings) -> None:
    app = fake_app(settings.with_changes(serve_cors_origins=ORIGIN), chat_model=DemoModel)
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    reply = asked_with(app, {**asked, "Access-Control-Request-Headers": "authorization,x-stainless-os"}, "OPTIONS")
    assert reply.status_code == 200
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert "authorization" in reply.headers["access-control-allow-headers"]


def test_a_question_that_is_too_long_is_refused_by_name(served: Served) -> None:
    long = "a" * 4_001
    with pytest.raises(openai.BadRequestError) as raised:
        served.ask(long)
    assert raised.value.code == "question_too_long"
    # An earlier one is read as far as the limit: it was answered, or refused, when it came.
    earlier = [*user(long), {"role": "assistant", "content": "No lo sé."}, *user(INSIDE)]
    assert served.ask(messages=earlier).choices[0].message.content
