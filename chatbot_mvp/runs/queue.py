"""One run at a time on a machine: figures of speed would mean nothing otherwise, and memory would not suffice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from chatbot_mvp.types import Progress, ProgressCallback

PHASE = "queued"
_LOOK_EVERY_S = 0.25


@contextmanager
def my_turn(lock_path: Path, progress: ProgressCallback) -> Iterator[None]:
    """Wait until no other run holds this lock, in whatever process; the system frees that of a dead one.

    Args:
        progress: told of the phase "queued" while it waits; may raise to give up.
    """
    lock_path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(lock_path, thread_local=False)
    while True:
        try:
            lock.acquire(timeout=_LOOK_EVERY_S)
            break
        except Timeout:
            progress(Progress(PHASE, 0, 0))
    try:
        yield
    finally:
        lock.release()
