"""JSON Lines files lose no line that was written, whatever else happened to the file."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.storage.jsonl import append_lines, read_lines

Rows = list[dict[str, Any]]


def test_what_is_appended_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert read_lines(path) == ([], 0)
    append_lines(path, [{"n": 1}, {"n": 2}])
    append_lines(path, iter([{"n": "ñ\n"}]), sync=False)
    assert read_lines(path) == ([{"n": 1}, {"n": 2}, {"n": "ñ\n"}], 0)
    assert path.read_text("utf-8").endswith('{"n": "ñ\\n"}\n')


ODD = [{"text": "uno\u2028dos\x85tres\x0ccuatro\r\ncinco"}]


@pytest.mark.parametrize(
    ("there", "appended", "read", "damaged"),
    [
        pytest.param(b'{"n": 1}\n{"n": "\xc3', [{"n": 2}], [{"n": 1}, {"n": 2}], 1, id="torn last line"),
        pytest.param(b'[1]\n\n{"n": 1}\r\n  \nno\n\xff\n7\n', [], [{"n": 1}], 4, id="damaged and blank lines"),
        pytest.param(b"", [{"text": "x\ud800"}], [{"text": "x\ufffd"}], 0, id="half a character"),
        pytest.param(b"", ODD, ODD, 0, id="line separators inside a text"),
    ],
)
def test_whatever_a_file_holds_every_whole_line_is_read_and_every_damaged_one_counted(
    tmp_path: Path, there: bytes, appended: Rows, read: Rows, damaged: int
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(there)
    append_lines(path, appended)
    assert read_lines(path) == (read, damaged)
    assert path.read_bytes().startswith(there), "what was there stays; nothing appended changes nothing"
    assert appended or path.read_bytes() == there


def test_threads_that_append_long_lines_at_once_tear_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def write(thread: int) -> None:
        for number in range(20):
            append_lines(path, [{"thread": thread, "number": number, "text": "x" * 20_000}], sync=False)

    threads = [threading.Thread(target=write, args=[thread]) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows, damaged = read_lines(path)
    assert damaged == 0
    for thread_number in range(8):
        assert [row["number"] for row in rows if row["thread"] == thread_number] == list(range(20))
