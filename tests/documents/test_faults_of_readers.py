"""What keeps a reader from working is told as that, and never as a damaged document."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import pytest

from chatbot_mvp.documents import trial
from chatbot_mvp.documents.reading import readers, sandbox
from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.sandbox import read_with
from chatbot_mvp.errors import UploadError
from tests.raising import raises

FILE = GivenFile("a.pdf", b"", 1, lambda pages: None)


def refused(file: GivenFile) -> Extracted:
    raise PermissionError("/site-packages/liteparse/__init__.py may not be opened here")


def refused_and_wrapped(file: GivenFile) -> Extracted:
    try:
        refused(file)
    except PermissionError as error:
        raise UploadError("upload_damaged", name="a.pdf", kind=".pdf", reason="its library says so") from error
    raise AssertionError


def without_a_module(file: GivenFile) -> Extracted:
    raise ImportError("libthing.so.1: cannot open shared object file")


def damaged(file: GivenFile) -> Extracted:
    raise ValueError("no page")


@pytest.mark.parametrize(
    ("reader", "code", "reason"),
    [
        (refused, "reader_failed", "PermissionError: /site-packages/liteparse/__init__.py may not be opened here"),
        (refused_and_wrapped, "reader_failed", "may not be opened here"),
        (without_a_module, "reader_failed", "ImportError: libthing"),
        (damaged, "upload_damaged", "ValueError: no page"),
    ],
)
def test_a_refusal_or_a_missing_module_is_the_machines_fault(reader: object, code: str, reason: str) -> None:
    with raises(code, match=reason):
        read_with(f"{__name__}:{reader.__name__}", ".pdf", FILE)  # type: ignore[attr-defined]


def test_a_process_that_does_not_begin_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o700)
    monkeypatch.setattr(sandbox, "sys", SimpleNamespace(executable=str(python)))
    with raises("reader_failed", match="its reader ended with 1"):
        sandbox.read_apart(".pdf", "a.pdf", b"%PDF-1.4", 1)


def test_doctor_reads_a_small_file_of_each_format_and_says_which_reader_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trial.read_each_format().split() == [*trial.small_files()]
    tried = {readers.reading_of(suffix).name for suffix in trial.small_files() if suffix != ".txt"}
    assert tried == {reader.name for reader in (*readers._OWN, readers._MARKDOWN)}
    monkeypatch.setattr(trial, "small_files", lambda: {".txt": b"Another text."})
    with raises("reader_failed", match=r"'trial\.txt' was not read"):
        trial.read_each_format()


def test_a_reader_whose_metadata_are_not_found_is_named_without_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(package: str) -> str:
        raise PackageNotFoundError(package)

    known = f"striprtf {version('striprtf')}"
    assert readers.reading_name(".rtf") == known
    monkeypatch.setattr(readers, "_version_of", not_found)
    assert readers.reading_name(".rtf") == "striprtf"
    assert readers.reading_key(".rtf").startswith("striprtf")
    monkeypatch.undo()
    assert readers.reading_name(".rtf") == known
