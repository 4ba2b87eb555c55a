"""An upload never replaces a knowledge base: ids are compared with the whole content."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore

TEXT = "# Vacaciones\n\nCada persona tiene 23 días laborables de vacaciones al año."
FORGED = "# Vacaciones\n\nCada persona tiene 2 días laborables de vacaciones al año."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kb"


@pytest.fixture
def store(root: Path) -> KbStore:
    return KbStore(root)


def add(store: KbStore, text: str = TEXT, name: str = "manual.md") -> KbRecord:
    return store.add(name, text.encode(), max_chars=10_000, max_mb=1)


def files_of(root: Path, kb_id: str) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in (root / kb_id).rglob("*") if path.is_file()}


def moved(root: Path, record: KbRecord, kb_id: str) -> KbRecord:
    """Give a stored KB another id, as if the digits of its hash were those of other content."""
    (root / record.kb_id).rename(root / kb_id)
    path = root / kb_id / "kb.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "kb_id": kb_id}), "utf-8")
    return replace(record, kb_id=kb_id)


def test_content_whose_id_is_taken_by_other_content_gets_an_id_of_its_own(store: KbStore, root: Path) -> None:
    wanted = add(store, FORGED).kb_id
    store.delete(wanted)
    victim = moved(root, add(store), wanted)
    before = files_of(root, wanted)
    forged = add(store, FORGED)
    assert files_of(root, wanted) == before
    assert store.document(victim.kb_id).text == TEXT
    assert forged.kb_id != victim.kb_id
    assert store.document(forged.kb_id).text == FORGED
    assert add(store, FORGED).kb_id == forged.kb_id


def test_the_same_document_again_changes_neither_name_nor_files(store: KbStore, root: Path) -> None:
    first = store.rename(add(store).kb_id, "Normas de vacaciones")
    before = files_of(root, first.kb_id)
    parsed = ParsedText(TEXT, "utf-8", len(TEXT), False)
    again = store.keep([("manual.md", parsed)], 10_000, "Otro nombre")
    assert replace(again, added_at=first.added_at) == first
    heads = {f"{first.kb_id}/{name}": b"" for name in ("kb.json", "kb.json.copy")}
    assert {**files_of(root, first.kb_id), **heads} == {**before, **heads}
    assert store.record(first.kb_id).kb_name == "Normas de vacaciones"


def test_equal_text_from_other_files_or_pages_is_another_kb(store: KbStore) -> None:
    """Otherwise a stranger's upload decides which file and page a citation names."""
    one, two = (ParsedText(text, "utf-8", len(text), False) for text in ("Uno.", "Dos."))
    both = store.keep([("a.md", one), ("b.md", two)], 1_000)
    joined = store.document(both.kb_id).text
    single = store.keep([("a.md", ParsedText(joined, "utf-8", len(joined), False))], 1_000)
    paged = store.keep([("a.md", ParsedText(joined, "utf-8", len(joined), False, (0, 9)))], 1_000)
    assert len({both.kb_id, single.kb_id, paged.kb_id}) == 3
    assert [file.name for file in store.files(both.kb_id)] == ["a.md", "b.md"]


@pytest.mark.parametrize("damaged", ["texts/*", "kb.json", "versions/*"])
def test_the_same_document_again_repairs_a_damaged_kb(store: KbStore, root: Path, damaged: str) -> None:
    record = add(store)
    [path] = (root / record.kb_id).glob(damaged)
    path.write_text("{", "utf-8")
    store = KbStore(root)  # a process that has not read the sound files
    assert add(store).kb_id == record.kb_id
    assert store.document(record.kb_id).text == TEXT
    assert [file.name for file in store.files(record.kb_id)] == ["manual.md"]


def test_an_upload_that_fails_keeps_a_kb_that_somebody_else_uploaded_meanwhile(store: KbStore, root: Path) -> None:
    parsed = ParsedText(TEXT, "utf-8", len(TEXT), False)
    with pytest.raises(OSError, match="index"), store.keeping([("manual.md", parsed)], 10_000) as record:
        other = add(KbStore(root))
        raise OSError("index")
    assert other.kb_id == record.kb_id
    assert store.document(record.kb_id).text == TEXT


def test_many_uploads_at_once_lose_nothing(store: KbStore, root: Path) -> None:
    begin = threading.Barrier(8)

    def upload(row: int) -> KbRecord:
        begin.wait(timeout=10)
        return add(KbStore(root), TEXT if row % 2 else FORGED)

    with ThreadPoolExecutor(8) as pool:
        records = list(pool.map(upload, range(8)))
    assert len({record.kb_id for record in records}) == 2
    assert {store.document(record.kb_id).text for record in records} == {TEXT, FORGED}
    assert [store.document(record.kb_id).text for record in records] == [FORGED, TEXT] * 4


def test_a_crash_between_two_files_of_a_new_kb_leaves_none_and_the_next_upload_completes_it(
    store: KbStore, root: Path
) -> None:
    record = add(store)
    (root / record.kb_id / "kb.json").unlink()
    shutil.rmtree(root / record.kb_id / "versions")
    assert store.records() == []
    assert add(store).kb_id == record.kb_id
    assert store.document(record.kb_id).text == TEXT


def test_the_id_in_a_record_never_leads_out_of_its_folder(store: KbStore, root: Path, tmp_path: Path) -> None:
    record = add(store)
    path = root / record.kb_id / "kb.json"
    path.write_text(path.read_text("utf-8").replace(f'"{record.kb_id}"', '"../fuera"'), "utf-8")
    (tmp_path / "fuera").mkdir()
    store.rename(record.kb_id, "Otro")
    assert list((tmp_path / "fuera").iterdir()) == []
    assert store.record(record.kb_id).kb_name == "Otro"
