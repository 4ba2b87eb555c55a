"""Checks whether the configured parts respond. Checks run in the background, so callers never wait for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.errors import ChatbotError

_log = logging.getLogger(__name__)

HealthState = Literal["ok", "failed", "checking"]


@dataclass(frozen=True)
class Probe:
    """A part of the configuration that can be checked."""

    name: str
    """"provider", "embedder" or "storage"."""
    identity: str
    """Identifies the current configuration of the part; when it changes, the part is checked again."""
    attempt: Callable[[], float | None]
    """Runs the check; returns seconds of latency, or None if meaningless. Raises ChatbotError or OSError on failure."""


@dataclass(frozen=True)
class Health:
    """Latest known state of a part."""

    name: str
    identity: str
    state: HealthState
    seconds: float | None = None
    """Latency of the check; None before it has finished, and for parts without a meaningful latency."""
    error: ChatbotError | None = None
    """Why the check failed, if it was a ChatbotError."""


class HealthDesk:
    """Keeps the latest check of each part. Safe to share between threads; runs at most one check per part at a time."""

    def __init__(self, parts: Callable[[], Sequence[Probe]]) -> None:
        """
        Args:
            parts: returns the parts to check; called on every look, because the configuration may change.
        """
        self._parts = parts
        self._known: dict[str, tuple[float, Health]] = {}
        self._trying: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def states(self, max_age_s: float = 300.0) -> list[Health]:
        """Return the state of every part without waiting.

        Starts a background check of each part that was never checked, or whose check is older than ``max_age_s``
        seconds. Until the new check has finished, the previous state is returned.
        """
        found = []
        for part in self._parts():
            key = (part.name, part.identity)
            with self._lock:
                at, health = self._known.get(part.name, (0.0, None))
                known = health is not None and health.identity == part.identity
                stale = not known or time.monotonic() - at > max_age_s
                start = stale and key not in self._trying
                if start:
                    self._trying.add(key)
            if start:
                threading.Thread(target=self._try, args=(part,), name=f"health-{part.name}", daemon=True).start()
            found.append(health if known and health else Health(part.name, part.identity, "checking"))
        return found

    def forget(self) -> None:
        """Discard all states; the next call of ``states`` checks every part again."""
        with self._lock:
            self._known.clear()

    def _try(self, part: Probe) -> None:
        try:
            health = Health(part.name, part.identity, "ok", part.attempt())
        except ChatbotError as error:
            health = Health(part.name, part.identity, "failed", error=error)
        except Exception:  # noqa: BLE001
            # Any exception of a library: otherwise the part would stay in the state "checking" for ever.
            _log.exception("health check of %s failed", part.name)
            health = Health(part.name, part.identity, "failed")
        with self._lock:
            self._known[part.name] = (time.monotonic(), health)
            self._trying.discard((part.name, part.identity))
