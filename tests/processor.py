"""Processor time that compares between machines: a limit in a test is about the work, not about who does it."""

from __future__ import annotations

import time

_REFERENCE_S = 0.12
"""What ``_work`` takes on the machine whose seconds the limits of the tests are in (2 cores, EPYC, 2026)."""


def reference_seconds(processor_s: float) -> float:
    """Return the processor seconds that the reference machine would need for what took this one ``processor_s``."""
    fastest = min(_work() for _ in range(3))
    return processor_s * _REFERENCE_S / fastest


def _work() -> float:
    """Processor seconds of a fixed computation on dictionaries and texts."""
    started = time.process_time()
    texts: dict[int, str] = {}
    length = 0
    for number in range(600_000):
        texts[number % 1_000] = str(number)
        length += len(texts[number % 1_000])
    return time.process_time() - started
