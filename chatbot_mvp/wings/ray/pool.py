"""The workers of a run. Work of a worker that dies is given to another one, and a new worker takes its place."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from types import ModuleType
from typing import Any

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.wings.ray.errors import RayWorkersLost

_log = logging.getLogger(__name__)

_PATIENCE_S = 180.0
"""Seconds to wait for a worker while there is none: a new node may be on its way."""
_STILLBORN = 3
"""Workers that die in succession before they are ready; then a further one would die, too."""


@dataclass(eq=False)
class _Member:
    """One worker."""

    name: str
    handle: Any
    ready: bool = False
    busy: int = 0
    """Calls under way."""


class Pool:
    """Gives each call to the worker with the fewest calls under way. Safe to share between threads."""

    def __init__(
        self,
        ray: ModuleType,
        run_id: str,
        size: int,
        spawn: Callable[[str], Any],
        on_lost: Callable[[str], None],
    ) -> None:
        """
        Args:
            size: number of workers.
            spawn: starts a worker of this name and returns its handle.
            on_lost: called with the name of each worker that died.
        """
        self._ray = ray
        self._run_id = run_id
        self.size = size
        self._spawn = spawn
        self._on_lost = on_lost
        self._numbers = count(1)
        self._members: list[_Member] = []
        self._stillborn = 0
        self._failure: ChatbotError | None = None
        self._reason = "no node of the cluster has a free CPU"
        self._closed = False
        self._changed = threading.Condition()
        for _ in range(size):
            self._add()

    def call(self, method: str, *arguments: object, group: str = "") -> Any:
        """Call a method of a worker and return its value. A call whose worker dies is repeated by another worker.

        Args:
            group: concurrency group of the method; "" for the default one.

        Raises:
            RayWorkersLost: there is no worker left.
            ChatbotError: no worker can be made, for example because a node has another version of the code.
        """
        while True:
            member = self._take()
            try:
                remote = getattr(member.handle, method)
                if group:
                    remote = remote.options(concurrency_group=group)
                return self._ray.get(remote.remote(*arguments))
            except self._deaths as error:
                self._lost(member, error)
            finally:
                with self._changed:
                    member.busy -= 1

    def map(self, method: str, items: Iterable[tuple[Any, ...]], at_once: int, group: str = "") -> Iterator[Any]:
        """Yield the values of a method, in the order in which they are ready. Raises as ``call``.

        Args:
            items: arguments of each call.
            at_once: calls under way at the same time.
        """
        executor = ThreadPoolExecutor(at_once, thread_name_prefix="ray-call")
        try:
            rest = iter(items)
            under_way: set[Future[Any]] = set()
            while True:
                # No more than this, so that whoever stops the loop leaves little unfinished.
                while len(under_way) < at_once and (item := next(rest, None)) is not None:
                    under_way.add(executor.submit(self.call, method, *item, group=group))
                if not under_way:
                    return
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """End all workers. Calls under way raise RayWorkersLost."""
        with self._changed:
            self._closed = True
            members, self._members = self._members, []
            self._changed.notify_all()
        for member in members:
            self._ray.kill(member.handle)

    @property
    def _deaths(self) -> tuple[type[Exception], ...]:
        errors = self._ray.exceptions
        return errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError, errors.NodeDiedError

    def _take(self) -> _Member:
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or self._failure or self._free(), _PATIENCE_S):
                raise RayWorkersLost(run_id=self._run_id, reason=self._reason)
            if self._failure is not None:
                raise self._failure
            if self._closed:
                raise RayWorkersLost(run_id=self._run_id, reason="the run was stopped")
            member = min(self._free(), key=lambda one: one.busy)
            member.busy += 1
            return member

    def _free(self) -> list[_Member]:
        return [member for member in self._members if member.ready]

    def _add(self) -> None:
        name = f"worker-{next(self._numbers)}"
        member = _Member(name, self._spawn(name))
        self._members.append(member)
        threading.Thread(target=self._await, args=(member,), name=name, daemon=True).start()

    def _await(self, member: _Member) -> None:
        try:
            failure = self._ray.get(member.handle.ready.remote())
        except self._deaths as error:
            self._lost(member, error)
            return
        except Exception as error:  # noqa: BLE001 - raised by ``_take`` in the run's own thread
            failure = RayWorkersLost(run_id=self._run_id, reason=_first_line(error))
        with self._changed:
            member.ready = failure is None
            self._failure = self._failure or failure
            self._stillborn = 0
            self._changed.notify_all()

    def _lost(self, member: _Member, error: Exception) -> None:
        """Replace a worker that died, or that cannot be reached."""
        with self._changed:
            if self._closed or member not in self._members:
                return
            self._members.remove(member)
            self._reason = _first_line(error)
            self._stillborn += not member.ready
            if self._stillborn >= max(_STILLBORN, self.size) and not self._free():
                self._failure = RayWorkersLost(run_id=self._run_id, reason=self._reason)
            else:
                self._add()
            self._changed.notify_all()
        _log.warning("The Ray worker %s died, and another one takes its work: %s", member.name, self._reason)
        # It may live on behind a broken connection.
        self._ray.kill(member.handle)
        self._on_lost(member.name)


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__).rstrip(".: ")
