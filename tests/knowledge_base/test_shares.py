"""Each session has its share of the one reader, and says nothing of its files to the others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.documents.reading import sandbox
from chatbot_mvp.errors import KbNotWritten
from chatbot_mvp.knowledge_base import intake, uploads
from chatbot_mvp.settings.model import Settings
from tests.file_sizes import files_of_at_most
from tests.knowledge_base.test_service import wait
from tests.raising import raises


@pytest.fixture
def app(tmp_path: Path) -> App:
    return build_app(Settings(data_dir=tmp_path, retrieval_strategy="LEXICAL", provider="demo"))


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """Names of the files in the order in which they were read; the first one waits until all are queued."""
    read: list[str] = []
    gate = threading.Event()
    parse = intake.parse_upload

    def parsed(name: str, *rest: object) -> ParsedText:
        gate.wait(20)
        read.append(name)
        return parse(name, *rest)  # type: ignore[arg-type]

    def begin() -> list[str]:
        gate.set()
        return read

    monkeypatch.setattr(intake, "parse_upload", parsed)
    yield begin
    gate.set()


def texts(session: str, count: int) -> list[tuple[str, bytes]]:
    return [(f"{session}{row}.txt", f"Texto {row} de {session}.".encode()) for row in range(count)]


def test_a_session_with_many_files_lets_the_others_read_between_them(
    app: App, reader: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "_TURN_S", 0.0)
    many = app.uploads.take(texts("a", 30), owner="a")
    others = [app.uploads.take(texts(session, 1), owner=session) for session in ("b", "c")]
    order = reader()
    kb_ids = [wait(app, job).kb_id for job in (*others, many)]
    assert order[:3] == ["a0.txt", "b0.txt", "c0.txt"]
    assert len(order) == 32
    assert len(app.kbs.store.files(kb_ids[-1])) == 30


def test_an_upload_that_nobody_waits_for_is_read_in_one_turn(
    app: App, reader: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "_TURN_S", 0.0)
    first, second = (app.uploads.take(texts(name, 2), owner="a") for name in ("x", "y"))
    order = reader()
    wait(app, first), wait(app, second)
    assert order == ["x0.txt", "x1.txt", "y0.txt", "y1.txt"]


def test_an_upload_belongs_to_its_session(app: App, reader: Callable[[], list[str]]) -> None:
    job = app.uploads.take(texts("a", 1), owner="a")
    assert [upload.job.job_id for upload in app.uploads.uploads("a")] == [job]
    assert app.uploads.uploads("b") == []
    assert [upload.owner for upload in app.uploads.uploads()] == ["a"]
    reader()
    assert wait(app, job).owner == "a"


def test_the_files_of_one_session_that_wait_are_bounded_and_others_are_not_held_up(
    app: App, reader: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_FILES", 3)
    monkeypatch.setattr(uploads, "MOST_MB", 1)
    first = app.uploads.take(texts("a", 2), owner="a")
    with raises("upload_queue_full", match=r"4 files of 0\.0 MB"):
        app.uploads.take(texts("a", 2), owner="a")
    with raises("upload_queue_full") as refused:
        app.uploads.take([("a.txt", b"palabra " * 6_300_000)], owner="a")
    assert refused.value.params == {"files": 3, "mb": 50.4, "most_files": 3, "most_mb": 50}
    other = app.uploads.take(texts("b", 3), owner="b")
    reader()
    assert [len(wait(app, job).files) for job in (first, other)] == [2, 3]
    assert wait(app, app.uploads.take(texts("a", 3), owner="a")).kb_id


def test_a_session_has_only_so_many_knowledge_bases_and_others_have_theirs(
    app: App, reader: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_KBS", 2)
    reader()
    first = wait(app, app.uploads.take(texts("a", 1), owner="a")).kb_id
    wait(app, app.uploads.take(texts("b", 1), owner="a"))
    for _ in range(3):
        with raises("too_many_knowledge_bases", match="2 knowledge bases"):
            app.uploads.take(texts("c", 1), owner="a")
    assert len(app.kbs.records()) == 2
    assert wait(app, app.uploads.take(texts("d", 1), owner="b")).kb_id
    assert wait(app, app.uploads.take(texts("e", 1))).kb_id, "a command has no limit"
    app.kbs.delete(first)
    assert wait(app, app.uploads.take(texts("c", 1), owner="a")).kb_id


def test_a_full_disk_is_said_clearly_and_leaves_everything_as_it_was(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    wait(app, app.uploads.take(texts("a", 1)))

    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in app.settings.kb_dir.rglob("*") if path.is_file()}

    before, fsync = contents(), os.fsync

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    upload = wait(app, app.uploads.take(texts("b", 1)))
    monkeypatch.setattr(os, "fsync", fsync)
    assert (upload.job.state, upload.job.error_code) == ("failed", "kb_not_written")
    assert "No space left on device" in (upload.job.error or "")
    assert contents() == before
    assert wait(app, app.uploads.take(texts("b", 1))).kb_id


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_queued(tmp_path: Path) -> None:
    (tmp_path / "kb_jobs").write_text("in the way", "utf-8")
    app = build_app(Settings(data_dir=tmp_path, retrieval_strategy="LEXICAL", provider="demo"))
    assert app.settings.kb_jobs_dir == tmp_path / "kb_jobs"
    with pytest.raises(KbNotWritten, match="kb_jobs"):
        app.uploads.take(texts("a", 1))
    (app.settings.kb_dir).mkdir(exist_ok=True)
    (app.settings.kb_dir / ".lock").mkdir()
    with pytest.raises(KbNotWritten, match=r"a0\.txt"):
        app.kbs.add(*texts("a", 1)[0])


def test_a_file_that_cannot_be_written_to_its_end_leaves_no_part_of_it(app: App) -> None:
    """The system itself refuses to write more than 100 kB here, after a part has been written."""
    wait(app, app.uploads.take(texts("a", 1)))

    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in app.settings.kb_dir.rglob("*") if path.is_file()}

    before = contents()
    with files_of_at_most(100_000):
        upload = wait(app, app.uploads.take([("largo.txt", b"palabra " * 14_000)]))
    assert (upload.job.state, upload.job.error_code) == ("failed", "kb_not_written")
    assert "File too large" in (upload.job.error or "")
    assert contents() == before
    assert list(app.settings.data_dir.rglob(f".*.{os.getpid()}.*")) == []
    assert wait(app, app.uploads.take([("largo.txt", b"palabra " * 14_000)])).kb_id


def test_no_room_for_temporary_files_is_said_clearly(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sandbox.tempfile, "TemporaryFile", full)
    upload = wait(app, app.uploads.take([("a.html", b"<!doctype html><html><p>Uno</html>")]))
    assert (upload.job.state, upload.job.error_code) == ("failed", "kb_not_written")
    assert (upload.files[0].stage, app.kbs.records()) == ("stopped", [])
