"""Replies on disk: what is kept, what is told apart, what is let go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.llm.base import (
    ChatOptions,
    ChatRequest,
    ChatStream,
    Completion,
    FinishedStream,
    FinishReason,
    Message,
    Usage,
)
from chatbot_mvp.llm.reply_cache import CachedModel, ReplyCache

QUESTION = ChatRequest((Message("user", "¿Cuánto mide? \ud83d 🐧"),))


class Counting:
    """A model that numbers its replies."""

    name = "nim/model"
    needs_evidence = False

    def __init__(self, finish: FinishReason = "stop") -> None:
        self.calls = 0
        self.finish = finish

    def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        return Completion(f"reply {self.calls}", self.name, 1.0, self.finish, Usage(3, 2, 0.5))

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "cache" / "replies.sqlite")


def with_options(**options: Any) -> ChatRequest:
    return replace(QUESTION, options=ChatOptions(**options))


def test_a_hit_is_told_and_costs_nothing(cache: ReplyCache) -> None:
    model = Counting()
    cached = CachedModel(model, cache, "http://a")
    first = cached.complete(QUESTION)
    hit = cached.complete(QUESTION)
    assert (first.cached, hit.cached, model.calls) == (False, True, 1)
    assert (hit.text, hit.usage) == (first.text, Usage(3, 2, 0.0))


OTHERS = {
    "messages": (ChatRequest((Message("user", "otra"),)), "http://a", "nim/model"),
    "a role": (ChatRequest((Message("system", QUESTION.messages[0].content),)), "http://a", "nim/model"),
    "the length": (with_options(max_tokens=5), "http://a", "nim/model"),
    "a seed": (with_options(seed=1), "http://a", "nim/model"),
    "a schema": (with_options(json_schema={"type": "object"}), "http://a", "nim/model"),
    "the address": (QUESTION, "http://b", "nim/model"),
    "the model": (QUESTION, "http://a", "nim/other"),
}


@pytest.mark.parametrize(("request_", "address", "name"), OTHERS.values(), ids=OTHERS)
def test_whatever_may_change_a_reply_tells_two_requests_apart(
    cache: ReplyCache, request_: ChatRequest, address: str, name: str
) -> None:
    CachedModel(Counting(), cache, "http://a").complete(QUESTION)
    other = Counting()
    other.name = name  # type: ignore[misc]
    assert not CachedModel(other, cache, address).complete(request_).cached


def test_only_replies_at_temperature_0_are_kept(cache: ReplyCache) -> None:
    model = Counting()
    cached = CachedModel(model, cache, "http://a")
    for _ in range(2):
        assert not cached.complete(with_options(temperature=0.7)).cached
    assert (model.calls, len(cache)) == (2, 0)


@pytest.mark.parametrize(("finish", "kept"), [("stop", 1), ("length", 1), ("filtered", 0), ("cancelled", 0)])
def test_only_whole_replies_are_kept(cache: ReplyCache, finish: FinishReason, kept: int) -> None:
    CachedModel(Counting(finish), cache, "http://a").complete(QUESTION)
    assert len(cache) == kept


def test_a_stream_is_kept_when_it_has_ended_and_not_when_it_was_left(cache: ReplyCache) -> None:
    cached = CachedModel(Counting(), cache, "http://a")
    left = cached.stream(QUESTION)
    pieces: Iterator[str] = iter(left)
    next(pieces)
    left.close()
    assert list(pieces) == []
    assert len(cache) == 0
    whole = cached.stream(QUESTION)
    assert "".join(whole) == whole.completion.text
    hit = cached.stream(QUESTION)
    assert "".join(hit) == whole.completion.text
    assert hit.completion.cached


@pytest.mark.parametrize("damage", ["no database", "a folder"])
def test_a_cache_that_cannot_be_used_costs_no_answer(cache: ReplyCache, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "cache" / "replies.sqlite"
    path.parent.mkdir()
    if damage == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"no database" * 1_000)
    cached = CachedModel(Counting(), cache, "http://a")
    assert cached.complete(QUESTION).text == "reply 1"
    assert "".join(cached.stream(QUESTION)) == "reply 2"


def test_clearing_forgets_every_reply(cache: ReplyCache) -> None:
    assert (len(cache), cache.clear()) == (0, 0)
    cached = CachedModel(Counting(), cache, "http://a")
    cached.complete(QUESTION)
    assert cache.clear() == 1
    assert not cached.complete(QUESTION).cached
