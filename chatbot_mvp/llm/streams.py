"""Streams over replies that are already complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from chatbot_mvp.llm.base import Completion


class FinishedStream:
    """A ``ChatStream`` that yields a finished completion word by word."""

    def __init__(self, completion: Completion) -> None:
        self._whole = completion
        self._left = re.findall(r"\s*\S+\s*", completion.text) or [completion.text]
        self._sent = ""
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        while self._left and not self._closed:
            piece = self._left.pop(0)
            self._sent += piece
            yield piece

    @property
    def completion(self) -> Completion:
        if not self._left:
            return self._whole
        return replace(self._whole, text=self._sent, finish_reason="cancelled", quotes=None)

    def close(self) -> None:
        self._closed = True
