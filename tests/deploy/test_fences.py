"""The readers' fence of the kernel holds under the units' filter of system calls; one that does not hold is told."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

from chatbot_mvp.documents.reading.confinement import confine
from chatbot_mvp.settings.model import PROJECT_ROOT

UNITS = sorted((PROJECT_ROOT / "deploy").glob("*.service"))
LANDLOCK = {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}

_UNDER_THE_FILTER = """
import ctypes, subprocess, sys
seccomp = ctypes.CDLL(sys.argv[1], use_errno=True)
seccomp.seccomp_init.restype = ctypes.c_void_p
allow, refuse = 0x7FFF0000, 0x00050000 | 1  # EPERM, as SystemCallErrorNumber
found = seccomp.seccomp_init(ctypes.c_uint32(refuse))
for name in sys.argv[2].split():
    number = seccomp.seccomp_syscall_resolve_name(name.encode())
    if number != -1:
        seccomp.seccomp_rule_add(ctypes.c_void_p(found), ctypes.c_uint32(allow), number, 0)
assert seccomp.seccomp_load(ctypes.c_void_p(found)) == 0
command = [sys.executable, "-m", "chatbot_mvp.cli", "doctor"]
sys.stdout.write(subprocess.run(command, capture_output=True, text=True).stdout)
"""


def allowed(unit: Path, without: frozenset[str] = frozenset()) -> set[str]:
    """Return the system calls that a unit lets through, as systemd reads its lines one after the other."""
    found: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.+)$", unit.read_text(), re.MULTILINE):
        names = {one for name in line.lstrip("~").split() for one in members(name)}
        found = found - names if line.startswith("~") else found | names
    return found - without


def members(name: str) -> set[str]:
    if not name.startswith("@"):
        return {name}
    command = ["systemd-analyze", "syscall-filter", name]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = {line.strip() for line in told.splitlines()[1:]}
    return {one for line in lines if line and line[0] != "#" for one in members(line)}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_lets_the_readers_confine_themselves(unit: Path) -> None:
    named = re.findall(r"^SystemCallFilter=([^~@].+)$", unit.read_text(), re.MULTILINE)
    assert {name for line in named for name in line.split()} == LANDLOCK


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None or find_library("seccomp") is None,
    reason="needs systemd-analyze and libseccomp",
)
@pytest.mark.parametrize("refused", [frozenset(), frozenset(LANDLOCK)], ids=["as it is", "without Landlock"])
def test_doctor_under_the_filter_of_a_unit_tells_which_fences_hold(tmp_path: Path, refused: frozenset[str]) -> None:
    names = " ".join(sorted(allowed(UNITS[0], refused)))
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PROJECT_ROOT), "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _UNDER_THE_FILTER, find_library("seccomp") or "", names]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    [line] = [line for line in done.stdout.splitlines() if " fences: " in line]
    if refused:
        assert line.startswith("NO  fences: Uploaded files are read without Landlock; what holds: limits of memory")
    elif confined():
        assert line.startswith("ok  fences: Landlock ")


def confined() -> bool:
    """Return whether this machine's kernel has Landlock."""
    probe = f"from {confine.__module__} import confine; raise SystemExit(confine([]) == 0)"
    return subprocess.run([sys.executable, "-c", probe], cwd=PROJECT_ROOT, check=False).returncode == 0
