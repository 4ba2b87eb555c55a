"""The root of the error tree."""

from __future__ import annotations

from typing import ClassVar


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
