"""JSON from anyone gives a value or one clear error; objects on disk keep the changes of all processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.errors import FileOfLaterVersion
from chatbot_mvp.storage.json_object import MOST_LEVELS, InvalidJson, change_object, parse_json, read_object
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from tests.raising import raises

REFUSED = {
    "nested 200 levels": b"[" * 200 + b"]" * 200,
    "nested 100,000 levels": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "just too deep": b"[" * (MOST_LEVELS + 1) + b"]" * (MOST_LEVELS + 1),
    "NaN": b'{"a": NaN}',
    "Infinity": b"[-Infinity]",
    "a float that overflows": b"[1e999]",
    "an integer beyond the limit of Python": b"[" + b"7" * 5_000 + b"]",
    "an integer that no float holds": b"[-" + b"7" * 400 + b"]",
    "NUL": b'{"a": "\0"}',
    "zeros after a power failure": b"\0" * 512,
    "nothing": b"",
    "two values": b"{} {}",
    "a torn value": b'{"a": "b',
}
NO_UTF8 = [b'{"a": "\xff"}', b'{"a": "\xed\xa0\x80"}', b'{"a": "\xc3"}']


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED)
def test_what_is_no_usable_json_gives_one_error_as_bytes_and_as_text(content: bytes) -> None:
    with pytest.raises(InvalidJson) as raised:
        parse_json(content)
    assert str(raised.value)
    with pytest.raises(InvalidJson):
        parse_json(content.decode())


@pytest.mark.parametrize("content", NO_UTF8)
def test_bytes_that_are_no_utf8_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidJson, match="utf-8"):
        parse_json(content)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, 1e300, None, True, "ñ", "\0", "😀"]},
        {"tokenizers write this": 10**30},
        [[[]]] * 500,
        json.loads("[" * MOST_LEVELS + "]" * MOST_LEVELS),
    ],
    ids=["plain", "a large integer", "many brackets", "as deep as allowed"],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_is_usable_is_read_as_python_reads_it(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == parse_json(text.encode()) == parse_json(b"\xef\xbb\xbf" + text.encode()) == value


def test_a_lone_surrogate_becomes_a_replacement_character_wherever_it_enters() -> None:
    expected = {"\ufffd": ["x\ufffd😀", {"y": "\ufffd"}]}
    assert parse_json(r'{"\udc00": ["x\ud800\ud83d\ude00", {"y": "\uDFFF"}]}') == expected
    assert parse_json('{"\udc00": ["x\ud800😀", {"y": "\udfff"}]}') == expected


def test_no_line_of_such_content_is_taken_and_each_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [*(content for content in REFUSED.values() if content), *NO_UTF8]
    path.write_bytes(b'{"n": 1}\n' + b"\n".join(lines) + b'\n{"n": 2}')
    assert read_lines(path) == ([{"n": 1}, {"n": 2}], len(lines))


def test_a_number_that_json_does_not_have_is_not_appended(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append_lines(path, [{"n": 1}])
    with pytest.raises(ValueError, match="JSON"):
        append_lines(path, [{"n": 2}, {"n": float("nan")}])
    assert read_lines(path) == ([{"n": 1}], 0)


def test_an_object_is_changed_entry_by_entry_and_carries_its_format(tmp_path: Path) -> None:
    path = tmp_path / "below" / "a.json"
    assert read_object(path, 1) == {}
    change_object(path, lambda found: found.update(a=1), 1)
    change_object(path, lambda found: found.update(b="\ud800"), 1)
    assert json.loads(path.read_bytes()) == {"format_version": 1, "a": 1, "b": "\ufffd"}
    assert read_object(path, 1) == {"a": 1, "b": "\ufffd"}


def test_an_object_of_a_later_version_is_neither_read_nor_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"format_version": 2, "a": 1}')
    with pytest.raises(FileOfLaterVersion, match=r"a\.json.* format 2.* up to 1"):
        read_object(path, 1)
    with pytest.raises(FileOfLaterVersion):
        change_object(path, lambda found: found.clear(), 1)
    assert path.read_text() == '{"format_version": 2, "a": 1}'


def test_a_damaged_object_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for damaged in ('{"a": 1', "[]", '{"a": NaN}', '{"a": 1}', '{"format_version": 0}'):
        path.write_text(damaged)
        change_object(path, lambda found: found.update(b=2), 1)
        assert read_object(path, 1) == {"b": 2}
        assert (tmp_path / "a.json.damaged").read_text() == damaged


def test_an_object_that_cannot_be_written_names_the_file_and_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with raises("choice_not_kept", match=r"file/a\.json"):
        change_object(tmp_path / "file" / "a.json", lambda found: found.update(b=2), 1)
