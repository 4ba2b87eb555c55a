"""Let one run work at a time on a machine, since parallel runs would distort timings and exceed the memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.types import Progress, ProgressCallback

PHASE = "queued"
_LOOK_EVERY_S = 0.25


@contextmanager
def my_turn(lock_path: Path, progress: ProgressCallback) -> Iterator[None]:
    """Hold the lock that all runs share, after waiting for other processes. The system frees a dead process' lock.

    Args:
        progress: called in the phase "queued" while waiting; may raise to give up.
    """
    make_folder(lock_path.parent)
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
