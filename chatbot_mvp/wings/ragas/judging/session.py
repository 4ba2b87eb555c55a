"""The session in which a metric scores one row: the row's texts, the judge, and the account of requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.judges.asking import ask
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, Completion, Message
from chatbot_mvp.llm.thoughts import without_thoughts
from chatbot_mvp.remote.failures import OF_ONE_REQUEST
from chatbot_mvp.wings.ragas.judging.model import JudgeOptions, NotScored, Row
from chatbot_mvp.wings.ragas.judging.package_files import Value
from chatbot_mvp.wings.ragas.judging.prompts import Prompts

T = TypeVar("T", bound=BaseModel)

_TEXT_TEMPERATURE = 0.1
"""Temperature that the ragas package uses for its ratings in plain text."""


@dataclass(slots=True)
class Session:
    """Asks the judge about one row, and collects replies and details."""

    row: Row
    judge: ChatModel | None
    embedder: Embedder | None
    prompts: Prompts
    options: JudgeOptions
    detail: dict[str, Any] = field(default_factory=dict)
    """As in ``Scored``. Metrics add to it while they score."""
    completions: list[Completion] = field(default_factory=list)
    requests: int = 0
    cut: bool = False

    @property
    def question(self) -> str:
        return self.row.user_input or ""

    @property
    def response(self) -> str:
        return self.row.response or ""

    @property
    def reference(self) -> str:
        return self.row.reference or ""

    @property
    def contexts(self) -> tuple[str, ...]:
        return tuple(self.row.retrieved_contexts or ())

    @property
    def context(self) -> str:
        """All passages as one text, separated by blank lines."""
        return "\n\n".join(text.strip() for text in self.contexts)

    def ask(
        self,
        prompt: tuple[str, str],
        reply: type[T],
        *,
        check: Callable[[T], str] | None = None,
        attempts: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int = 0,
        **fields: Value,
    ) -> T:
        """Ask the judge with a prompt, by default with the values of ``options``.

        Args:
            prompt: (file name, prompt name).
            max_tokens: raises the token limit of the first reply to at least this.
            fields: values of the prompt's fields, a text or several.

        Raises:
            NotScored: no attempt gave a readable reply.
        """
        assert self.judge is not None, "score_row looks for it"
        options = self.options
        asked = ask(
            self.judge,
            self.prompts.of[prompt].messages(**fields),
            reply,
            check=check,
            attempts=options.attempts if attempts is None else attempts,
            max_tokens=max(max_tokens, options.max_tokens),
            temperature=options.temperature if temperature is None else temperature,
            seed=(options.repeat or None) if seed is None else seed,
            language=self.prompts.language,
        )
        self.completions += asked.completions
        self.requests += asked.attempts
        self.cut |= asked.reading == "cut"
        if asked.value is None:
            raise NotScored(asked.reason or "unusable_reply", asked.detail, asked.raw)
        return asked.value

    def ask_text(self, text: str, read: Callable[[str], int | None], *, attempts: int) -> int:
        """Ask the judge with one message, without a schema, and read a number from its reply.

        Args:
            read: returns the number, or None if the reply holds none.
            attempts: maximum number of requests, from 1. Each has another seed.

        Raises:
            NotScored: no attempt gave a readable reply, or a request failed.
        """
        assert self.judge is not None, "score_row looks for it"
        temperature = max(_TEXT_TEMPERATURE, self.options.temperature)
        raw = ""
        for attempt in range(attempts):
            options = ChatOptions(
                temperature, self.options.max_tokens, None, 1 + self.options.repeat * attempts + attempt
            )
            self.requests += 1
            try:
                completion = self.judge.complete(ChatRequest((Message("user", text),), options))
            except OF_ONE_REQUEST as error:
                raise NotScored("provider", str(error), raw) from error
            self.completions.append(completion)
            raw = completion.text
            value = read(without_thoughts(raw))
            if value is not None:
                return value
        raise NotScored("unusable_reply", "the reply has no number from 0 to 2", raw)
