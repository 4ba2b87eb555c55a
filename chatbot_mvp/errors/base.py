"""The root of the error tree."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar


class ChatbotError(Exception):
    """Base of all errors that a user can act on. ``str(error)`` is the English text.

    Keyword arguments fill the placeholders of ``template`` and stay available in ``params``.
    """

    code: ClassVar[str] = ""
    template: ClassVar[str] = ""
    exit_code: ClassVar[int] = 1

    def __init__(self, **params: object) -> None:
        self.params = params
        super().__init__(self.template.format(**params))

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies and pickles by the keyword arguments: a worker's error crosses to another process."""
        return partial(type(self), **self.params), ()

    @property
    def hint(self) -> str:
        """The next step: the text after its first sentence, or "" if it has one sentence only."""
        # The template is divided, not the text: a value in it may contain the end of a sentence.
        return self.template.partition(". ")[2].format(**self.params)


def all_errors() -> list[type[ChatbotError]]:
    """Return every concrete error class (those with a code), sorted by code."""
    found: list[type[ChatbotError]] = []
    pending: list[type[ChatbotError]] = [ChatbotError]
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        if cls.code:
            found.append(cls)
    return sorted(found, key=lambda cls: cls.code)
