"""Adapter for models of Hugging Face that ``transformers`` runs inside this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.llm.base import ChatRequest, Message, plain_prompt
from chatbot_mvp.llm.wire import Delta, UnusableReply
from chatbot_mvp.remote.failures import Failure

_TASK = "text-generation"
_USUAL_TOKENS = 1_024
_SETTING, _OPTIONS = "HUGGINGFACE_MODEL_NAME", "HUGGINGFACE_OPTIONS"
_REASON_CHARS = 300


class HuggingFaceWire:
    """Generates with one model, one request at a time. A chat template is used if the tokenizer has one.

    It ignores JSON schemas. A stream gives the whole reply as one piece.
    """

    def __init__(self, model: str, options: str = "") -> None:
        """
        Args:
            model: a folder with ``config.json``, weights and tokenizer, or a name on the Hub.
            options: JSON object with arguments of ``transformers.pipeline``; "" for none.

        Raises:
            ImportError: torch or transformers is not installed.
            InvalidSetting: the options are no JSON object, or the model cannot be loaded.
        """
        self._pipeline, self._lock = _loaded(model, options)

    def complete(self, request: ChatRequest) -> Delta:
        tokenizer, asked = self._pipeline.tokenizer, request.options
        text, templated = _prompt(tokenizer, request.messages)
        limit = asked.max_tokens or _USUAL_TOKENS
        prompt_tokens = len(tokenizer(text, add_special_tokens=not templated)["input_ids"])
        room = getattr(self._pipeline.model.config, "max_position_embeddings", None)
        if isinstance(room, int) and prompt_tokens >= room:
            raise _PromptTooLong(f"the prompt has {prompt_tokens} tokens, and the model reads {room}")
        if isinstance(room, int):
            limit = min(limit, room - prompt_tokens)
        arguments: dict[str, Any] = {"max_new_tokens": limit, "do_sample": asked.temperature > 0}
        if asked.temperature > 0:
            arguments["temperature"] = asked.temperature
        with self._lock:
            if request.stop.is_set:
                return Delta("", "cancelled")
            if asked.seed is not None:
                import torch

                torch.manual_seed(asked.seed)
            made = self._pipeline(
                text,
                return_full_text=False,
                add_special_tokens=not templated,
                stopping_criteria=_stopping(request),
                **arguments,
            )
        reply = str(made[0]["generated_text"])
        tokens = len(tokenizer(reply, add_special_tokens=False)["input_ids"])
        return Delta(reply.strip(), "length" if tokens >= limit else "stop", prompt_tokens, tokens)

    def stream(self, request: ChatRequest) -> Generator[Delta, None, None]:
        reply = self.complete(request)
        if not reply.text:
            raise UnusableReply("it holds no text")
        yield reply

    def models(self, timeout: float) -> Sequence[str]:
        # A folder has one model, which is loaded already.
        return ()

    def failure_of(self, error: Exception) -> Failure | None:
        if isinstance(error, _PromptTooLong):
            return Failure("too_long", str(error))
        if isinstance(error, RuntimeError | ValueError | IndexError):
            return Failure("request", _first_line(error))
        return None


class _PromptTooLong(Exception):
    pass


def _prompt(tokenizer: Any, messages: Sequence[Message]) -> tuple[str, bool]:
    """Return the text to complete, and whether it has the special tokens of a chat template already."""
    if not getattr(tokenizer, "chat_template", None):
        return plain_prompt(messages), False
    turns = [{"role": message.role, "content": message.content} for message in messages]
    try:
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    except Exception:
        # Some templates refuse the role "system" with an exception of their own.
        if len(turns) < 2 or turns[0]["role"] != "system":
            raise
        first = {"role": "user", "content": f"{turns[0]['content']}\n\n{turns[1]['content']}"}
        text = tokenizer.apply_chat_template([first, *turns[2:]], tokenize=False, add_generation_prompt=True)
    return str(text), True


def _stopping(request: ChatRequest) -> Any:
    from transformers import StoppingCriteriaList

    return StoppingCriteriaList([lambda *_, **__: request.stop.is_set])


@cache
def _loaded(model: str, options: str) -> tuple[Any, threading.Lock]:
    """Load a model once in a process."""
    import torch  # noqa: F401  # transformers can be imported without it, but then fails with other errors
    from transformers import pipeline

    arguments = dict(_arguments(options))
    place = Path(model).expanduser()
    if place.is_absolute() and not place.is_dir():
        raise InvalidSetting(name=_SETTING, found=model, reason="there is no such folder")
    name = str(place) if place.is_dir() else model
    try:
        made = pipeline(arguments.pop("task", _TASK), model=name, **arguments)
    except Exception as error:
        raise InvalidSetting(name=_SETTING, found=model, reason=_first_line(error)) from error
    return made, threading.Lock()


def _arguments(options: str) -> Mapping[str, Any]:
    try:
        found = json.loads(options) if options.strip() else {}
    except ValueError as error:
        raise InvalidSetting(name=_OPTIONS, found=options, reason=f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidSetting(name=_OPTIONS, found=options, reason="it is no JSON object")
    return found


def _first_line(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text[:_REASON_CHARS] or type(error).__name__
