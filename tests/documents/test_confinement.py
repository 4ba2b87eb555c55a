"""The process that reads uploads is confined by the kernel, too: code that leaves Python reaches nothing either."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.documents.reading.confinement import readable_folders
from chatbot_mvp.settings.installation import PROJECT_ROOT
from tests.documents.made import pdf

_NATIVE = """
import ctypes, errno, json, os, struct, sys
secret, port, writable = sys.argv[1], int(sys.argv[2]), sys.argv[3]
from chatbot_mvp.documents.reading import confinement, sandbox
found = []
confine = confinement.confine
sandbox.confine = lambda readable: found.append(confine(readable))
libc = ctypes.CDLL(None, use_errno=True)

def tried(function, *arguments):
    ctypes.set_errno(0)
    return errno.errorcode[ctypes.get_errno()] if function(*arguments) < 0 else "done"

place = struct.pack("=H", 2) + struct.pack("!H", port) + bytes([127, 0, 0, 1]) + bytes(8)
address = ctypes.create_string_buffer(place)
functions = {name: getattr(libc, name) for name in ("open", "connect", "kill", "execv", "unlink", "socket")}
path, new = ctypes.c_char_p(secret.encode()), ctypes.c_char_p((writable + "/new").encode())
library, shell = ctypes.c_char_p(json.__file__.encode()), ctypes.c_char_p(b"/bin/sh")
nothing = (ctypes.c_char_p * 1)(None)
handle = functions["socket"](2, 1, 0)
if "hook" not in sys.argv:
    sys.addaudithook = lambda hook: None  # machine code does not meet the hook
sandbox._lock_up(sandbox.Job(".html", "a.html", 1, ""))
print(json.dumps({
    "version": found[0],
    "read": tried(functions["open"], path, 0),
    "write": tried(functions["open"], new, os.O_CREAT | os.O_WRONLY, 0o600),
    "delete": tried(functions["unlink"], path),
    "connect": tried(functions["connect"], handle, address, 16),
    "kill": tried(functions["kill"], os.getppid(), 0),
    "library": tried(functions["open"], library, 0),
    "start": tried(functions["execv"], shell, nothing),
}))
"""

_PYTHON = """
import json, os, sqlite3, sys, _ctypes
from chatbot_mvp.documents.reading import sandbox
sandbox._lock_up(sandbox.Job(".html", "a.html", 1, ""))

def refused(act):
    try:
        act()
    except PermissionError:
        return True
    return False

def foreign():
    import ctypes
    ctypes.CDLL(None).getpid()

print(json.dumps([
    refused(lambda: sqlite3.connect(sys.argv[1])),
    refused(lambda: os.kill(os.getppid(), 0)),
    refused(foreign),
]))
"""


def run(code: str, *arguments: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, env=environment, check=True, timeout=60
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is of Linux")
def test_code_outside_python_reaches_no_file_no_server_and_no_process(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = run(_NATIVE, str(secret), str(server.getsockname()[1]), str(tmp_path))
    version = found.pop("version")
    if version == 0:
        pytest.skip("this kernel has no Landlock")
    expected = dict.fromkeys(("read", "write", "delete", "start"), "EACCES") | {"library": "done"}
    expected["connect"] = "EACCES" if version >= 4 else "done"
    expected["kill"] = "EPERM" if version >= 6 else "done"
    assert found == expected
    assert secret.read_text() == "key"


def test_databases_signals_and_foreign_functions_are_refused_by_the_hook(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").touch()
    assert run(_PYTHON, str(tmp_path / "a.sqlite")) == [True, True, True]


def test_without_landlock_nothing_breaks() -> None:
    code = """
import ctypes, json
from chatbot_mvp.documents.reading import confinement
class Old:
    def syscall(self, *arguments):
        ctypes.set_errno(38)  # ENOSYS
        return -1
ctypes.CDLL = lambda *arguments, **options: Old()
print(json.dumps([confinement.confine(["/nowhere"]), open("/etc/hostname").read() != ""]))
"""
    assert run(code) == [0, True]


@pytest.mark.parametrize(("installed", "readable"), [(True, True), (False, False)], ids=["wheel", "checkout"])
def test_where_packages_are_installed_all_of_them_are_readable_and_of_a_checkout_the_package_alone(
    tmp_path: Path, installed: bool, readable: bool
) -> None:
    (tmp_path / "chatbot_mvp").mkdir()
    if installed:
        (tmp_path / "chatbot_mvp-1.0.0.dist-info").mkdir()
    found = readable_folders(tmp_path, ["", str(tmp_path), "/elsewhere"])
    assert (f"{tmp_path}{os.sep}" in found) == readable
    assert {f"{tmp_path / 'chatbot_mvp'}{os.sep}", f"/elsewhere{os.sep}"} <= set(found)


def test_an_environment_that_is_reached_through_a_link_reads_a_pdf(tmp_path: Path) -> None:
    link = tmp_path / "environment"
    link.symlink_to(sys.prefix)
    python = link / Path(sys.executable).relative_to(sys.prefix)
    (tmp_path / "a.pdf").write_bytes(pdf([[("La cuota es de 15 euros.", 11)]]))
    read = (
        "import sys; from pathlib import Path; from chatbot_mvp.documents.parsing import parse_upload;"
        "print(parse_upload('a.pdf', Path(sys.argv[1]).read_bytes(), 1000, 1).text)"
    )
    done = subprocess.run(
        [python, "-c", read, tmp_path / "a.pdf"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False
    )
    assert "15 euros" in done.stdout, done.stderr
