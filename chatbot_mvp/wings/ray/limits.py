"""One limiter per provider for all workers of a run: it is in an actor, and each worker asks that actor for slots."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from itertools import count
from typing import Any

from chatbot_mvp.remote.limiter import Limiter, Limiters, Slot

_TELL = "tell"
"""Concurrency group of the calls that never wait, so that those that wait for a slot cannot hold them up."""


@dataclass(frozen=True, slots=True)
class Granted:
    """A slot as the actor gives it to a worker."""

    ticket: str
    started: float
    """Start of the request on the monotonic clock of the actor."""
    wait: float
    """Seconds from the grant to the start."""
    clock: float
    """The start in seconds since the epoch."""
    interval: float
    """Seconds between the starts of two requests of all workers."""


class Limits:
    """The limiters of a run. Runs as a threaded actor, whose threads wait in ``acquire`` while the cap is reached.

    The worker waits until the request may start, so that a slow delivery of the slot delays it less.
    """

    def __init__(self, cap: int, rate: float) -> None:
        """
        Args:
            cap: maximum number of concurrent requests to each address.
            rate: maximum requests per second to each address; 0: as many as it accepts.
        """
        self._limiters = Limiters()
        self._limiters.set_cap(cap, rate)
        self._numbers = count()
        self._slots: dict[str, tuple[str, Slot]] = {}
        """Ticket -> (worker, slot)."""
        self._gone: set[str] = set()
        self._lock = threading.Lock()

    def acquire(self, worker: str, provider: str, base_url: str, served: int, at_once: int | None) -> Granted:
        """Wait as ``Limiter.reserve`` does."""
        slot, wait = self._limiters.of(provider, base_url, served).reserve(at_once)
        clock = time.time() + wait
        with self._lock:
            ticket = f"{worker}-{next(self._numbers)}"
            self._slots[ticket] = (worker, slot)
            gone = worker in self._gone
        if gone:
            self.release(ticket)
        return Granted(ticket, slot.started, wait, clock, slot.limiter.interval)

    def release(self, ticket: str) -> None:
        """Give a slot back. Ignores one that was given back."""
        with self._lock:
            _, slot = self._slots.pop(ticket, ("", None))
        if slot is not None:
            slot.release()

    def replied(self, provider: str, base_url: str, served: int, started: float, retry_after: float | None) -> None:
        """Report a success (None), or a 429 with the seconds that the provider asked to wait.

        The slot may have been given back before.

        Args:
            started: as returned by ``acquire``.
        """
        limiter = self._limiters.of(provider, base_url, served)
        if retry_after is None:
            limiter.succeeded(Slot(limiter, started))
        else:
            limiter.throttled(Slot(limiter, started), retry_after)

    def forget(self, worker: str) -> None:
        """Give back the slots of a worker that died."""
        with self._lock:
            self._gone.add(worker)
            held = [ticket for ticket, (owner, _) in self._slots.items() if owner == worker]
        for ticket in held:
            self.release(ticket)


class SharedLimiter(Limiter):
    """The limiter of one address in a worker: it asks the actor."""

    def __init__(self, limits: Any, worker: str, provider: str, base_url: str, concurrency: int) -> None:
        """
        Args:
            limits: handle of the actor ``Limits``.
            worker: name of this worker.
        """
        super().__init__(concurrency)
        self._limits = limits
        self._worker = worker
        self._address = (provider, base_url, concurrency)
        self._turn = threading.Lock()
        self._sent = 0.0
        # The first request of a process takes long to leave, and those with slots behind it would leave in one burst.
        self._cold = threading.Lock()
        self._is_warm = False

    def acquire(self, at_once: int | None = None) -> Slot:
        import ray

        self._cold.acquire()
        alone = not self._is_warm
        if not alone:
            self._cold.release()
        asked = time.monotonic()
        try:
            granted: Granted = ray.get(self._limits.acquire.remote(self._worker, *self._address, at_once))
        except BaseException:
            if alone:
                self._cold.release()
            raise
        time.sleep(seconds_left(granted, time.monotonic() - asked, time.time()))
        with self._turn:
            # Threads that wake up late on a busy machine wake up together. Their requests must not leave together.
            time.sleep(max(0.0, self._sent + granted.interval - time.monotonic()))
            self._sent = time.monotonic()
        return Slot(self, granted.started, ticket=granted.ticket)

    def throttled(self, slot: Slot, retry_after: float = 0.0) -> None:
        self._tell("replied", *self._address, slot.started, retry_after)

    def succeeded(self, slot: Slot) -> None:
        self._tell("replied", *self._address, slot.started, None)

    def _give_back(self, slot: Slot) -> None:
        if not self._is_warm:
            self._is_warm = True
            self._cold.release()
        self._tell("release", slot.ticket)

    def _tell(self, method: str, *arguments: object) -> None:
        getattr(self._limits, method).options(concurrency_group=_TELL).remote(*arguments)


def seconds_left(granted: Granted, asked_for: float, now: float) -> float:
    """Return the seconds that a worker waits before its request, from when the slot arrived.

    The clocks of two nodes differ. So the result is at most ``granted.wait``, as if the slot had arrived at once, and
    less than that by at most the seconds that it can have been on its way.

    Args:
        asked_for: seconds from the worker's call to the arrival of the slot.
        now: this node's clock, in seconds since the epoch.
    """
    return min(max(granted.clock - now, granted.wait - asked_for, 0.0), granted.wait)


def start_limits(ray: Any, run_id: str, cap: int, rate: float, waiting: int) -> Any:
    """Start the actor on this process' node, and return its handle.

    Args:
        waiting: requests that may wait for a slot at the same time.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(num_cpus=0, concurrency_groups={_TELL: 2})(Limits)
    # If it dies, it starts again without slots, and the waiting calls are sent again.
    options = {"max_restarts": -1, "max_task_retries": -1, "max_concurrency": waiting, "scheduling_strategy": here}
    return actor.options(name=f"limits-{run_id}", **options).remote(cap, rate)


def forget_worker(limits: Any, worker: str) -> None:
    """Give back the slots of a worker that died."""
    limits.forget.options(concurrency_group=_TELL).remote(worker)
