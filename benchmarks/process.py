"""What processes use: processor time and memory; and an environment without settings of whoever measures."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_NOW = re.compile(r"^VmRSS:\s+(\d+) kB", re.MULTILINE)


def peak_mb(pid: int | None = None) -> float:
    """Return the highest resident memory of a process so far, in MB (10^6 bytes); 0 if it has ended.

    Args:
        pid: another process, of which ``/proc`` tells; without it, this one.
    """
    if pid is None:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return _status_mb(pid, _PEAK)  # what ``wait4`` tells of a child counts the process that started it


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process now, in MB (10^6 bytes); 0 if it has ended."""
    return _status_mb(pid, _NOW)


def _status_mb(pid: int, line: re.Pattern[str]) -> float:
    try:
        found = line.search(Path(f"/proc/{pid}/status").read_text("ascii", "replace"))
    except OSError:
        return 0.0
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def children_s() -> float:
    """Return the processor seconds of all processes that this one has started and waited for."""
    times = os.times()
    return times.children_user + times.children_system


def process_s(pid: int) -> float:
    """Return the processor seconds, user and system, that a running process has used so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load() -> float:
    """Return the mean number of processes that wanted a core in the last minute."""
    return round(os.getloadavg()[0], 1)


def plain_environment(**more: str) -> dict[str, str]:
    """Return the environment of this process without settings of the application, and with ``more``."""
    from chatbot_mvp.settings.model import Settings

    known = {name.upper() for name in Settings.model_fields}
    return {**{name: value for name, value in os.environ.items() if name.upper() not in known}, **more}
