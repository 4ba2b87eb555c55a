"""Whatever several machines do, and wherever an exchange breaks off, all end with the same files and lose nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.errors import StorageChanged, StorageFailed
from chatbot_mvp.knowledge_base.changes import Put, applied
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.knowledge_base.writing import documents_of
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from chatbot_mvp.wings.sharing.copying import CONFLICTS
from chatbot_mvp.wings.sharing.exchange import Exchange
from chatbot_mvp.wings.sharing.places import shared_files

ROOT = S3Url("bucket", "team")


class Bucket(Storage):
    """Objects in memory, with versions and conditional writes; may fail at a request, before or after its effect."""

    def __init__(self) -> None:
        super().__init__(lambda: None, "memory")
        self.objects: dict[str, bytes] = {}
        self.fails_in = -1
        """Number of requests until one fails; negative: none does."""

    def _request(self) -> None:
        self.fails_in -= 1
        if self.fails_in == 0:
            raise StorageFailed(endpoint="memory", action="reach", place="bucket", reason="broken off")

    def files(self, url: S3Url) -> list[RemoteFile]:
        self._request()
        return [RemoteFile(path, len(content), _etag(content)) for path, content in sorted(self.objects.items())]

    def read(self, url: S3Url, file: RemoteFile, begin: int) -> Iterator[bytes]:
        self._request()
        content = self.objects.get(file.path)
        if content is None or _etag(content) != file.etag:
            raise StorageChanged(endpoint="memory", action="read", place=file.path, reason="changed")
        yield content[begin:]

    def put(self, content: BinaryIO | bytes, url: S3Url, expected: str | None) -> str:
        self._request()
        path = url.prefix.removeprefix(f"{ROOT.prefix}/")
        present = self.objects.get(path)
        if (present is None) != (expected is None) or (present is not None and _etag(present) != expected):
            raise StorageChanged(endpoint="memory", action="write", place=path, reason="changed")
        self.objects[path] = content if isinstance(content, bytes) else content.read()
        self._request()
        return _etag(self.objects[path])

    def delete(self, url: S3Url, expected: str) -> None:
        self._request()
        path = url.prefix.removeprefix(f"{ROOT.prefix}/")
        if path in self.objects and _etag(self.objects[path]) != expected:
            raise StorageChanged(endpoint="memory", action="delete", place=path, reason="changed")
        self.objects.pop(path, None)


def _etag(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Machine:
    """A data folder, and what the application does in it."""

    def __init__(self, folder: Path, bucket: Bucket) -> None:
        self.folder = folder
        self.bucket = bucket
        self.exchange = Exchange(folder, bucket, ROOT)

    def act(self, kind: str, item: int, text: str) -> None:
        store = KbStore(self.folder / "kb")
        found = [record.kb_id for record in store.records() if record.kb_id.startswith(f"kb-{item}-")]
        if kind == "add" and not found:
            store.keep([_document(f"kb-{item}", "El primer texto.")], 10_000, f"kb-{item}")
        elif kind == "rename" and found:
            store.rename(found[0], f"name-{text}")
        elif kind.startswith("put") and found:
            base = store.version(found[0])
            path = f"kb-{item}" if kind == "put same" else f"other-{text}"
            new = [_document(path, f"Texto {text} de {self.folder.name}.")]
            documents = applied(found[0], base.documents, [Put(one) for one in documents_of(new)])
            version = store.draft(found[0], documents, 10_000, new)
            store.publish(found[0], version, base.version_id, "changed")
        elif kind == "delete" and found:
            store.delete(found[0])
        elif kind == "note":
            append_lines(self.folder / "run_notes.jsonl", [{"text": text}], sync=False)
        elif kind == "run":
            run = self.folder / "results" / f"run-{text}"
            run.mkdir(parents=True, exist_ok=True)
            for path in (run / "records.jsonl", run / f"run-{text}.json"):
                write_atomically(path, text, durable=False)
        elif kind == "exchange":
            self.exchange.once()
        elif kind.startswith("broken"):
            self.bucket.fails_in = item + 1
            try:
                self.exchange.once()
            except StorageFailed:
                pass
            finally:
                self.bucket.fails_in = -1

    def files(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for path in shared_files(self.folder):
            whole = (self.folder / path).read_bytes()
            lines = path.endswith("run_notes.jsonl")
            found[path] = sorted(json.dumps(row) for row in read_lines(self.folder / path)[0]) if lines else whole
        return dict(sorted(found.items()))  # the order in which a folder is listed differs by file system

    def everything(self) -> str:
        """All contents of this machine, files set aside included."""
        paths = [
            *shared_files(self.folder),
            *(p.relative_to(self.folder) for p in (self.folder / CONFLICTS).rglob("*.*")),
        ]
        return "\n".join((self.folder / path).read_text("utf-8") for path in paths if (self.folder / path).is_file())


def _document(name: str, text: str) -> NewDocument:
    return NewDocument(f"{name}.md", ParsedText(text, "utf-8", len(text), False))


_KINDS = ("add", "rename", "put same", "put other", "delete", "note", "run", "exchange", "broken exchange")
_STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(_KINDS), st.integers(0, 2)), max_size=25)


# Each example synchronises dozens of files with the disk.
@settings(max_examples=max(8, settings().max_examples // 5))
@given(_STEPS)
def test_machines_converge_and_no_note_or_run_is_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("machines")
    bucket = Bucket()
    machines = [Machine(folder / str(number), bucket) for number in range(3)]
    for machine in machines:
        machine.folder.mkdir()
    notes, runs = set(), set()
    for at, (which, kind, item) in enumerate(steps):
        machines[which].act(kind, item, str(at))
        notes |= {str(at)} if kind == "note" else set()
        runs |= {f"run-{at}"} if kind == "run" else set()
    for machine in [*machines, *machines, *machines]:
        machine.exchange.once()
    first, *others = [machine.files() for machine in machines]
    assert all(other == first for other in others)
    assert {json.loads(str(row))["text"] for row in first.get("run_notes.jsonl", [])} == notes  # type: ignore[attr-defined]
    assert {path.split("/")[1] for path in first if path.startswith("results/")} == runs
    for machine in machines:
        assert machine.exchange.once().counts == {}


def test_names_given_on_three_machines_at_once_are_all_kept(tmp_path: Path) -> None:
    machines = [Machine(tmp_path / str(number), bucket) for bucket in [Bucket()] for number in range(3)]
    for machine in machines:
        machine.folder.mkdir()
    machines[0].act("add", 0, "")
    for machine in machines:
        machine.exchange.once()
    for number, machine in enumerate(machines):
        machine.act("rename", 0, f"name-{number}")
    for machine in [*machines, *machines]:
        machine.exchange.once()
    assert len({str(machine.files()) for machine in machines}) == 1
    kept = "\n".join(machine.everything() for machine in machines)
    assert all(f"name-name-{number}" in kept for number in range(3))


def test_documents_put_on_three_machines_at_once_are_all_there(tmp_path: Path) -> None:
    machines = [Machine(tmp_path / str(number), bucket) for bucket in [Bucket()] for number in range(3)]
    for machine in machines:
        machine.folder.mkdir()
    machines[0].act("add", 0, "")
    for machine in machines:
        machine.exchange.once()
    for number, machine in enumerate(machines):
        machine.act("put other", 0, str(number))
    for machine in [*machines, *machines, *machines]:
        machine.exchange.once()
    stores = [KbStore(machine.folder / "kb") for machine in machines]
    [kb_id] = {record.kb_id for store in stores for record in store.records()}
    assert len({store.record(kb_id) for store in stores}) == 1
    assert stores[0].record(kb_id).files == ("kb-0.md", "other-0.md", "other-1.md", "other-2.md")


def test_of_one_document_put_on_two_machines_at_once_one_text_waits_as_the_draft(tmp_path: Path) -> None:
    machines = [Machine(tmp_path / str(number), bucket) for bucket in [Bucket()] for number in range(2)]
    for machine in machines:
        machine.folder.mkdir()
    machines[0].act("add", 0, "")
    for machine in [*machines, *machines]:
        machine.exchange.once()
    for machine in machines:
        machine.act("put same", 0, "1")
    for machine in [*machines, *machines, *machines]:
        machine.exchange.once()
    for machine in machines:
        store = KbStore(machine.folder / "kb")
        [record] = store.records()
        staged = store.staged(record.kb_id)
        assert staged is not None
        texts = [store.document(record.kb_id, name).text for name in ("", staged.version_id)]
        assert texts == ["Texto 1 de 0.", "Texto 1 de 1."]
