"""Other users of the system read nothing of the data, and what killed writes leave is removed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.data_folder import DataFolder
from chatbot_mvp.storage.files import make_folder, replaced_folder, write_atomically
from chatbot_mvp.storage.jsonl import append_lines
from tests.fakes import fake_app

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")

TEXT = b"# Vacaciones\n\nLa plantilla tiene 23 dias de vacaciones al ano.\n"

_KILLED = """
import os, signal, sys
from pathlib import Path
from chatbot_mvp.storage.files import replaced_file

with replaced_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def usual_umask() -> object:
    """The rights that most systems give to new files."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def reachable(root: Path) -> list[str]:
    """Paths below ``root`` that other users may read, or enter, because all folders above let them through."""
    found = []
    for path in root.rglob("*"):
        above = [parent for parent in path.parents if parent.is_relative_to(root) and parent != root]
        if mode(path) & 0o077 and all(mode(parent) & 0o077 for parent in above):
            found.append(path.relative_to(root).as_posix())
    return found


def test_nothing_that_is_written_can_be_read_by_other_users(settings: Settings, tmp_path: Path) -> None:
    data = tmp_path / "own"
    app = fake_app(settings.with_changes(data_dir=data))
    record = app.kbs.add("manual.md", TEXT)
    session = app.chat.new_session()
    app.chat.start(session, record.kb_id, record.kb_name)
    app.runs.run_now(retrieval_strategy="LEXICAL")
    assert [name for name in reachable(data) if not name.endswith(".lock")] == []
    conversations = list((data / "conversations").rglob("*"))
    assert len(conversations) >= 2
    assert all(mode(path) == (0o700 if path.is_dir() else 0o600) for path in conversations)


def test_what_earlier_versions_wrote_is_closed_at_the_next_start(settings: Settings, tmp_path: Path) -> None:
    data = tmp_path / "old"
    (data / "conversations" / "secret").mkdir(parents=True)
    (data / "conversations" / "secret" / "a.jsonl").write_text("{}\n")
    (data / "submissions.jsonl").write_text("{}\n")
    (data / "samples").mkdir()
    assert len(reachable(data)) == 5
    handle = DataFolder(data, not_data=frozenset({"samples"})).use()
    assert handle is not None
    os.close(handle)
    assert reachable(data) == ["samples"]


def test_files_folders_and_lines_are_created_for_their_owner(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    write_atomically(tmp_path / "a" / "file", "x")
    append_lines(tmp_path / "a" / "lines.jsonl", [{}])
    with replaced_folder(tmp_path / "folder"):
        pass
    assert [mode(tmp_path / name) for name in ("a", "a/b", "folder")] == [0o700] * 3
    assert [mode(tmp_path / name) for name in ("a/file", "a/lines.jsonl")] == [0o600] * 2
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "a" / "file")


def left_by_a_killed_writer(path: Path, hours: float) -> Path:
    """Kill a process that writes ``path``; return what it leaves, as if that had been some hours ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = set(path.parent.iterdir())
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    [left] = set(path.parent.iterdir()) - before
    at = left.stat().st_mtime - 3_600 * hours
    os.utime(left, (at, at))
    return left


def test_the_next_write_removes_what_a_killed_writer_left(tmp_path: Path) -> None:
    for hours in (2, 0.5, 0, -2):  # its lock is free, whatever the clock says
        left_by_a_killed_writer(tmp_path / "a.json", hours)
    (tmp_path / ".a.json.lock").touch()
    write_atomically(tmp_path / "b.json", "{}")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / ".a.json.lock", tmp_path / "b.json"])


def test_the_next_start_removes_it_as_well(tmp_path: Path) -> None:
    left = [left_by_a_killed_writer(tmp_path / name, 2) for name in ("a.json", "kb/x/source.txt", "results/r/r.json")]
    handle = DataFolder(tmp_path).use()
    assert handle is not None
    os.close(handle)
    assert [path for path in left if path.exists()] == []
