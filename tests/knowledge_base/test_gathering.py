"""Files of a folder that change between being listed and being read."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbot_mvp.knowledge_base.gathering import contents, given_folder

SECRET = b"# Secreto\n\nfuera de la carpeta\n"


def _to_link(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def _folder_to_link(path: Path, secret: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(secret.parent)


def _to_pipe(path: Path, secret: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("swap", [_to_link, _folder_to_link, _to_pipe])
def test_what_a_file_became_after_it_was_listed_is_not_read(tmp_path: Path, swap: Callable[[Path, Path], None]) -> None:
    path = tmp_path / "carpeta" / "dentro" / "a.md"
    secret = tmp_path / "fuera" / "a.md"
    for one, content in ((path, b"# A\n"), (secret, SECRET)):
        one.parent.mkdir(parents=True)
        one.write_bytes(content)
    found = given_folder(str(tmp_path / "carpeta"))
    [(file, before)] = contents(found, 1)
    assert (file.path, before) == ("dentro/a.md", b"# A\n")
    swap(path, secret)
    [(_, state)] = contents(found, 1)
    assert not isinstance(state, bytes)
    assert state.code == "upload_not_readable"


def test_a_file_that_grew_after_it_was_listed_is_too_large_and_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# A\n")
    found = given_folder(str(tmp_path))
    os.truncate(path, 5_000_000_000)
    [(_, state)] = contents(found, 1)
    assert not isinstance(state, bytes)
    assert (state.code, state.params["size_mb"]) == ("upload_too_large", "1.0")


def test_a_small_file_takes_no_room_for_the_largest_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"# A\n")
    tracemalloc.start()
    try:
        assert [content for _, content in contents(given_folder(str(tmp_path)), 50)] == [b"# A\n"]
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
