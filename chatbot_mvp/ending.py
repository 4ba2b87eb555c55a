"""Ends a process without taking apart threads that are in a C++ library."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_MOST_S = 10.0
"""So long an end waits for others at most. One batch of texts takes a fraction of a second."""
_changed = threading.Condition()
_inside = 0
_ending = False
_registered = False


@contextmanager
def whole_ending() -> Iterator[None]:
    """End the process with the block's exit code, when Python has waited for threads and called what is registered.

    What Python does afterwards ends the other threads by unwinding their stacks. In a C++ library, such as CTranslate2,
    this calls ``terminate``: exit code 134 after all work is done. To be called before anything is registered with
    ``atexit``, as the last one registered is called first.
    """
    global _registered
    code, _registered = 0, True  # nobody needs to be waited for then

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)

    atexit.register(leave)
    try:
        yield
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        raise
    except BaseException:
        code = 1
        raise


@contextmanager
def native() -> Iterator[None]:
    """Be in a C++ library that would end the process if its stack were unwound, as ``whole_ending`` says.

    An end of the process that is not a ``whole_ending`` waits until nobody is in one; whoever would enter afterwards
    stops here. The main thread may still enter.
    """
    global _inside, _registered
    with _changed:
        if not _registered:
            _registered = True
            atexit.register(_wait)
        while _ending and threading.current_thread() is not threading.main_thread():
            _changed.wait()
        _inside += 1
    try:
        yield
    finally:
        with _changed:
            _inside -= 1
            _changed.notify_all()


def _wait() -> None:
    global _ending
    with _changed:
        _ending = True
        _changed.wait_for(lambda: not _inside, _MOST_S)
