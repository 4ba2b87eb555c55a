"""``backup`` and ``restore``: what they hold, what they refuse, and what a restore leaves alone."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatbot_mvp.errors import DataFolderUnusable, FileOfLaterVersion
from chatbot_mvp.settings.installation import PROJECT_ROOT
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.storage.data_folder import DataFolder
from chatbot_mvp.storage.files import write_json
from chatbot_mvp.storage.jsonl import append_lines
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.wings.backup import writing
from chatbot_mvp.wings.backup.errors import BackupUnusable
from chatbot_mvp.wings.backup.reading import open_backup
from chatbot_mvp.wings.backup.restoring import restore
from chatbot_mvp.wings.backup.writing import save_backup
from tests.conftest import Command

DATA = {
    "kb/manual-1/kb.json": "{}",
    "kb/manual-1/source.txt": "La garantía dura tres años.",
    "results/r/records.jsonl": '{"a": 1}\n',
    "conversations/s/c.jsonl": '{"b": 2}\n',
    "app_settings.json": '{"kb_top_k": 3}',
}
COLUMNS = "(key BLOB PRIMARY KEY, v BLOB)"
PASSING = (
    *(
        "kb/.lock",
        "jobs/run.lock",
        "jobs/j.stop",
        "kb/manual-1/.kb.json.77.88",
        "datasets/.d.0123456789ab/corpus.jsonl",
    ),
    *("chroma/chroma.sqlite3", ".in-use", ".restore.0123456789ab/new/kb/x"),
)


def fill(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def found(root: Path) -> dict[str, str]:
    paths = (path for path in root.rglob("*") if path.is_file() and path.name != ".in-use")
    return {path.relative_to(root).as_posix(): path.read_text() for path in paths}


@pytest.fixture
def data(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with everything in it, and DATA_DIR that names it."""
    root = tmp_path / "old"
    fill(root, DATA | dict.fromkeys(PASSING, "x") | {"cache/replies.bin": "paid for", ".env": "KEY=secret"})
    monkeypatch.setenv("DATA_DIR", str(root))
    return root


@pytest.fixture
def archive(data: Path, command: Command, tmp_path: Path) -> Path:
    """A backup of the data folder."""
    assert command("backup", str(tmp_path / "b.zip"))[0] == 0
    return tmp_path / "b.zip"


def to_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "new"))
    return tmp_path / "new"


def test_a_backup_restores_the_data_without_locks_caches_and_keys(
    data: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "b.zip"
    code, out, _ = command("backup", str(archive), "--json")
    assert (code, json.loads(out)["files"], json.loads(out)["left_out"]) == (0, len(DATA), {})
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    new = to_empty(tmp_path, monkeypatch)
    code, out, _ = command("restore", str(archive), "--json")
    assert (code, json.loads(out)["files"], json.loads(out)["restored"]) == (0, len(DATA), True)
    assert found(new) == DATA


def test_caches_and_keys_are_there_if_asked_for(
    data: Path, command: Command, tmp_path: Path, clean_env: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clean_env / ".env").write_text("GROQ_API_KEY=k\n")
    cache: SqliteCache[bytes] = SqliteCache(data / "cache" / "replies.sqlite", "replies", COLUMNS)
    cache.write({b"1": b"in the journal, not in the file"})
    assert (data / "cache" / "replies.sqlite-wal").stat().st_size > 0
    archive = tmp_path / "b.zip"
    assert command("backup", str(archive), "--with-caches", "--with-secrets")[0] == 0
    (clean_env / ".env").unlink()
    new = to_empty(tmp_path, monkeypatch)
    code, _, err = command("restore", str(archive))
    assert (code, "--with-secrets" in err, (clean_env / ".env").exists()) == (0, True, False)
    assert command("restore", str(archive), "--with-secrets", "--replace")[0] == 0
    assert (clean_env / ".env").read_text() == "GROQ_API_KEY=k\n"
    assert stat.S_IMODE((clean_env / ".env").stat().st_mode) == 0o600
    assert (new / "cache" / "replies.bin").read_text() == "paid for"
    copy: SqliteCache[bytes] = SqliteCache(new / "cache" / "replies.sqlite", "replies", COLUMNS)
    assert list(copy.read([b"1"])) == [[(b"1", b"in the journal, not in the file")]]


def test_restore_needs_replace_to_delete_data_and_keeps_caches_and_keys(
    data: Path, archive: Path, command: Command
) -> None:
    (data / "kb" / "manual-1" / "source.txt").write_text("Otra cosa.")
    fill(data, {"kb/later/kb.json": "{}"})
    before = {name: text for name, text in found(data).items() if not name.startswith(".restore.")}
    code, _, err = command("restore", str(archive))
    assert (code, "--replace" in err, "already has data" in err) == (2, True, True)
    assert found(data) == before
    assert command("restore", str(archive), "--replace")[0] == 0
    assert found(data) == DATA | {"cache/replies.bin": "paid for", ".env": "KEY=secret"}


def test_check_changes_nothing(
    data: Path, archive: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = to_empty(tmp_path, monkeypatch)
    assert command("restore", str(archive), "--check")[0] == 0
    assert not new.exists()


def test_a_backup_on_stdout_is_private_and_is_restored_from_stdin(
    data: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "b.zip"
    with archive.open("wb") as out:
        archive.chmod(0o644)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", SimpleNamespace(buffer=out, flush=out.flush))
            assert command("backup", "-")[0] == 0
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    new, kept = to_empty(tmp_path, monkeypatch), tmp_path / "tmp"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    with archive.open("rb") as given:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=given))
        code, _, told = command("restore", "-")
    assert (code, found(new)) == (0, DATA), told
    assert list(kept.iterdir()) == []


@pytest.mark.parametrize("to_stdout", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_archive_with_another_hash_than_the_printed_one_is_refused(
    data: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to_stdout: bool
) -> None:
    """Whoever changes the archive can change the hashes in it; the printed one is kept apart."""
    archive = tmp_path / "b.zip"
    if to_stdout:
        program = [sys.executable, "-m", "chatbot_mvp.cli", "backup", "-"]
        with archive.open("wb") as out:
            said = subprocess.run(program, stdout=out, stderr=subprocess.PIPE, text=True, check=True).stderr
    else:
        said = command("backup", str(archive))[2]
    printed = said.split()[-1]
    assert printed == hashlib.sha256(archive.read_bytes()).hexdigest()
    new = to_empty(tmp_path, monkeypatch)

    def restored(sha256: str) -> tuple[int, str]:
        code, _, err = command("restore", str(archive), "--sha256", sha256)
        return code, err

    assert restored("abc")[0] == 2
    archive.write_bytes(forged(archive.read_bytes()))
    code, said = restored(printed)
    assert code == 1 and printed in said and not (new / "kb").exists()
    assert restored(hashlib.sha256(archive.read_bytes()).hexdigest().upper())[0] == 0
    assert (new / "kb" / "manual-1" / "source.txt").read_text() == "Falso"


def forged(archive: bytes) -> bytes:
    """The archive with another text in it, and with the hashes that fit."""
    with zipfile.ZipFile(io.BytesIO(archive)) as found:
        files = {name: found.read(name) for name in found.namelist()}
    name = "data/kb/manual-1/source.txt"
    files[name] = b"Falso"
    manifest = json.loads(files["manifest.json"])
    manifest["files"][name] = {"size": 5, "sha256": hashlib.sha256(b"Falso").hexdigest()}
    files["manifest.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as written:
        for name, content in files.items():
            written.writestr(name, content)
    return out.getvalue()


def test_nothing_is_restored_while_a_program_uses_the_folder(data: Path, archive: Path, command: Command) -> None:
    before = found(data)
    with (data / ".in-use").open() as user:
        fcntl.flock(user, fcntl.LOCK_SH)
        code, _, err = command("restore", str(archive), "--replace")
        assert (code, "Stop it" in err) == (1, True)
        assert found(data) == before
        assert command("backup", str(archive))[0] == 0
    assert command("restore", str(archive), "--replace")[0] == 0


def test_the_app_uses_its_folder(settings: Any) -> None:
    from chatbot_mvp.app import build_app

    settings.data_dir.mkdir()
    app = build_app(settings)
    with pytest.raises(Exception, match="uses"), settings.data_folder.alone():
        pass
    del app


def test_a_checkout_keeps_its_samples_and_its_settings_in_their_places(clean_env: Path) -> None:
    folder = load_settings(data_dir=PROJECT_ROOT / "data").data_folder
    assert folder.beside == {"app_settings.json": PROJECT_ROOT / "chatbot_mvp" / "data" / "app_settings.json"}
    tracked = {path.name for path in (PROJECT_ROOT / "data").iterdir()}
    assert {"samples", "env.example", "ragas_config.example.yaml"} <= tracked & folder.not_data


def test_links_and_odd_files_are_left_out_and_reported(data: Path, command: Command, tmp_path: Path) -> None:
    (data / "datasets").mkdir(exist_ok=True)
    (data / "datasets" / "mine").symlink_to(tmp_path)
    os.mkfifo(data / "logs.pipe")
    _, out, _ = command("backup", str(tmp_path / "b.zip"), "--json")
    left_out = json.loads(out)["left_out"]
    assert set(left_out) == {"datasets/mine", "logs.pipe"}
    assert str(tmp_path) in left_out["datasets/mine"]


def test_an_archive_in_the_data_folder_itself_is_refused(data: Path, command: Command) -> None:
    code, _, err = command("backup", str(data / "b.zip"))
    assert (code, "cannot be in DATA_DIR" in err) == (2, True)
    assert not (data / "b.zip").exists()


def test_a_backup_that_cannot_be_written_leaves_the_earlier_one(
    data: Path, archive: Path, command: Command, tmp_path: Path
) -> None:
    before = archive.read_bytes()
    (data / "kb" / "manual-1" / "new.txt").symlink_to("/nowhere")
    fill(data, {"kb/manual-1/unreadable.json": "{}"})
    whole = Path.open

    def refused(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "unreadable.json":
            raise PermissionError(13, "Permission denied")
        return whole(path, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", refused)
        code, _, err = command("backup", str(archive))
    assert (code, "unreadable.json" in err, "Permission denied" in err) == (1, True, True)
    assert archive.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".b.zip")] == []


# --- what a hostile or damaged archive cannot do


def _zip(change: Callable[[dict[str, bytes], dict[str, Any]], None], **info: Any) -> bytes:
    """An archive with one file, changed. ``info`` are attributes of that file's entry."""
    files, manifest = {"data/kb/a/kb.json": b"{}"}, {"format_version": 1, "made_at": "2026", "files": {}}
    change(files, manifest)
    for name, content in files.items():
        manifest["files"].setdefault(name, {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = info.get("external_attr", 0o600 << 16)
            archive.writestr(entry, content, compress_type=info.get("compress_type", zipfile.ZIP_STORED))
        archive.writestr("manifest.json", json.dumps(manifest))
    return out.getvalue()


def _named(name: str) -> bytes:
    return _zip(lambda files, _: files.update({name: b"evil"}))


def _shared() -> bytes:
    """Two entries of the directory that share one file's bytes, as zip bombs do."""
    whole = _zip(lambda files, _: files.update({"data/a": b"x" * 5_000, "data/b": b"x" * 5_000}))
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        first, second = archive.getinfo("data/a"), archive.getinfo("data/b")
        directory = archive.start_dir
    body = whole[: second.header_offset] + whole[second.header_offset + 30 + len("data/b") + 5_000 :]
    assert first.header_offset < second.header_offset
    out = io.BytesIO(body)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        gone = len(whole) - len(body)
        rebuilt = zipfile.ZipFile(out, "a")
        rebuilt.filelist = archive.filelist
        for info in rebuilt.filelist:
            if info.header_offset > second.header_offset:
                info.header_offset -= gone
        second_now = next(info for info in rebuilt.filelist if info.filename == "data/b")
        second_now.header_offset = first.header_offset
        rebuilt.start_dir = directory - gone
        rebuilt._didModify = True  # type: ignore[attr-defined]
        rebuilt.close()
    return out.getvalue()


HOSTILE = {
    "parent": (_named("data/../../evil"), "no name of a file"),
    "absolute": (_named("data//etc/evil"), "no name of a file"),
    "windows": (_named("data/..\\evil"), "no name of a file"),
    "drive": (_named("data/C:evil"), "no name of a file"),
    "outside": (_named("evil"), "no name of a file"),
    "control": (_named("data/a\nb"), "no name of a file"),
    "long": (_named("data/" + "a" * 300), "no name of a file"),
    "deep": (_named("data/" + "a/" * 60 + "b"), "no name of a file"),
    "exchange": (_named("data/.restoring/plan.json"), "no name of a file"),
    "keys as data": (_named("data/.env"), "no name of a file"),
    "file and folder": (_named("data/kb/a"), "a file and a folder"),
    "folder": (_zip(lambda files, _: files.update({"data/empty/": b""})), "a link or no plain file"),
    "link": (_zip(lambda files, _: None, external_attr=(stat.S_IFLNK | 0o777) << 16), "a link or no plain file"),
    "bomb": (_zip(lambda f, _: f.update({"data/0": bytes(10**6)}), compress_type=zipfile.ZIP_DEFLATED), "compressed"),
    "shared bytes": (_shared(), ""),
    "not listed": (_zip(lambda _, manifest: manifest["files"].update({"data/x": {"size": 1}})), "not in both"),
    "size": (_zip(lambda _, m: m["files"].update({"data/kb/a/kb.json": {"size": 9}})), "another size"),
    "hash": (_zip(lambda _, m: m["files"].update({"data/kb/a/kb.json": {"size": 2, "sha256": "0"}})), "is damaged"),
    "no list": (_zip(lambda _, manifest: manifest.update({"files": {}, "format_version": "x"})), "names no format"),
    "cut": (_named("data/b")[:-40], ""),
    "empty": (b"", "not a zip"),
    "text": (b"Not a zip at all", "not a zip"),
    "other zip": (
        (lambda out: zipfile.ZipFile(out, "w").close() or out.getvalue())(io.BytesIO()),
        "without the manifest",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_or_damaged_archive_changes_nothing_and_is_named(name: str, tmp_path: Path) -> None:
    content, reason = HOSTILE[name]
    archive, root = tmp_path / "b.zip", tmp_path / "deep" / "data"
    archive.write_bytes(content)
    fill(root, DATA)
    everything = sorted(tmp_path.rglob("*"))
    with pytest.raises(BackupUnusable) as refused, open_backup(archive) as backup:
        restore(backup, DataFolder(root), replace=True)
    assert reason in str(refused.value)
    assert str(archive) in str(refused.value)
    assert found(root) == DATA
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != ".in-use"] == everything


def test_any_changed_byte_is_found(archive: Path, tmp_path: Path) -> None:
    """Or it changes nothing, as in a date of the zip's directory."""
    damaged, whole = tmp_path / "damaged.zip", archive.read_bytes()
    refused, places = 0, range(0, len(whole), 23)
    for place in places:
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        read: dict[str, str] = {}
        try:
            with open_backup(damaged) as backup:
                for entry in backup.data:
                    out = io.BytesIO()
                    backup.copy(entry, out)
                    read[entry.name] = out.getvalue().decode()
        except (BackupUnusable, FileOfLaterVersion):
            refused += 1
        else:
            assert read == DATA
    assert refused > len(places) * 0.7


def test_a_later_format_is_refused_by_name(tmp_path: Path) -> None:
    archive = tmp_path / "b.zip"
    archive.write_bytes(_zip(lambda _, manifest: manifest.update({"format_version": 2})))
    with pytest.raises(FileOfLaterVersion, match=r"format 2.*up to 1.*Update the program"), open_backup(archive):
        pass


def test_a_disk_without_room_is_refused_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "b.zip"
    archive.write_bytes(_named("data/b"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=5))
    with pytest.raises(DataFolderUnusable, match="6 bytes, and 5 are free"), open_backup(archive) as backup:
        restore(backup, DataFolder(tmp_path / "new"))
    assert found(tmp_path / "new") == {}


# --- while others write


def test_files_that_are_replaced_while_they_are_opened_are_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, opens = tmp_path / "data", []
    names = ("files.json", "kb.json", "source.json")

    def write(number: int) -> None:
        for name in names:
            write_json(root / "kb" / "a" / name, {"n": number}, durable=False)

    (root / "kb" / "a").mkdir(parents=True)
    write(1)
    whole = writing._open

    @contextmanager
    def opened(path: Path, name: str) -> Iterator[writing.Opened]:
        with whole(path, name) as found:
            opens.append(name)
            if len(opens) == 2:
                write(2)  # the upload of another text, after two of three files were opened
            yield found

    monkeypatch.setattr(writing, "_open", opened)
    save_backup(tmp_path / "b.zip", DataFolder(root), "1")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert [json.loads(archive.read(f"data/kb/a/{name}"))["n"] for name in names] == [2, 2, 2]
    assert len(opens) > 3


def test_what_is_appended_or_replaced_after_its_file_was_opened_is_not_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "data"
    fill(root, {"results/r/records.jsonl": '{"row": 1}\n', "results/r/r.json": '{"n": 1}'})
    whole = writing._copy

    def copy(archive: Any, written: Any, member: str, file: Any, size: int) -> None:
        append_lines(root / "results" / "r" / "records.jsonl", [{"row": 2}])
        write_json(root / "results" / "r" / "r.json", {"n": 2})
        whole(archive, written, member, file, size)

    monkeypatch.setattr(writing, "_copy", copy)
    save_backup(tmp_path / "b.zip", DataFolder(root), "1")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.read("data/results/r/records.jsonl") == b'{"row": 1}\n'
        assert archive.read("data/results/r/r.json") == b'{"n": 1}'


def test_what_is_written_last_is_copied_first(tmp_path: Path) -> None:
    """A job that is done has its run, a run that has a result is in the list, and what refers to a KB finds it."""
    order = (
        "jobs/j.json",
        "conversations/s/c.jsonl",
        "results/r/r.json",
        "submissions.jsonl",
        "a.json",
        "kb/k/kb.json",
    )
    fill(tmp_path / "data", dict.fromkeys(order, "{}"))
    save_backup(tmp_path / "b.zip", DataFolder(tmp_path / "data"), "1")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.namelist() == [*(f"data/{name}" for name in order), "manifest.json"]


def test_files_that_are_written_one_after_the_other_are_copied_as_they_were_at_one_moment(tmp_path: Path) -> None:
    """First the text, then the record; lines that grow; a list to which a run is added before its result."""
    root, done = tmp_path / "data", threading.Event()
    (root / "kb" / "a").mkdir(parents=True)
    (root / "results").mkdir()

    def work() -> None:
        number = 0
        while not done.is_set():
            number += 1
            for name in ("a-text", "b", "kb"):
                write_json(root / "kb" / "a" / f"{name}.json", {"n": number}, durable=False)
            run = root / "results" / f"r{number % 5}"
            run.mkdir(exist_ok=True)
            (run / "result.json").unlink(missing_ok=True)
            (run / "records.jsonl").unlink(missing_ok=True)
            for row in range(5):
                append_lines(run / "records.jsonl", [{"row": row, "text": "x" * 5_000}], sync=False)
            append_lines(root / "submissions.jsonl", [{"run": run.name, "n": number}], sync=False)
            write_json(run / "result.json", {"n": number}, durable=False)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        for trial in range(10):
            archive = tmp_path / f"{trial}.zip"
            save_backup(archive, DataFolder(root), "1")
            _check_moment(archive)
    finally:
        done.set()
        writer.join()


def _check_moment(archive: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        text = {name: zipped.read(name).decode() for name in zipped.namelist()}
    numbers = [
        json.loads(text[f"data/kb/a/{n}.json"])["n"] for n in ("a-text", "b", "kb") if f"data/kb/a/{n}.json" in text
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert not numbers or numbers[0] - numbers[-1] <= 1
    listed = {json.loads(line)["n"] for line in text.get("data/submissions.jsonl", "").splitlines()}
    for name, content in text.items():
        if name.endswith(".jsonl"):
            assert all(json.loads(line) for line in content.splitlines()), "no line is torn"
        if name.endswith("result.json"):
            assert len(text[name.replace("result.json", "records.jsonl")].splitlines()) == 5
            assert json.loads(content)["n"] in listed
