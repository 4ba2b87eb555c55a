"""Caches replies at temperature 0 on disk, so that a repeated request to the same model costs nothing."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from chatbot_mvp.errors import CacheUnusable
from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion, FinishedStream, Usage
from chatbot_mvp.llm.wrapped import WrappedModel, WrappedStream
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.sqlite_cache import SqliteCache

_log = logging.getLogger(__name__)
_KEY_VERSION = 1
_KEPT = ("stop", "length")
"""Finish reasons of replies that are cached."""


class ReplyCache(SqliteCache[str]):
    """Cache of replies in one SQLite file. Safe for several threads and processes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "replies", "(key BLOB PRIMARY KEY, reply TEXT NOT NULL)")

    def get(self, key: bytes) -> Completion | None:
        """Return the reply cached under ``key``, with its tokens, cost 0 and 0 seconds; None if there is none."""
        found = [reply for rows in self.read([key]) for _, reply in rows]
        if not found:
            return None
        kept = parse_json(found[0])
        usage = Usage(kept["prompt_tokens"], kept["completion_tokens"], cost_usd=0.0)
        return Completion(kept["text"], kept["model"], 0.0, kept["finish_reason"], usage, cached=True)

    def put(self, key: bytes, completion: Completion) -> None:
        """Cache a reply. Cancelled, filtered and empty replies are ignored."""
        if completion.finish_reason not in _KEPT or not completion.text:
            return
        reply = {
            "text": completion.text,
            "model": completion.model,
            "finish_reason": completion.finish_reason,
            "prompt_tokens": completion.usage.prompt_tokens,
            "completion_tokens": completion.usage.completion_tokens,
        }
        self.write({key: json.dumps(reply)})


class CachedModel(WrappedModel):
    """Answers repeated requests at temperature 0 from the cache, and passes on all others."""

    def __init__(self, model: ChatModel, cache: ReplyCache, address: str) -> None:
        """
        Args:
            address: address of the model's provider; different addresses never share replies.
        """
        super().__init__(model)
        self._cache = cache
        self._address = address

    def complete(self, request: ChatRequest) -> Completion:
        key = self._key(request)
        if (hit := self._found(key)) is not None:
            return hit
        completion = super().complete(request)
        _keep(self._cache, key, completion)
        return completion

    def stream(self, request: ChatRequest) -> ChatStream:
        key = self._key(request)
        if (hit := self._found(key)) is not None:
            return FinishedStream(hit)
        return _KeptStream(super().stream(request), self._cache, key)

    def _key(self, request: ChatRequest) -> bytes | None:
        """Return the cache key of a request; None if its reply must not be cached."""
        if request.options.temperature != 0:
            return None
        identity = {
            "version": _KEY_VERSION,
            "model": self.name,
            "address": self._address,
            "messages": [[message.role, message.content] for message in request.messages],
            "options": asdict(request.options),
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()

    def _found(self, key: bytes | None) -> Completion | None:
        """Return the cached reply; None also if the file cannot be read: a broken cache does not block answers."""
        started = time.perf_counter()
        try:
            hit = None if key is None else self._cache.get(key)
        except (CacheUnusable, ValueError, KeyError, TypeError) as error:
            _log.warning("the cache of replies cannot be read: %s", error)
            return None
        return hit and replace(hit, seconds=time.perf_counter() - started)


def _keep(cache: ReplyCache, key: bytes | None, completion: Completion) -> None:
    if key is None:
        return
    try:
        cache.put(key, completion)
    except CacheUnusable as error:
        _log.warning("the cache of replies cannot be written: %s", error)


class _KeptStream(WrappedStream):
    """A stream whose completion is cached when it ends without an error."""

    def __init__(self, stream: ChatStream, cache: ReplyCache, key: bytes | None) -> None:
        super().__init__(stream)
        self._cache = cache
        self._key = key

    def __iter__(self) -> Iterator[str]:
        yield from self._stream
        _keep(self._cache, self._key, self._stream.completion)
