"""What ``ui`` and ``serve`` say about a used port and about a data folder that is wrong, read-only or full."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.server import run
from chatbot_mvp.storage import data_folder
from tests.conftest import Command
from tests.loopback import free_port

STARTS = ("ui", "serve")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would be started in place of the test's own process; it serves until it is stopped."""
    names: list[str] = []
    monkeypatch.setattr(os, "execv", lambda *_: names.append("ui"))
    monkeypatch.setattr(run, "serve", lambda *_: names.append("serve"))
    return names


@pytest.fixture
def start(command: Command, started: list[str]) -> Any:
    return lambda name: command(name, "--port", str(free_port()))


@pytest.mark.parametrize("name", STARTS)
def test_the_start_says_where_data_are_and_whether_the_folder_is_new(
    name: str, start: Any, started: list[str], tmp_path: Path
) -> None:
    code, _, err = start(name)
    assert (code, started, f"DATA_DIR: {tmp_path / 'data'} (new)" in err) == (0, [name], True)
    code, _, err = start(name)
    assert (code, f"DATA_DIR: {tmp_path / 'data'}\n" in err, "(new)" in err) == (0, True, False)
    assert [path.name for path in (tmp_path / "data").iterdir() if path.name != ".in-use"] == []


@pytest.mark.parametrize("name", STARTS)
def test_a_used_port_is_named_with_the_next_step(name: str, command: Command, started: list[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = command(name, "--port", str(port))
    assert (code, started) == (1, [])
    assert f"127.0.0.1:{port}: Address already in use" in err
    assert "--port" in err


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(("place", "reason"), [("file", "it is a file"), ("file/below", "Not a directory")])
def test_a_wrong_folder_is_refused_with_its_name_and_the_setting(
    name: str, place: str, reason: str, start: Any, started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / place))
    code, _, err = start(name)
    assert (code, started) == (2, [])
    assert f"DATA_DIR is '{tmp_path / place}'" in err
    assert reason in err
    assert "name another folder in DATA_DIR" in err


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc and /dev/full")
@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    ("folder", "warning"),
    [
        ("/proc/self/fdinfo", "DATA_DIR is '/proc/self/fdinfo', and nothing can be written there"),  # not even by root
        ("full", "No space left on device. Free up space"),
    ],
)
def test_a_folder_that_is_read_only_or_full_is_a_warning_because_it_can_be_read(
    name: str,
    folder: str,
    warning: str,
    start: Any,
    started: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "full").mkdir()
    # The trial file is the device that is always full.
    (tmp_path / "full" / f".writable.{os.getpid()}").symlink_to("/dev/full")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / folder))
    code, _, err = start(name)
    assert (code, started) == (0, [name])
    assert warning in err


@pytest.mark.parametrize("asked", ["names_in", "is_dir"])
@pytest.mark.parametrize("words", [("doctor",), ("kb", "list"), ("kb", "ask", "a", "¿y?"), *((one,) for one in STARTS)])
def test_a_data_folder_of_somebody_else_or_in_one_is_told_in_one_line_with_code_2(
    words: tuple[str, ...],
    asked: str,
    command: Command,
    started: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_dir = Path.is_dir

    def refused(folder: Path) -> Any:
        if asked == "is_dir" and folder != tmp_path / "data":
            return is_dir(folder)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))  # root is never refused

    (tmp_path / "data").mkdir()
    monkeypatch.setattr(data_folder if asked == "names_in" else Path, asked, refused)
    code, _, told = command(*words)
    assert (code, len(told.splitlines()), started) == (2, 1, [])
    assert told.startswith(
        f"chatbot-mvp: DATA_DIR is '{tmp_path / 'data'}', and nothing can be written there: Permission"
    )
