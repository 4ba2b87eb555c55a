"""Pages without text are read one by one beside the others: with progress, a stop and limits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from chatbot_mvp.documents.reading.extracted import Extracted, empty_pages, with_pages
from chatbot_mvp.documents.reading.reader import PageReader
from chatbot_mvp.documents.reading.sandbox import read_pages_apart
from chatbot_mvp.errors import RunStopped

READERS = """
import time
from pathlib import Path

def each(file, pages):
    for page in pages:
        yield page, f"page {page} of {file.name}"

def slow(file, pages):
    for page in pages:
        yield page, "text"
        time.sleep(1)

def breaking(file, pages):
    yield pages[0], "the first"
    raise RuntimeError("no ink")

def burning(file, pages):
    yield pages[0], "the first"
    while True:
        pass

def dying(file, pages):
    yield pages[0], "the first"
    import os
    os._exit(9)

def prying(file, pages):
    for page in pages:
        try:
            yield page, Path("/etc/passwd").read_text()
        except PermissionError:
            yield page, "refused"

def calling(file, pages):
    import ctypes
    try:
        ctypes.CDLL(None)
        yield pages[0], "called"
    except PermissionError:
        yield pages[0], "refused"

def telling(file, pages, language):
    yield pages[0], language
"""


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a module of an installed package."""
    name = f"page_readers_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(READERS, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def read(reader: str, function: str, pages: list[int], **more: object) -> dict[int, str]:
    return read_pages_apart(PageReader("r", ".pdf", f"{reader}:{function}", **more), "a.pdf", b"%PDF-", pages)  # type: ignore[arg-type]


def test_each_page_is_told_when_it_is_read(reader: str) -> None:
    told: list[tuple[int, int]] = []
    each = PageReader("r", ".pdf", f"{reader}:slow")
    found = read_pages_apart(each, "a.pdf", b"", [2, 5, 7], on_page=lambda *done: told.append(done))
    assert found == {2: "text", 5: "text", 7: "text"}
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_a_stop_ends_the_reading_between_pages(reader: str) -> None:
    began = time.monotonic()

    def check() -> None:
        if time.monotonic() - began > 1:
            raise RunStopped(run_id="x")

    with pytest.raises(RunStopped):
        read_pages_apart(PageReader("r", ".pdf", f"{reader}:slow"), "a.pdf", b"", range(1, 100), check)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("function", ["breaking", "dying"])
def test_the_pages_read_before_a_failure_are_kept(reader: str, function: str, caplog: pytest.LogCaptureFixture) -> None:
    assert read(reader, function, [3, 4]) == {3: "the first"}
    assert "'r' stopped after 1 of 2 pages" in caplog.text


@pytest.mark.slow
def test_a_page_that_takes_too_much_time_ends_the_reading(reader: str, caplog: pytest.LogCaptureFixture) -> None:
    assert read(reader, "burning", [1, 2], cpu_seconds_per_page=0.5) == {1: "the first"}
    assert "stopped after 1 of 2 pages" in caplog.text


def test_a_reader_of_pages_can_read_no_file_of_the_system(reader: str) -> None:
    assert read(reader, "prying", [1]) == {1: "refused"}


def test_a_library_that_is_loaded_before_the_fences_lets_nobody_load_another(reader: str) -> None:
    assert read(reader, "calling", [1], loads=("ctypes", "pypdfium2")) == {1: "refused"}


def test_options_reach_the_reader(reader: str) -> None:
    assert read(reader, "telling", [1], options=lambda: {"language": "es"}) == {1: "es"}


def test_pages_that_were_not_asked_for_are_ignored(reader: str) -> None:
    assert read(reader, "each", [2]) == {2: "page 2 of a.pdf"}


def test_a_text_stands_where_its_page_is() -> None:
    """Page 2 and 4 are empty; the sentence goes on from page 1 to page 3 unless page 2 stands between."""
    found = Extracted("It begins here and ends there.", (0, 15, 15, 30), 2)
    assert empty_pages(found) == [2, 4]
    one = with_pages(found, {2: "A picture\u200b of a dog."})
    assert one.text == "It begins here\n\nA picture of a dog.\n\nand ends there."
    assert [one.text[start : start + 5] for start in one.page_starts] == ["It be", "A pic", "and e", ""]
    assert one.empty_pages == 1
    both = with_pages(found, {4: "The end."})
    assert both.text == "It begins here and ends there.\n\nThe end."
    assert both.empty_pages == 1


def test_a_document_of_pictures_alone_is_made_of_its_pages() -> None:
    found = with_pages(Extracted("", (0, 0, 0), 3), {1: "# One", 3: "Three."})
    assert (found.text, found.empty_pages) == ("# One\n\nThree.", 1)
    assert [found.text[start:][:3] for start in found.page_starts] == ["# O", "Thr", "Thr"]
