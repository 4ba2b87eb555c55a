"""JSON Lines files lose no line that was written, whatever else happened to the file."""

from __future__ import annotations

import threading
from pathlib import Path

from chatbot_mvp.storage.jsonl import append_lines, read_lines


def test_what_is_appended_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert read_lines(path) == ([], 0)
    append_lines(path, [{"n": 1}, {"n": 2}])
    append_lines(path, iter([{"n": "ñ\n"}]), sync=False)
    assert read_lines(path) == ([{"n": 1}, {"n": 2}, {"n": "ñ\n"}], 0)
    assert path.read_text("utf-8").endswith('{"n": "ñ\\n"}\n')


def test_a_torn_last_line_spoils_no_other_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": "\xc3')
    append_lines(path, [{"n": 2}])
    assert read_lines(path) == ([{"n": 1}, {"n": 2}], 1)


def test_damaged_lines_are_counted_and_blank_ones_are_not(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'[1]\n\n{"n": 1}\r\n  \nno\n\xff\n7\n')
    assert read_lines(path) == ([{"n": 1}], 4)


def test_half_a_character_does_not_keep_a_line_from_being_written(tmp_path: Path) -> None:
    append_lines(tmp_path / "a.jsonl", [{"text": "x\ud800"}])
    assert read_lines(tmp_path / "a.jsonl") == ([{"text": "x\ufffd"}], 0)


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


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"text": "uno\u2028dos\x85tres\x0ccuatro\r\ncinco"}]
    append_lines(path, rows)
    assert read_lines(path) == (rows, 0)


def test_appending_nothing_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append_lines(path, [{"a": 1}])
    append_lines(path, [])
    assert path.read_text("utf-8") == '{"a": 1}\n'
