"""Ends a process without taking its threads apart."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def whole_ending() -> Iterator[None]:
    """End the process with the block's exit code, when Python has waited for threads and called what is registered.

    What Python does afterwards ends the other threads by unwinding their stacks. In a C++ library, such as CTranslate2,
    this calls ``terminate``: exit code 134 after all work is done. To be called before anything is registered with
    ``atexit``, as the last one registered is called first.
    """
    code = 0

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
