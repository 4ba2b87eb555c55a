"""Run a module of this program in a process with limited time, memory and output, to read what somebody uploaded.

The limits matter because a few kilobytes of Parquet can expand to a hundred gigabytes of text.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 300
MEMORY_MB = 4_000
"""Limit of the process' address space, on systems that support it. HotpotQA's 66,576 documents need a quarter."""
OUTPUT_MB = 200

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Limits:
    """What a process may use."""

    seconds: int = SECONDS
    memory_mb: int = MEMORY_MB
    """Megabytes of address space."""
    output_mb: int = OUTPUT_MB
    """Megabytes that it may print."""


def output_of(module: str, arguments: Sequence[str], limits: Limits) -> bytes:
    """Return what ``python -m module`` prints; b"" if it exceeded a limit or failed.

    The module calls ``limit_this_process`` before it reads anything.
    """
    # A minimal environment without any key.
    kept = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {"PYTHONPATH": str(_ROOT), "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    numbers = [str(number) for number in (limits.seconds, limits.memory_mb, limits.output_mb)]
    command = [sys.executable, "-m", module, *numbers, *arguments]
    # A file, because the system can limit its size, and this process need not hold what is thrown away.
    with tempfile.TemporaryFile() as out, contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            command, env=environment, stdout=out, stderr=subprocess.DEVNULL, timeout=limits.seconds, check=False
        )
        if done.returncode == 0 and out.seek(0, os.SEEK_END) <= limits.output_mb * 1_000_000:
            out.seek(0)
            return out.read()
    return b""


def limit_this_process() -> list[str]:
    """Set the limits that ``output_of`` has given; return the other arguments."""
    seconds, memory_mb, output_mb = (int(number) for number in sys.argv[1:4])
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 1_000_000, memory_mb * 1_000_000))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_FSIZE, (output_mb * 1_000_000, output_mb * 1_000_000))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return sys.argv[4:]
