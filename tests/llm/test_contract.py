"""One contract for every provider, over real HTTP where there is any: the table is in ``contract_table``."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatbot_mvp.errors import (
    ChatbotError,
    ProviderError,
    ProviderReplyUnusable,
    ProviderUnavailable,
)
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, Grounding, Message
from chatbot_mvp.llm.creation import create_remote_model
from chatbot_mvp.llm.local_server import local_server
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.remote.limiter import limiter_for
from chatbot_mvp.settings.live import LiveSettings
from tests.fakes import chunks_of, run_in_loop
from tests.llm.conftest import CONTEXT_TOKENS, KEY, Rig, gguf
from tests.llm.contract_table import BEHAVIOURS
from tests.llm.gemini_stub import PROMPT_TOKENS, THOUGHT_TOKENS, quota_of_the_day
from tests.llm.http_stub import Fault, Response
from tests.raising import raises

pytestmark = pytest.mark.xdist_group("llama")
every_provider = pytest.mark.parametrize("rig", PROVIDERS, indirect=True)

GROUNDING = Grounding("¿Dónde nace el río?", tuple(chunks_of("El río nace en la sierra de Ayllón.")), "es")
SPANISH = "Mañana, ¿qué hará el pingüino? 🐧 €"
SCHEMA = {
    "type": "object",
    "properties": {"color": {"enum": ["red", "blue"], "type": "string"}},
    "required": ["color"],
    "additionalProperties": False,
}


def behaviour(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Marks the test of one row of the contract."""
    assert name in BEHAVIOURS

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        return pytest.mark.behaviour(name)(every_provider(test))  # type: ignore[no-any-return]

    return mark


def ask(text: str = "Say hello to the harbour", **options: object) -> ChatRequest:
    chosen = ChatOptions(**{"max_tokens": 4, **options})  # type: ignore[arg-type]
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), chosen, GROUNDING)


def status(code: int, **headers: str) -> Fault:
    return Fault(Response.json({"error": {"message": "not now", "code": code}}, code, **headers))


def fails(code: str, model: ChatModel, request: ChatRequest | None = None) -> ChatbotError:
    """The error of ``complete``, which ``stream`` has as well."""
    with raises(code) as raised:
        model.complete(request or ask())
    return raised.value


@pytest.mark.sampled(2)
@behaviour("complete")
def test_a_request_gets_a_completion_that_names_provider_and_model(rig: Rig) -> None:
    model = rig.model()
    completion = model.complete(ask())
    assert completion.text.strip()
    assert completion.model == model.name == rig.settings.language_model
    assert completion.model.startswith(rig.provider)
    assert completion.finish_reason in ("stop", "length")
    assert completion.seconds > 0
    assert not completion.cached
    if rig.server:
        messages = json.dumps(rig.server.requests[0].json)
        assert "Be brief." in messages
        assert "Say hello to the harbour" in messages


@behaviour("stream")
def test_the_pieces_of_a_stream_add_up_to_the_completion(rig: Rig) -> None:
    stream = rig.model().stream(ask("Count the boats in the harbour"))
    pieces = list(stream)
    assert len(pieces) > 1
    assert "".join(pieces) == stream.completion.text
    assert stream.completion.finish_reason in ("stop", "length")
    assert stream.completion.seconds > 0
    stream.close()
    assert stream.completion.finish_reason in ("stop", "length")


@pytest.mark.sampled(2)
@behaviour("stream closed early")
def test_a_stream_that_is_closed_keeps_what_came_and_frees_connection_and_slot(rig: Rig) -> None:
    if rig.server:
        rig.server.piece_delay = 0.05
    stream = rig.model().stream(ask("Tell a long story about boats in the harbour of a small town", max_tokens=60))
    first = next(iter(stream))
    stream.close()
    stream.close()
    assert stream.completion.text == first
    assert stream.completion.finish_reason == "cancelled"
    assert list(stream) == []
    if rig.server:
        assert rig.server.left_early.wait(5)
        address = PROVIDERS[rig.provider].base_url(rig.settings)
        assert limiter_for(rig.provider, address).running == 0
    assert rig.model().complete(ask()).text


@pytest.mark.sampled(3)
@behaviour("usage and cost")
def test_tokens_and_cost_come_with_every_completion_and_stream(rig: Rig) -> None:
    model = rig.model(llm_cache_enabled=False)
    stream = model.stream(ask(max_tokens=8))
    list(stream)
    for usage in (model.complete(ask(max_tokens=8)).usage, stream.completion.usage):
        if PROVIDERS[rig.provider].has_model:
            assert (usage.prompt_tokens or 0) > 0
            assert (usage.completion_tokens or 0) > 0
        if rig.provider in ("ollama", "local", "demo"):
            assert usage.cost_usd == 0.0
        elif rig.provider == "gemini":
            # What it thought is paid for as well: "harbour the to hello Say" is five words.
            assert (usage.prompt_tokens, usage.completion_tokens) == (PROMPT_TOKENS, 5 + THOUGHT_TOKENS)
            assert usage.cost_usd == pytest.approx((7 * 0.30 + 10 * 2.50) / 1e6)
        else:
            assert usage.cost_usd is None, "the test's model has no price, and none is made up"


@behaviour("Spanish and emoji")
def test_spanish_and_emoji_arrive_letter_for_letter_in_both_directions(rig: Rig) -> None:
    model = rig.model(llm_cache_enabled=False)
    if rig.provider == "demo":
        assert "Ayllón" in model.complete(ask(max_tokens=40)).text
        return
    if rig.provider == "local":
        assert model.complete(ask(SPANISH)).text
        return
    front = rig.front
    if rig.provider == "gemini":
        assert " ".join(reversed(model.complete(ask(SPANISH, max_tokens=8)).text.split())) == SPANISH
        stream = model.stream(ask(SPANISH, max_tokens=8))
        assert " ".join(reversed("".join(stream).split())) == SPANISH
    else:
        whole = {"choices": [{"finish_reason": "stop", "index": 0, "message": {"content": SPANISH}}]}
        chunk = {"choices": [{"finish_reason": "stop", "index": 0, "delta": {"content": SPANISH}}]}
        sent = f"data: {json.dumps(chunk, ensure_ascii=False)}\n\ndata: [DONE]\n\n".encode()
        # One byte at a time: every letter of more than one is torn.
        torn = Response(200, [sent[at : at + 1] for at in range(len(sent))], {"Content-Type": "text/event-stream"})
        front.faults.extend([Fault(Response.json(whole)), Fault(torn)])
        assert model.complete(ask(SPANISH)).text == SPANISH
        stream = model.stream(ask(SPANISH))
        assert "".join(stream) == stream.completion.text == SPANISH
    for request in front.requests:
        assert SPANISH in json.dumps(request.json, ensure_ascii=False)


@pytest.mark.sampled(2)
@behaviour("JSON schema")
def test_a_reply_under_a_schema_keeps_to_it(rig: Rig) -> None:
    rig.needs_model()
    reply = rig.model().complete(ask("Name a colour as JSON.", json_schema=SCHEMA, max_tokens=40))
    assert json.loads(reply.text)["color"] in ("red", "blue")


@pytest.mark.sampled(2)
@behaviour("cache hit")
def test_the_same_request_is_paid_once_and_a_hit_says_so(rig: Rig) -> None:
    rig.needs_model()
    model = rig.model()
    first = model.complete(ask())
    sent = len(rig.server.requests) if rig.server else 0
    hit = rig.model().complete(ask())
    assert (hit.text, hit.cached, hit.usage.cost_usd) == (first.text, True, 0.0)
    assert hit.usage.prompt_tokens == first.usage.prompt_tokens
    stream = rig.model().stream(ask())
    assert "".join(stream) == first.text
    assert stream.completion.cached
    whole = model.stream(ask("Another question"))
    list(whole)
    assert model.complete(ask("Another question")).text == whole.completion.text
    if rig.server:
        assert len(rig.server.requests) == sent + 1
    assert not rig.model(llm_cache_enabled=False).complete(ask()).cached
    assert not model.complete(ask(temperature=0.5)).cached


@pytest.mark.sampled(3)
@behaviour("inside an event loop")
def test_a_model_answers_inside_a_running_event_loop(rig: Rig) -> None:
    """No call starts a loop of its own, which one that runs already would forbid."""
    model = rig.model(llm_cache_enabled=False)

    async def main() -> tuple[str, str, str]:
        left = model.stream(ask("Tell a long story about boats", max_tokens=60))
        next(iter(left))
        left.close()
        return model.complete(ask()).text, "".join(model.stream(ask())), left.completion.finish_reason

    whole, streamed, left = run_in_loop(main)
    assert whole == streamed
    assert left == "cancelled"


@pytest.mark.sampled(2)
@behaviour("one limiter for all")
def test_models_of_one_provider_share_its_cap(rig: Rig) -> None:
    front = rig.front
    front.faults.extend([Fault(delay=0.1)] * 3)
    models = [rig.model(nim_max_concurrent_requests=1, llm_cache_enabled=False) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda model: model.complete(ask(max_tokens=1)), models))
    gaps = [later - earlier for earlier, later in zip(front.times, front.times[1:], strict=False)]
    assert len(gaps) == 2
    assert min(gaps) >= 0.1


@pytest.mark.sampled(3)
@behaviour("time-out")
def test_a_provider_that_takes_too_long_is_unavailable(rig: Rig) -> None:
    rig.needs_model()
    changes = {"nim_request_timeout": 0.2, "nim_max_retries": 0, "llm_cache_enabled": False}
    if rig.server:
        rig.server.faults.append(Fault(delay=0.8))
        error = fails("provider_unavailable", rig.model(**changes))
    else:
        changes["nim_request_timeout"] = 0.02
        error = fails("provider_unavailable", rig.model(**changes), ask("Tell a story", max_tokens=60))
    assert "no answer within" in str(error)
    assert error.__cause__ is not None


@pytest.mark.sampled(2)
@behaviour("cut connection")
def test_a_connection_that_breaks_before_the_answer_is_tried_again(rig: Rig) -> None:
    front = rig.front
    model = rig.model(llm_cache_enabled=False)
    front.faults.append(Fault(cut_after=0))
    assert model.complete(ask()).text
    front.faults.append(Fault(cut_after=0))
    assert "".join(model.stream(ask()))
    assert len(front.requests) == 4
    front.faults.extend([Fault(cut_after=0)] * 3)
    assert "tries: 3" in str(fails("provider_unavailable", model))


@pytest.mark.sampled(3)
@behaviour("cut stream")
def test_a_stream_that_breaks_off_is_an_error_and_is_not_begun_anew(rig: Rig) -> None:
    front = rig.front
    model = rig.model()
    front.faults.append(Fault(cut_after=3))
    stream = model.stream(ask("Count the boats in the old harbour of the town"))
    pieces: list[str] = []
    with pytest.raises(ProviderError) as raised:
        for piece in stream:
            pieces.append(piece)
    assert isinstance(raised.value, ProviderUnavailable | ProviderReplyUnusable)
    assert pieces
    assert stream.completion.text == "".join(pieces)
    assert stream.completion.finish_reason == "cancelled"
    assert len(front.requests) == 1
    again = model.complete(ask("Count the boats in the old harbour of the town"))
    assert not again.cached


@pytest.mark.sampled(2)
@behaviour("429 with Retry-After")
def test_retry_after_is_obeyed(rig: Rig) -> None:
    front = rig.front
    front.faults.append(status(429, Retry_After="1"))
    assert rig.model().complete(ask()).text
    assert len(front.requests) == 2
    assert front.times[1] - front.times[0] >= 1.0
    front.faults.append(status(429, Retry_After="3600"))
    error = fails("provider_rate_limited", rig.model(), ask("A question of its own"))
    assert len(front.requests) == 3, "nobody waits an hour for an answer"
    assert "not now" in str(error)


@behaviour("429 to the end")
def test_a_429_that_stays_is_told_after_the_retries(rig: Rig) -> None:
    front = rig.front
    front.faults.extend([status(429, retry_after_ms="20")] * 3)
    error = fails("provider_rate_limited", rig.model())
    assert len(front.requests) == 3
    assert "3 tries" in str(error)
    address = PROVIDERS[rig.provider].base_url(rig.settings)
    assert limiter_for(rig.provider, address).interval > 0


@behaviour("daily quota")
def test_a_quota_that_is_used_up_is_told_at_once(rig: Rig) -> None:
    front = rig.front
    own = {"message": "You exceeded your current quota, please check your plan.", "code": "insufficient_quota"}
    fault = quota_of_the_day() if rig.provider == "gemini" else Response.json({"error": own}, 429, Retry_After="1")
    front.faults.append(Fault(fault))
    assert "quota" in str(fails("provider_quota_exhausted", rig.model()))
    assert len(front.requests) == 1


@pytest.mark.sampled(3)
@behaviour("500, then success")
def test_a_server_error_is_tried_again(rig: Rig) -> None:
    front = rig.front
    front.faults.extend([status(500), status(503)])
    assert rig.model().complete(ask()).text
    front.faults.append(status(502))
    assert "".join(rig.model(llm_cache_enabled=False).stream(ask()))
    assert len(front.requests) == 5


@behaviour("refused key, not retried")
def test_a_refused_key_is_told_at_once_with_its_variable(rig: Rig) -> None:
    front = rig.front
    if rig.provider == "ollama":
        front.faults.append(status(400))
        fails("provider_bad_request", rig.model())
        assert len(front.requests) == 1
        return
    variable = PROVIDERS[rig.provider].keys[0]
    error = fails("provider_key_refused", rig.model(**{variable: "sk-Another-Key"}))
    assert variable.upper() in str(error)
    assert len(front.requests) == 1


@behaviour("prompt too long")
def test_a_prompt_over_the_context_is_told_as_such_and_not_retried(rig: Rig) -> None:
    rig.needs_model()
    error = fails("provider_prompt_too_long", rig.model(), ask("barco " * 4_000))
    assert "KB_MAX_CONTEXT_CHARS" in str(error)
    if rig.server:
        assert len(rig.server.requests) == 1


MALFORMED = {
    "a page": (b"<html>gateway</html>", "application/json"),
    "a page, and it says so": (b"<html>gateway</html>", "text/html"),
    "cut JSON": (b'{"choices": [{"mess', "application/json"),
    "no choice": (b'{"choices": [], "candidates": []}', "application/json"),
    "nothing in it": (b"{}", "application/json"),
    "nothing": (b"", "application/json"),
}


@behaviour("malformed reply")
def test_a_reply_that_is_none_is_told_as_such(rig: Rig) -> None:
    front = rig.front
    model = rig.model()
    for name, (body, content_type) in MALFORMED.items():
        for streamed in (False, True):
            front.reset()
            front.faults.append(Fault(Response(200, [body] if body else [], {"Content-Type": content_type})))
            with pytest.raises(ProviderReplyUnusable):
                if streamed:
                    print(name, "".join(model.stream(ask())))
                else:
                    print(name, model.complete(ask()))
            assert len(front.requests) == 1, name


@pytest.mark.sampled(3)
@behaviour("key in no error")
def test_no_key_is_in_any_error_traceback_log_or_representation(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    if rig.provider == "local":
        error = fails("provider_prompt_too_long", rig.model(), ask("barco " * 4_000))
        token = local_server(gguf(), gguf().stem, CONTEXT_TOKENS, 1).key.get_secret_value()
        assert token not in "".join(traceback.format_exception(error)) + repr(error) + repr(error.params)
        return
    front = rig.front
    wrong = "sk-Another-Key"
    keys = PROVIDERS[rig.provider].keys
    refused = rig.model(**({keys[0]: wrong} if keys else {}), nim_max_retries=0)
    echo = {"error": {"message": f"what is {KEY} or {wrong}?", "details": []}}
    for fault in (None, *(Fault(Response.json(echo, code)) for code in (400, 401, 404, 429, 500)), Fault(cut_after=0)):
        model = refused
        if fault is not None:
            front.faults.append(fault)
        elif not keys:
            continue
        with pytest.raises(ProviderError) as raised:
            model.complete(ask())
        told = "".join(traceback.format_exception(raised.value))
        told += str(raised.value) + repr(raised.value) + repr(raised.value.params) + repr(raised.value.__cause__)
        told += repr(vars(model)) + repr(rig.settings) + rig.settings.model_dump_json()
        assert not keys or wrong not in told
    model = rig.model()
    assert model.complete(ask()).text
    assert "".join(model.stream(ask("Another question")))
    told = repr(model) + str(Providers(LiveSettings(rig.settings)).statuses()) + caplog.text
    assert not keys or (KEY not in told and wrong not in told)


@behaviour("reachable or not")
def test_a_check_tells_who_answers_and_what_is_wrong_with_who_does_not(rig: Rig) -> None:
    providers = Providers(LiveSettings(rig.settings))
    check = providers.check(rig.provider)
    assert (check.reachable, check.error) == (True, None)
    assert providers.statuses()[list(PROVIDERS).index(rig.provider)].check == check
    if rig.server is None:
        return
    assert (check.seconds or 0) > 0
    name = {"nim": "llm"}.get(rig.provider, rig.provider)
    model = create_remote_model(rig.settings.with_changes(**{f"{name}_model_name": "nonesuch"}))
    with raises("provider_model_unknown") as raised:
        model.check(5)
    assert rig.settings.language_model.partition("/")[2] in str(raised.value), "it says what there is"
    rig.server.faults.append(status(500))
    assert isinstance(providers.check(rig.provider).error, ProviderUnavailable)
    assert len(rig.server.requests) == 3, "a check is not retried"


def test_every_row_of_the_contract_has_a_test() -> None:
    tested = {
        mark.args[0]
        for test in globals().values()
        for mark in getattr(test, "pytestmark", [])
        if getattr(mark, "name", "") == "behaviour"
    }
    assert tested == set(BEHAVIOURS)
