"""Reads the body of a chat completion. Each field is obeyed, has no effect, is named in the reply, or is refused.

The prompts that chat clients send by themselves, without a question of their user, are recognised.
Open WebUI, LibreChat, NextChat and others ask the model of a conversation for its title, tags, follow-up questions or a
summary. Answered from the documents, such a prompt would give a wrong answer that looks like a right one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from chatbot_mvp.api import MODES, DocumentFilter, PastTurn, UserContext
from chatbot_mvp.errors import FilterError
from chatbot_mvp.server.errors import BadRequest, no_model
from chatbot_mvp.storage.json_object import InvalidJson, parse_json

_MARKERS = re.compile(r"<chat_history>|\{\{\s*MESSAGES(:\w+)*\s*\}\}|^#+ *task:", re.I | re.M)
"""What Open WebUI and its derivatives put around the conversation."""
_VERB = (
    r"(?:please |now |por favor,? )*"
    r"(?:your task is to |tu tarea es |you are tasked with |you will )?"
    r"(?:generat\w+|creat\w+|writ\w+|provid\w+|produc\w+|suggest\w*|propos\w+|giv\w+|come up with|detect\b.{0,60}|"
    r"mak\w+|nam\w+|summari[sz]\w+|analy[sz]\w+|reflect|reply with|respond with|return|output|"
    r"gener[ae]\w*|cre[ae]\w*|escrib\w+|redact\w+|propon\w*|propón|sugier\w+|dame|da|pon|pón|haz|resum\w+)"
)
_THING = (
    r"(?:titles?|tags?|follow.?up (?:questions?|prompts?|suggestions?)|search quer(?:y|ies)|emojis?|"
    r"títulos?|titulos?|etiquetas|preguntas de seguimiento|summar\w+|resum\w+|resumen)"
)
_TALK = (
    r"(?:conversations?|chats?|chat history|discussion|dialog(?:ue)?|exchange|messages?|"
    r"user(?:'s|’s)? (?:request|query)|conversación|conversacion|historial|diálogo|dialogo|mensajes?)"
)
_ORDER = re.compile(rf"^\W*{_VERB}\b[^?¿]*\b{_THING}\b[^?¿]*$", re.I)
_SUMMARY = re.compile(
    rf"^\W*(?:please |por favor,? )?(?:summari[sz]e|resum[ea]n?)\b[^?¿]{{0,40}}\b{_TALK}\b[^?¿]*$", re.I
)
_ROLE = re.compile(
    r"^\W*(?:you are|act as|eres|actúa como)\b[^.?]*\b"
    r"(?:title|tag|conversation|chat|topic|autocompletion|summari[sz]ation)s?[\s-]*(?:\w+[\s-]+)?"
    r"(?:generator|summari[sz]er|namer|titler|system|ai|assistant that (?:creates|writes|generates) titles)\b",
    re.I,
)
_ENDS_READ = 4_000
"""Characters that are read at each end of a long message."""
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")

KNOBS = ("kb_top_k", "kb_min_score", "kb_max_context_chars", "kb_min_evidence", "kb_doubt_evidence")
"""Fields of a request that override a setting for that question."""
_OBEYED = {
    *("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "seed"),
    "filter",
    *KNOBS,
}
_NOTHING: tuple[Any, ...] = ([], "", {}, 0)
"""Values of ignored fields that ask for nothing."""
IGNORED = {
    *("stop", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repeat_penalty", "logit_bias"),
    *("reasoning_effort", "verbosity", "keep_alive", "prompt_cache_retention"),
}
"""Fields of how a model draws its words. They are not passed on, and the reply names those that were given."""


def is_client_task(text: str) -> bool:
    """Return whether a message asks for a title, tags, follow-up questions, queries or a summary of a conversation."""
    if len(text) > 2 * _ENDS_READ:  # the order is at one end; between them is the conversation
        text = f"{text[:_ENDS_READ]}\n{text[-_ENDS_READ:]}"
    if len(_MARKERS.findall(text)) >= 2:
        return True
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    if any(_ROLE.search(sentence) or _SUMMARY.search(sentence) for sentence in sentences):
        return True
    about_talk = re.search(rf"\b{_TALK}\b", text, re.I) is not None
    return about_talk and any(_ORDER.search(sentence) for sentence in sentences)


def _one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda given: any(given == value and isinstance(given, bool) == isinstance(value, bool) for value in values)


_WITHOUT_EFFECT: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "n": (_one_of(1), "each question has one answer"),
    "logprobs": (_one_of(False), "'statements' has a score for each sentence"),
    "top_logprobs": (_one_of(0), "'statements' has a score for each sentence"),
    "response_format": (_one_of({"type": "text"}), "an answer is text with citations"),
    "tools": (_one_of([]), "this model answers from documents and calls no tools"),
    "tool_choice": (_one_of("none", "auto"), "this model answers from documents and calls no tools"),
    "parallel_tool_calls": (_one_of(True, False), "this model calls no tools"),
    "functions": (_one_of([]), "this model answers from documents and calls no functions"),
    "function_call": (_one_of("none", "auto"), "this model answers from documents and calls no functions"),
    "modalities": (_one_of(["text"]), "an answer is text"),
    "service_tier": (_one_of("auto", "default"), "there is one tier"),
    "store": (_one_of(False), "this server keeps nothing"),
    **{
        name: (lambda given: isinstance(given, str), "it must be text")
        for name in ("user", "safety_identifier", "prompt_cache_key")
    },
    "metadata": (lambda given: isinstance(given, dict), "it must be an object"),
}
"""Field -> (whether a value asks for nothing beyond what the answer is anyway, what to say of any other value)."""


@dataclass(frozen=True, slots=True)
class AskedCompletion:
    """A question with its options, as a request has them."""

    model: str
    """Id of the knowledge base and mode, as in ``/v1/models``."""
    kb_id: str
    context: UserContext
    question: str
    history: tuple[PastTurn, ...]
    stream: bool
    with_usage: bool
    """Whether a stream ends with a chunk of its tokens."""
    ignored: tuple[str, ...] = ()
    """Fields of the request that had no effect, though their values ask for one."""


def read_request(raw: bytes) -> AskedCompletion:
    """Read the body of ``POST /v1/chat/completions``.

    Raises:
        BadRequest: the reply names the field and what is legal.
    """
    try:
        body = parse_json(raw)
    except InvalidJson as error:
        raise BadRequest(f"The request is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("The request must be a JSON object.")
    body = {name: value for name, value in body.items() if value is not None}
    _refuse_unsupported(body)
    model, kb_id, context = _context(body)
    question, history = _conversation(body.get("messages"))
    ignored = tuple(
        sorted(
            name
            for name in IGNORED.intersection(body)
            if body[name] not in _NOTHING and (name, body[name]) != ("top_p", 1)
        )
    )
    stream = body.get("stream", False)
    if not isinstance(stream, bool):
        raise _wrong("stream", stream, "true or false")
    return AskedCompletion(model, kb_id, context, question, history, stream, _with_usage(body, stream), ignored)


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    for name, value in body.items():
        if name in _OBEYED or name in IGNORED:
            continue
        if name not in _WITHOUT_EFFECT:
            raise BadRequest(f"The field {name!r} is not supported.", code="unsupported_parameter", param=name)
        harmless, why = _WITHOUT_EFFECT[name]
        if not harmless(value):
            raise BadRequest(
                f"{name!r} is not supported with the value {_short(value)}: {why}.",
                code="unsupported_value",
                param=name,
            )


def _context(body: Mapping[str, Any]) -> tuple[str, str, UserContext]:
    """Return (model, id of its knowledge base, mode and options)."""
    model = body.get("model")
    if not isinstance(model, str):
        raise BadRequest(
            "'model' must be the id of a knowledge base and a mode, as listed by /v1/models.", param="model"
        )
    kb_id, _, wanted = model.rpartition(":")
    mode = next((mode for mode in MODES if mode == wanted), None)
    if mode is None or not kb_id:
        raise no_model(model)
    knobs: dict[str, Any] = {name: _number(body, name) for name in KNOBS if name in body}
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body:
            knobs["chat_max_tokens"] = _number(body, name, whole=True)
            if knobs["chat_max_tokens"] < 1:
                raise _wrong(name, body[name], "a whole number from 1")
    if "temperature" in body:
        knobs["llm_temperature"] = _number(body, "temperature")
    if "filter" in body:
        knobs["documents"] = _filter(body["filter"])
    if "seed" in body:
        knobs["seed"] = _number(body, "seed", whole=True)
    return model, kb_id, UserContext(mode, **knobs)


def _filter(found: Any) -> DocumentFilter:
    try:
        return DocumentFilter.from_json(found)
    except FilterError as error:
        raise BadRequest(str(error), param="filter") from error


def _number(body: Mapping[str, Any], name: str, whole: bool = False) -> int | float:
    value = body[name]
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise _wrong(name, value, "a whole number" if whole else "a number")
    return value


def _with_usage(body: Mapping[str, Any], stream: bool) -> bool:
    options = body.get("stream_options")
    if options is None:
        return False
    if not stream:
        raise BadRequest("'stream_options' is only allowed when 'stream' is true.", param="stream_options")
    if not isinstance(options, dict):
        raise _wrong("stream_options", options, "an object")
    for name, value in options.items():
        if name not in ("include_usage", "include_obfuscation"):
            raise BadRequest(
                f"The field 'stream_options.{name}' is not supported.", code="unsupported_parameter", param=name
            )
        if not isinstance(value, bool):
            raise _wrong(f"stream_options.{name}", value, "true or false")
    if options.get("include_obfuscation"):
        raise BadRequest(
            "'stream_options.include_obfuscation' is not supported.", code="unsupported_value", param="stream_options"
        )
    return bool(options.get("include_usage"))


def _conversation(messages: Any) -> tuple[str, tuple[PastTurn, ...]]:
    """Return (last question, turns before it). System messages are not followed: the chat has its own instructions."""
    if not isinstance(messages, list) or not messages:
        raise _bad_messages("'messages' must be a list with at least one message.")
    said: list[tuple[str, str]] = []
    instructions: list[str] = []
    for row, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("system", "developer", "user", "assistant"):
            raise _bad_messages(f"'messages[{row}]' must have the role system, developer, user or assistant.")
        text = _text(message, row)
        if role in ("user", "assistant"):
            said.append((role, text))
        else:
            instructions.append(text)
    if not said or said[-1][0] != "user":
        raise _bad_messages("The last message must be the user's.")
    if any(is_client_task(text) for text in (*instructions, said[-1][1])):
        raise _bad_messages(
            "This is a task of a chat client, such as a title for the conversation, and not a question to the "
            "documents. Switch such tasks off in the client, or choose another model for them.",
            code="not_a_question",
        )
    turns = tuple(
        PastTurn(text, reply)
        for (role, text), (following, reply) in pairwise(said)
        if (role, following) == ("user", "assistant")
    )
    return said[-1][1], turns


def _text(message: Mapping[str, Any], row: int) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if content is None and message["role"] == "assistant":
        # So it is beside tool calls and refusals.
        refusal = message.get("refusal")
        return refusal if isinstance(refusal, str) else ""
    if isinstance(content, list):
        return "\n".join(_part(part, row, message["role"]) for part in content)
    raise _bad_messages(f"'messages[{row}].content' must be text or a list of parts.")


def _part(part: Any, row: int, role: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" or (kind == "refusal" and role == "assistant"):
        text = part.get(kind)
        if isinstance(text, str):
            return text
    legal = "text" if role != "assistant" else "text or refusal"
    raise _bad_messages(f"'messages[{row}].content' has a part of the type {_short(kind)}; legal: {legal}.")


def _bad_messages(text: str, code: str | None = None) -> BadRequest:
    return BadRequest(text, code=code, param="messages")


def _wrong(name: str, value: Any, legal: str) -> BadRequest:
    return BadRequest(f"{name!r} must be {legal}, not {_short(value)}.", param=name)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}…"
