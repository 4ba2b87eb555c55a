"""Tells what a model says from what it thinks aloud: the one place for all that ask models."""

from __future__ import annotations

import re

_NAMES = "think|thinking|thought|reasoning"
_THOUGHT = re.compile(rf"<({_NAMES})>.*?(?:</\1>|\Z)", re.S | re.I)
_UNOPENED = re.compile(rf"\A(?:(?!<think).)*?</(?:{_NAMES})>", re.S | re.I)
_OPENING, _CLOSING = re.compile(rf"<(?:{_NAMES})>", re.I), re.compile(rf"</(?:{_NAMES})>", re.I)
_LONGEST = len("</reasoning>")


def without_thoughts(text: str) -> str:
    """Remove a model's reasoning between ``<think>`` tags (or similar) from a reply.

    Templates of some models open the thought themselves, so that a reply has the closing tag alone. In JSON such a tag
    is quoted.
    """
    bare = _THOUGHT.sub("", text)
    if not bare.lstrip().startswith(("{", "[")):
        bare = _UNOPENED.sub("", bare)
    return text if bare == text else bare.strip()


def opens_thought(text: str) -> bool:
    """Return whether a reply has an opening tag of a thought."""
    return _OPENING.search(text) is not None


class Spoken:
    """Lets the pieces of a reply pass that are no thought."""

    def __init__(self, thinks: bool) -> None:
        """``thinks``: whether the reply is known to begin within a thought."""
        self._inside, self._assumed = thinks, thinks
        self._held = ""
        self._begun = self._blank = False
        """Whether something has passed, and whether white space is dropped, as it is behind a first thought."""

    def add(self, piece: str) -> str:
        """Return what may be shown now. A piece that may end in a part of a tag is held."""
        self._held += piece
        said = ""
        while found := (_CLOSING if self._inside else _OPENING).search(self._held):
            if not self._inside:
                said += self._passed(self._held[: found.start()])
            self._held = self._held[found.end() :]
            self._inside, self._assumed, self._blank = not self._inside, False, not self._begun
        if self._inside:
            return said
        at = self._held.rfind("<", max(0, len(self._held) - _LONGEST))
        at = len(self._held) if at < 0 else at
        said, self._held = said + self._passed(self._held[:at]), self._held[at:]
        return said

    def end(self) -> str:
        """Return what was held at the end of a reply, unless it is a thought."""
        return "" if self._inside and not self._assumed else self._passed(self._held)

    def _passed(self, text: str) -> str:
        text = text.lstrip() if self._blank else text
        self._begun = self._begun or bool(text.strip())
        self._blank = self._blank and not self._begun
        return text
