"""An upload that ended early continues at the file where it was, and leaves no text behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.knowledge_base import intake, memory, parsed_files
from chatbot_mvp.knowledge_base.parsed_files import MOST_HOURS, ParsedFiles
from tests.documents.made import Line, docx_with, pdf
from tests.knowledge_base.uploading import wait, words_app
from tests.raising import raises
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
MARK = "kilometraje"
FILES = [
    ("uno.docx", docx_with(("Heading 1", "Comedor"), ("Normal", f"Se pagan once euros y el {MARK} aparte."))),
    ("dos.md", b"# Viajes\n\nEl hotel tiene un limite de 95 euros."),
]
LONG = ("largo.pdf", pdf([[("Una línea de texto cualquiera para leer", 11.0)] * 45] * 400))


@pytest.fixture
def app(tmp_path: Path) -> App:
    return words_app(tmp_path)


def kept(app: App) -> list[Path]:
    """The texts of unfinished uploads."""
    return [path for path in (app.settings.cache_dir / "parsed").rglob("*") if path.is_file()]


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read from now on."""
    read: list[str] = []
    parse = intake.parse_upload

    def reading(name: str, *rest: object) -> ParsedText:
        read.append(name)
        return parse(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(intake, "parse_upload", reading)
    return read


def stopped_at_the_last_file(app: App) -> None:
    """Upload FILES and LONG, and stop while LONG is read."""
    job_id = app.uploads.take([*FILES, LONG])
    wait_until(lambda: app.uploads.uploads()[0].files[2].stage == "reading", 60, "the last file's turn")
    app.uploads.stop(job_id)
    assert wait(app, job_id).job.state == "stopped"


@pytest.mark.slow
def test_the_same_upload_continues_behind_the_files_that_were_read(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_at_the_last_file(app)
    assert app.kbs.records() == []
    assert len(kept(app)) == 2
    read = noted(monkeypatch)
    upload = wait(app, app.uploads.take([*FILES, ("tres.txt", b"Otro texto.")]))
    assert read == ["tres.txt"]
    assert [(state.stage, state.resumed) for state in upload.files] == [
        ("indexed", True),
        ("indexed", True),
        ("indexed", False),
    ]
    assert kept(app) == []
    fresh = words_app(app.settings.data_dir.parent / "fresh")
    same = wait(fresh, fresh.uploads.take([*FILES, ("tres.txt", b"Otro texto.")]))
    assert same.kb_id == upload.kb_id
    assert fresh.kbs.store.files(same.kb_id) == app.kbs.store.files(upload.kb_id)


@pytest.mark.slow
def test_an_upload_of_a_killed_process_continues_in_the_next_one(tmp_path: Path) -> None:
    script = """
        import os, signal, sys, time
        from pathlib import Path
        from tests.knowledge_base.test_continued_uploads import LONG
        from tests.knowledge_base.uploading import words_app
        files = [(path.name, path.read_bytes()) for path in sorted(Path(sys.argv[2]).iterdir())]
        app = words_app(Path(sys.argv[1]))
        app.uploads.take([*files, LONG])
        while app.uploads.uploads()[0].files[2].stage != "reading":
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    given = tmp_path / "files"
    given.mkdir()
    for name, content in FILES:
        (given / name).write_bytes(content)
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "data"), str(given)]
    ended = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, timeout=120)
    assert ended.returncode == -9, ended.stderr.decode()
    app = words_app(tmp_path / "data")
    assert app.kbs.records() == []
    upload = wait(app, app.uploads.take([*FILES, ("tres.txt", b"Otro texto.")]))
    assert [state.resumed for state in upload.files] == [True, True, False]
    assert kept(app) == []


@pytest.mark.slow
def test_documents_that_are_read_again_by_a_process_that_is_killed_are_read_from_there_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
        import os, signal, sys
        from dataclasses import replace
        from pathlib import Path
        from chatbot_mvp.knowledge_base import intake
        from chatbot_mvp.knowledge_base.gathering import given_contents
        from tests.knowledge_base.uploading import words_app
        app = words_app(Path(sys.argv[1]))
        parse = intake.parse_upload
        intake.parse_upload = lambda *given: replace(found := parse(*given), text=found.text.replace("320 ¹", "3201"))
        page = "<p>Se pagan 320<sup>1</sup> euros por {}."
        files = [(f"{n}.html", page.format(n).encode()) for n in ("comida", "hotel", "tren")]
        record = app.kb_filing.create("Gastos", given_contents(files)).record
        print(record.kb_id, flush=True)
        intake.parse_upload = lambda name, *rest: (
            os.kill(os.getpid(), signal.SIGKILL) if name == "tren.html" else parse(name, *rest)
        )
        app.kb_filing.reread(record.kb_id)
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, timeout=120)
    assert ended.returncode == -9, ended.stderr.decode()
    kb_id = ended.stdout.decode().strip()
    app = words_app(tmp_path)
    assert app.kbs.document(kb_id).text.count("3201 euros") == 3  # the version of before answers
    read = noted(monkeypatch)
    again = app.kb_filing.reread(kb_id)
    assert read == ["tren.html"]
    assert [(row.path, row.what) for row in again.files] == [
        (f"{n}.html", "replaced") for n in ("comida", "hotel", "tren")
    ]
    assert app.kbs.document(kb_id).text.count("320 ¹ euros") == 3
    assert app.kbs.document(kb_id, "1").text.count("3201 euros") == 3
    assert kept(app) == []


def test_a_stop_while_indexing_reads_no_file_again(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(kb_id: str, progress: object) -> None:
        raise RunStopped(run_id=kb_id)

    with monkeypatch.context() as patch:
        patch.setattr(app.kbs, "growing", build)
        assert wait(app, app.uploads.take(FILES)).job.state == "stopped"
    assert app.kbs.records() == []
    assert [state.resumed for state in wait(app, app.uploads.take(FILES)).files] == [True, True]


@pytest.mark.slow
def test_a_deleted_kb_leaves_no_text_even_if_an_upload_of_its_files_was_stopped(app: App) -> None:
    record = wait(app, app.uploads.take(FILES))
    stopped_at_the_last_file(app)
    assert any(MARK in path.read_text() for path in kept(app))
    app.kbs.delete(record.kb_id)
    found = [path for path in app.settings.data_dir.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]
    assert found == []
    assert kept(app) == []


def test_other_limits_read_a_file_again() -> None:
    content = b"Un texto."
    keys = {
        ParsedFiles.key(name, data, limits)
        for name in ("a.md", "b.txt")
        for data in (content, b"Otro.")
        for limits in ((1_000, 1, 1), (2_000, 1, 1))
    }
    assert len(keys) == 8
    assert ParsedFiles.key("otro.md", content, (1_000, 1, 1)) in keys


def test_kept_texts_are_bounded_by_age_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = ParsedFiles(tmp_path / "parsed")
    text = ParsedText("Un texto con \ufffd y eñe.", "utf-8", 20, False, (0, 3), 1)
    for row, key in enumerate(("old", "first", "second")):
        parsed.put(key, text)
        at = time.time() - (MOST_HOURS * 3_600 + 1 if key == "old" else 100 - row)
        os.utime(tmp_path / "parsed" / f"{key}.json", (at, at))
    assert parsed.get("old") is None
    assert parsed.get("first") == text
    monkeypatch.setattr(parsed_files, "MOST_BYTES", (tmp_path / "parsed" / "first.json").stat().st_size)
    parsed = ParsedFiles(tmp_path / "parsed")
    parsed.prune()
    assert [path.name for path in (tmp_path / "parsed").iterdir()] == ["second.json"]
    (tmp_path / "parsed" / "second.json").write_text("{")
    assert parsed.get("second") is None


@pytest.mark.slow
def test_an_app_that_starts_deletes_texts_that_are_too_old(app: App) -> None:
    stopped_at_the_last_file(app)
    for path in kept(app):
        os.utime(path, (1, 1))
    assert kept(words_app(app.settings.data_dir)) == []


def test_an_upload_that_needs_more_memory_than_there_is_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = words_app(tmp_path, kb_max_chars=5_000_000)
    monkeypatch.setattr(memory, "available_mb", lambda: 300)
    with raises("upload_needs_memory") as refused:
        app.uploads.take([("libro.txt", b"palabra " * 500_000)])
    assert refused.value.params == {"chars": 4_000_000, "needed_mb": 800, "available_mb": 300}
    assert app.uploads.uploads() == []
    assert app.kbs.records() == []
    assert wait(app, app.uploads.take([("corto.txt", b"palabra " * 10)])).job.state == "done"


def test_the_memory_of_a_container_is_its_limit_less_what_is_used_without_the_cache_of_files(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/app"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    assert memory.available_mb(tmp_path) is None
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\n")
    assert memory.available_mb(tmp_path) == 8_192
    (tmp_path / "proc/self/cgroup").write_text("0::/app\n")
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("1500000000\n")
    assert memory.available_mb(tmp_path) == 8_192
    (group / "memory.max").write_text("2000000000\n")
    (group / "memory.stat").write_text("anon 900\ninactive_file 250000000\n")
    assert memory.available_mb(tmp_path) == 750
    older = tmp_path / "sys/fs/cgroup/memory"
    older.mkdir()
    (older / "memory.limit_in_bytes").write_text("600000000")
    (older / "memory.usage_in_bytes").write_text("100000000")
    assert memory.available_mb(tmp_path) == 500


@pytest.mark.slow
def test_a_packed_file_counts_once_it_is_read_and_then_with_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [("a.md", b"x" * 10), ("b.html", b"x" * 10), ("c.pdf", b"x" * 10)]
    assert memory.known_chars(files, 1_000) == 20
    assert memory.known_chars(files, 15) == 15
    assert memory.needed_mb(1_000_000) == 200
    app = words_app(tmp_path)
    lines: list[Line] = [("Una palabra y otra más hasta el final de la línea.", 9)] * 60
    monkeypatch.setattr(memory, "available_mb", lambda: 100)
    long = wait(app, app.uploads.take([("largo.pdf", pdf([lines] * 190))]))
    assert (long.job.state, long.job.error_code) == ("failed", "upload_needs_memory")
    assert app.kbs.records() == []
    pictures = pdf([lines[:1]]) + b"%" * 10_000_000
    assert wait(app, app.uploads.take([("fotos.pdf", pictures)])).job.state == "done"
