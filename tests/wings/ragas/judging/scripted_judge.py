"""Judges for tests: one replies by the prompt it recognises, from a script of verdicts."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, FinishedStream, Usage
from chatbot_mvp.wings.ragas.judging import Prompts


def prompt_of(messages: Sequence[tuple[str, str]], prompts: Prompts) -> tuple[str, str]:
    """(file, prompt) that a request comes from, by its instructions; messages are (role, content)."""
    [name] = [name for name, prompt in prompts.of.items() if prompt.instructions == messages[0][1]]
    return name


class ScriptedJudge:
    """Replies to each prompt with the next of its script; a text goes out as it is, anything else as JSON."""

    name = "scripted/judge"
    needs_evidence = False

    def __init__(self, prompts: Prompts, script: Mapping[tuple[str, str], Sequence[Any]]) -> None:
        self._prompts = prompts
        self._script = {name: list(replies) for name, replies in script.items()}
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []

    @property
    def left(self) -> int:
        """Replies that nobody asked for."""
        return sum(len(replies) for replies in self._script.values())

    def complete(self, request: ChatRequest) -> Completion:
        name = prompt_of([(message.role, message.content) for message in request.messages], self._prompts)
        with self._lock:
            self.requests.append(request)
            said = self._script[name].pop(0)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return Completion(text, self.name, 0.01, usage=Usage(100, 20, 0.5))

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))
