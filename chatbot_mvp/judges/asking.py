"""Ask a judge for a structured reply, with retries. Without a readable reply the row is not scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from chatbot_mvp.errors import NeedsLanguageModel, ProviderBadRequest, ProviderReplyUnusable
from chatbot_mvp.judges.reading import Reading, Unreadable, ends_in_the_middle, read_reply, repeats_itself, until_cut
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, Completion, Message, Usage
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.remote.failures import OF_ONE_REQUEST, PASSING

T = TypeVar("T", bound=BaseModel)
Reason = Literal["", "unusable_reply", "provider"]
"""Why there is no value. unusable_reply: no attempt gave a readable reply; provider: the request failed."""

_PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
_ABOUT_SCHEMA = re.compile(r"response.?(?:format|schema|mime)|json.?(?:schema|object|mode)|structured", re.I)
_TAKES_NO_SCHEMA: set[str] = set()
"""Names of models whose provider refused a JSON schema in this process. Without this memory every request would be
refused first, which would double the number of requests."""
_MORE_TOKENS = 4  # factor on the first attempt's token limit after a reply was cut at the limit
_REPEATED_CHARS = 2_000
"""Characters of an unreadable reply that the next attempt repeats to the model."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """The result of asking a judge."""

    value: T | None
    """The reply; None if not scored."""
    reason: Reason
    """Why there is no value; "" if there is one."""
    detail: str
    """The fault of the last reply or the provider's error, for people; "" if there is a value."""
    raw: str
    """Text of the last reply, unchanged; "" if there was none."""
    attempts: int
    """Number of requests, from 1."""
    completions: tuple[Completion, ...]
    """All replies in order, readable or not."""
    reading: Reading | None = None
    """How the value was read; None if there is none."""
    passing: bool = False
    """True if there is no value because of a temporary failure of the provider."""

    @property
    def usage(self) -> Usage:
        return total_usage(self.completions)


def ask(
    model: ChatModel,
    messages: tuple[Message, ...],
    reply: type[T],
    *,
    check: Callable[[T], str] | None = None,
    attempts: int = 3,
    max_tokens: int = 1024,
    temperature: float = 0.0,
    seed: int | None = None,
    language: str = "en",
) -> Asked[T]:
    """Ask a model for a reply with the structure of ``reply``, sent as JSON schema if the provider supports it.

    If a reply cannot be read, even after repair, the next attempt includes it and a message about the fault. If a reply
    was cut at its token limit, one attempt has four times the limit. If all attempts fail, the complete part of a cut
    reply is used.

    Args:
        messages: the prompt. It must describe the form of the reply, since a provider may ignore the schema.
        check: returns the fault of a value ("3 verdicts for 4 statements"), "" if it has none.
        attempts: maximum number of requests, from 1. A repetition without the schema is not counted.
        max_tokens: limit of the first attempt's reply.
        temperature, seed: as in ``ChatOptions``. A different seed is never answered from the reply cache.
        language: language of the message about a fault, "es" or "en".

    Raises:
        NeedsLanguageModel: the model only quotes passages and cannot write freely.
        ProviderError: every request would fail: wrong key, exhausted quota, unknown model.
    """
    if model.needs_evidence:
        raise NeedsLanguageModel(feature="A judge", provider=model.name)
    schema = None if model.name in _TAKES_NO_SCHEMA else json_schema(reply)
    reason: Reason = "unusable_reply"
    tokens, raw, detail = max_tokens, "", ""
    completions: list[Completion] = []
    rest: T | None = None
    turns = messages
    tries = 0
    passing = False
    while tries < attempts:
        tries += 1
        options = ChatOptions(temperature, tokens, schema, seed)
        try:
            completion = model.complete(ChatRequest(turns, options))
        except ProviderReplyUnusable as error:
            # Usually the model used all tokens for thinking: there is no text to correct, but more tokens may help.
            reason, detail = "unusable_reply", str(error)
            if tokens > max_tokens:
                break
            tokens = _MORE_TOKENS * max_tokens
            continue
        except ProviderBadRequest as error:
            reason, detail = "provider", str(error)
            if schema is None:
                break
            if _ABOUT_SCHEMA.search(str(error.params.get("reason", ""))):
                _TAKES_NO_SCHEMA.add(model.name)
            schema, tries = None, tries - 1
            continue
        except OF_ONE_REQUEST as error:
            reason, detail, passing = "provider", str(error), isinstance(error, PASSING)
            break
        completions.append(completion)
        raw, reason = completion.text, "unusable_reply"
        at_limit = completion.finish_reason == "length"
        cut = at_limit or ends_in_the_middle(raw)
        try:
            value, reading = read_reply(until_cut(raw) if cut else raw, reply)
            detail = check(value) if check else ""
        except Unreadable as error:
            detail = str(error)
        else:
            # A complete value may precede the cut: small models under a grammar pad with white space to the limit.
            if not detail and (not cut or reading == "whole"):
                return Asked(value, "", "", raw, tries, tuple(completions), reading)
            rest = value if not detail else rest
        if at_limit and not repeats_itself(raw):
            detail = detail or f"it was cut at {tokens} tokens"
            if tokens > max_tokens:
                break
            tokens = _MORE_TOKENS * max_tokens
        else:
            detail = "it repeats itself without end" if at_limit else detail or "it ends in the middle"
            # The attempt number makes the request unique; an identical one would be answered from the cache.
            told = correction(language).format(problem=detail, attempt=tries + 1, attempts=attempts).strip()
            turns = (*messages, Message("assistant", raw[:_REPEATED_CHARS] or "…"), Message("user", told))
    if rest is not None:
        return Asked(rest, "", "", raw, tries, tuple(completions), "cut")
    return Asked(None, reason, detail, raw, tries, tuple(completions), passing=passing)


def correction(language: str) -> str:
    """Return the template of the message after an unreadable reply; English for an unknown language."""
    return str(_PROMPTS.texts(language)["correction"])


def total_usage(completions: Iterable[Completion]) -> Usage:
    """Sum the usage over replies; a figure is None if no reply reports it."""
    usages = [completion.usage for completion in completions]
    names = ("prompt_tokens", "completion_tokens", "cost_usd")
    return Usage(*(_sum(getattr(usage, name) for usage in usages) for name in names))


@cache
def json_schema(reply: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of a reply with every definition in its place: some providers follow no references."""
    schema = reply.model_json_schema()
    definitions = schema.pop("$defs", {})

    def inlined(node: Any) -> Any:
        if isinstance(node, list):
            return [inlined(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return inlined(definitions[node["$ref"].rpartition("/")[2]])
        # Titles repeat the names; a field may be called "title", whose value is a schema and no text.
        return {name: inlined(value) for name, value in node.items() if name != "title" or isinstance(value, dict)}

    result: dict[str, Any] = inlined(schema)
    return result


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
