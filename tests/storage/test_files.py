"""Files and folders take their place in one step, whatever happens while they are written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.storage.files import recover_folders, replaced_file, replaced_folder, write_atomically, write_json

_KILLED_BETWEEN = """
import os, signal, sys
from pathlib import Path
from chatbot_mvp.storage.files import replaced_folder

renames = int(sys.argv[2])
rename = Path.replace

def counted(self, target):
    global renames
    if renames == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    renames -= 1
    return rename(self, target)

Path.replace = counted
with replaced_folder(Path(sys.argv[1])) as work:
    (work / "corpus").write_text("new")
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_with_its_line_ends_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", "ñ\r\n\n")
    write_atomically(tmp_path / "a", b"\x00\r\n", durable=False)
    assert (tmp_path / "a").read_bytes() == b"\x00\r\n"
    assert names(tmp_path) == ["a"]


def test_half_a_character_does_not_keep_json_from_being_written(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"text": "x\ud800ñ"}, indent=None)
    assert (tmp_path / "a.json").read_text("utf-8") == '{"text": "x\ufffdñ"}'


def test_an_error_while_writing_leaves_the_old_file_alone(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", "old")
    with pytest.raises(KeyboardInterrupt), replaced_file(tmp_path / "a") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


def test_an_error_while_a_folder_is_filled_leaves_the_old_one_alone(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "corpus").write_text("old")
    with pytest.raises(ValueError, match="no"), replaced_folder(tmp_path / "set") as work:
        (work / "corpus").write_text("half")
        raise ValueError("no")
    assert names(tmp_path) == ["set"]
    assert (tmp_path / "set" / "corpus").read_text() == "old"


def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "corpus").write_text("old")
    rename = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if target.name == "set" and not self.name.endswith(".old"):
            raise PermissionError("refused")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(PermissionError), replaced_folder(tmp_path / "set") as work:
        (work / "corpus").write_text("new")
    assert names(tmp_path) == ["set"]
    assert (tmp_path / "set" / "corpus").read_text() == "old"


def test_a_link_is_replaced_without_touching_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "corpus").write_text("theirs")
    (tmp_path / "set").symlink_to(tmp_path / "elsewhere")
    with replaced_folder(tmp_path / "set") as work:
        (work / "corpus").write_text("new")
    assert names(tmp_path) == ["elsewhere", "set"]
    assert not (tmp_path / "set").is_symlink()
    assert (tmp_path / "elsewhere" / "corpus").read_text() == "theirs"


@pytest.mark.parametrize("linked", [False, True])
def test_a_process_killed_between_the_two_renames_costs_no_folder(tmp_path: Path, linked: bool) -> None:
    kept = tmp_path / "elsewhere" if linked else tmp_path / "root" / "set"
    kept.mkdir(parents=True)
    (kept / "corpus").write_text("old")
    root = tmp_path / "root"
    if linked:
        root.mkdir()
        (root / "set").symlink_to(kept)
    done = subprocess.run([sys.executable, "-c", _KILLED_BETWEEN, str(root / "set"), "1"], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert not (root / "set").exists()
    recover_folders(root)
    assert (root / "set" / "corpus").read_text() == "old"
    recover_folders(root)
    assert (root / "set" / "corpus").read_text() == "old"


def test_a_start_deletes_an_old_folder_whose_successor_is_in_place_and_nothing_else(tmp_path: Path) -> None:
    for name in ("set", ".set.0123456789ab.old", ".set.mine.old", "..0123456789ab.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "corpus").write_text(name)
    recover_folders(tmp_path)
    assert names(tmp_path) == ["..0123456789ab.old", ".set.mine.old", "set"]
    assert (tmp_path / "set" / "corpus").read_text() == "set"
    recover_folders(tmp_path / "none")


def test_a_json_file_is_there_whole_or_as_it_was(tmp_path: Path) -> None:
    """A value that cannot be written, in its middle, leaves the old file and nothing that looks like one."""
    path = tmp_path / "x.json"
    write_json(path, {"a": "ñ"})
    with pytest.raises(TypeError):
        write_json(path, {"a": 1, "b": object()})
    assert json.loads(path.read_text("utf-8")) == {"a": "ñ"}
    assert list(tmp_path.glob("*.json")) == [path]


def test_a_folder_that_a_killed_process_began_to_fill_is_removed_after_an_hour(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from chatbot_mvp.storage.files import replaced_folder
with replaced_folder(Path({str(tmp_path / "set")!r})) as work:
    (work / "corpus").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    recover_folders(tmp_path)
    assert left.exists(), "its process may still be at work"
    for path in (left, left / "corpus"):
        os.utime(path, (0, 0))
    recover_folders(tmp_path)
    assert names(tmp_path) == []
