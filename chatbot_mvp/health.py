"""Whether the configured parts answer: tried in the background, so that whoever asks never waits for them."""

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
    """Something that can be tried."""

    name: str
    """"provider", "embedder" or "storage"."""
    identity: str
    """What stands behind the name at present; another one is tried anew."""
    attempt: Callable[[], float | None]
    """The seconds it took to answer, None where that says nothing; raises ChatbotError or OSError."""


@dataclass(frozen=True)
class Health:
    """What is known of a part."""

    name: str
    identity: str
    state: HealthState
    seconds: float | None = None
    """It took to answer; None before that, and where it says nothing."""
    error: ChatbotError | None = None
    """Why it does not answer, where that is one of ours."""


class HealthChecks:
    """The latest try of each part. Safe to share between threads; at most one try of a part is under way."""

    def __init__(self, parts: Callable[[], Sequence[Probe]]) -> None:
        """``parts`` are asked for each time: what is configured may change."""
        self._parts = parts
        self._known: dict[str, tuple[float, Health]] = {}
        self._trying: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def states(self, max_age_s: float = 300.0) -> list[Health]:
        """Every part, at once. One that was never tried, or longer ago than ``max_age_s``, is tried from now on.

        A part that is tried again keeps what was known of it until the new answer is there.
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
        """Try everything again at the next look, and know nothing until then."""
        with self._lock:
            self._known.clear()

    def _try(self, part: Probe) -> None:
        try:
            health = Health(part.name, part.identity, "ok", part.attempt())
        except ChatbotError as error:
            health = Health(part.name, part.identity, "failed", error=error)
        except Exception:  # noqa: BLE001
            # Whatever a library raises: a part that is "checking" for ever would be worse than one that failed.
            _log.exception("health check of %s failed", part.name)
            health = Health(part.name, part.identity, "failed")
        with self._lock:
            self._known[part.name] = (time.monotonic(), health)
            self._trying.discard((part.name, part.identity))
