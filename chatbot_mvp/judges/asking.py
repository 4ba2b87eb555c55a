"""Asks a judge for a structured reply, in so many attempts; what cannot be had is not scored, with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from chatbot_mvp.errors import (
    NeedsLanguageModel,
    ProviderBadRequest,
    ProviderReplyUnusable,
)
from chatbot_mvp.judges.reading import Reading, Unreadable, ends_in_the_middle, read_reply, repeats_itself, until_cut
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, Completion, Message, Usage
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.remote.failures import OF_ONE_REQUEST, PASSING

T = TypeVar("T", bound=BaseModel)
Reason = Literal["", "unusable_reply", "provider"]
"""Why there is no value. unusable_reply: no attempt gave one that could be read; provider: the request failed."""

_PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
_ABOUT_SCHEMA = re.compile(r"response.?(?:format|schema|mime)|json.?(?:schema|object|mode)|structured", re.I)
_TAKES_NO_SCHEMA: set[str] = set()
"""Names of models whose provider refused a schema, learned while the process runs: to be refused each time anew would
take half of a quota counted in requests."""
_MORE_TOKENS = 4  # times the limit of the first attempt, once a reply was cut at it
_REPEATED_CHARS = 2_000
"""Of a reply that could not be read, what the next attempt shows."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What came of asking a judge."""

    value: T | None
    """None: not scored."""
    reason: Reason
    """"" with a value."""
    detail: str
    """What was wrong, for people: with the last reply, or the provider's error. "" with a value."""
    raw: str
    """The last reply as it came; "" if there was none."""
    attempts: int
    """Requests, from 1."""
    completions: tuple[Completion, ...]
    """Every reply, readable or not, in order."""
    reading: Reading | None = None
    """How the value was read; None without one."""
    passing: bool = False
    """There is no value because of a failure of the provider that may be over later."""

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
    """A reply in the structure of ``reply``, which goes along as JSON schema for providers that can hold to it.

    A reply that cannot be read, even mended, is asked for again with a short message telling what was wrong; one that
    was cut at its limit, once, with four times the tokens. Only if no attempt ends well is what came whole of a cut
    one taken.

    Args:
        messages: have to say the form of the reply as well: a provider may ignore the schema.
        check: what is wrong with a value ("3 verdicts for 4 statements"); "" if nothing is.
        attempts: requests at most, from 1; one that is repeated because the provider takes no schema is not counted.
        max_tokens: of the first attempt's reply.
        temperature, seed: as in ``ChatOptions``; another seed is not answered from the cache of replies.
        language: of the correction.

    Raises:
        NeedsLanguageModel: the model can say nothing of its own.
        ProviderError: one that no request would survive: no key, no quota, no such model.
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
            # Mostly a model that thought until its tokens were used up; there is nothing to correct.
            reason, detail = "provider", str(error)
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
            # Whole, and then cut: blank space until the limit, as small models under a grammar write it.
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
            # The number makes it another request: the same one would get the same reply, if only from the cache.
            told = correction(language).format(problem=detail, attempt=tries + 1, attempts=attempts).strip()
            turns = (*messages, Message("assistant", raw[:_REPEATED_CHARS] or "…"), Message("user", told))
    if rest is not None:
        return Asked(rest, "", "", raw, tries, tuple(completions), "cut")
    return Asked(None, reason, detail, raw, tries, tuple(completions), passing=passing)


def correction(language: str) -> str:
    """The template of what a judge is told whose reply could not be read; English for a language without one."""
    return str(_PROMPTS.texts(language)["correction"])


def total_usage(completions: Iterable[Completion]) -> Usage:
    """Sums over replies; None for what is not known of any of them."""
    usages = [completion.usage for completion in completions]
    return Usage(
        _sum(usage.prompt_tokens for usage in usages),
        _sum(usage.completion_tokens for usage in usages),
        _sum(usage.cost_usd for usage in usages),
    )


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


N = TypeVar("N", int, float)


def _sum(values: Iterable[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None
