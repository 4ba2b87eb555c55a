"""The root of the error tree."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar


class ChatbotError(Exception):
    """Base of all errors that a user can act on. ``str(error)`` is the English text.

    Args:
        code: key of ``texts``. It may be left out if the class has one text only.
        params: values of the text's placeholders.

    Raises:
        LookupError: the class has no text with this code.
        KeyError: the text has a placeholder without a value.
    """

    texts: ClassVar[Mapping[str, str]] = {}
    """Code -> English text, of what is raised as this very class. Codes are unique among all classes, and stay."""
    exit_code: ClassVar[int] = 1

    def __init__(self, code: str = "", /, **params: object) -> None:
        if not code and len(self.texts) == 1:
            [code] = self.texts
        if code not in self.texts:
            raise LookupError(f"{type(self).__name__} has no text {code!r}; it has: {', '.join(self.texts) or 'none'}")
        self.code = code
        self.params = params
        super().__init__(self.texts[code].format(**params))

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies and pickles by the arguments: a worker's error crosses to another process."""
        return partial(type(self), self.code, **self.params), ()

    @property
    def hint(self) -> str:
        """The next step: the text after its first sentence, or "" if it has one sentence only."""
        # The template is divided, not the text: a value in it may contain the end of a sentence.
        return self.texts[self.code].partition(". ")[2].format(**self.params)


def all_errors() -> dict[str, type[ChatbotError]]:
    """Return code -> the class that has its text, sorted by code."""
    found: dict[str, type[ChatbotError]] = {}
    pending: list[type[ChatbotError]] = [ChatbotError]
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        found |= dict.fromkeys(vars(cls).get("texts", ()), cls)
    return dict(sorted(found.items()))
