"""Which fences held around the process that read a file last. One that is missing is told once in the log."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.errors import ReaderUnfenced

_log = logging.getLogger(__name__)
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Fences:
    """What restricts a reader beside Python's audit hook, which always does."""

    landlock: int
    """Version of Linux's Landlock, which refuses files, connections and signals; 0 without it."""
    limits: bool
    """Whether the system limits its memory and its processor's time."""

    @property
    def missing(self) -> list[str]:
        """Names of those that this system could have and that do not hold."""
        wanted = {"Landlock": self.landlock > 0 or sys.platform != "linux"}
        wanted["limits of memory and time"] = self.limits or sys.platform == "win32"
        return [name for name, held in wanted.items() if not held]

    def __str__(self) -> str:
        held = [f"Landlock {self.landlock}"] if self.landlock else []
        held += ["limits of memory and time"] if self.limits else []
        return ", ".join([*held, "Python's audit hook"])


_told: list[Fences] = []


def tell(found: Mapping[str, Any]) -> None:
    """Take what a reader said of its fences."""
    fences = Fences(**found)
    with _lock:
        known = fences in _told
        _told[:] = [*(one for one in _told if one != fences), fences]
    if fences.missing and not known:
        _log.warning("%s", _unfenced(fences))


def require_fences() -> Fences:
    """Return what held around the last reader.

    Raises:
        ReaderUnfenced: something that this system could have is missing.
    """
    with _lock:
        fences = _told[-1] if _told else Fences(0, limits=False)
    if fences.missing:
        raise _unfenced(fences)
    return fences


def _unfenced(fences: Fences) -> ReaderUnfenced:
    return ReaderUnfenced(missing=" and ".join(fences.missing), held=str(fences))
