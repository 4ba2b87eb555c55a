"""The form of a fuzz target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.errors import ChatbotError

Run = Callable[[bytes], None]


@dataclass(frozen=True)
class Target:
    """Code that reads untrusted input."""

    name: str
    prepare: Callable[[Path], Run]
    """Builds what all executions share, in an empty folder, and returns the function to execute."""
    seeds: tuple[bytes, ...]
    """Legal inputs, from which the fuzzer starts."""
    dictionary: tuple[str, ...] = ()
    """Words of the format, which mutations insert."""
    share: float = 1.0
    """Weight in a common number of executions; slow targets have less."""
    allowed: tuple[type[BaseException], ...] = (ChatbotError,)
    """Errors that say what is wrong with the input. Any other exception is a finding."""


def expect(condition: bool, claim: str) -> None:
    """Fail if a property of the result does not hold.

    Raises:
        AssertionError
    """
    if not condition:
        raise AssertionError(claim)
