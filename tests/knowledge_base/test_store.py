"""Knowledge bases on disk."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from chatbot_mvp.errors import KbNotFound, KbUnreadable, UploadError
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import KbDocument, document_of

TEXT = "# Manual\n\nLínea uno.\n\tTabulada – con “comillas”.\n\n\nFin 🙂"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kb"


@pytest.fixture
def store(root: Path) -> KbStore:
    return KbStore(root)


def add(store: KbStore, name: str = "Manual de Taller.md", text: str = TEXT) -> KbRecord:
    return store.add(name, text.encode(), max_chars=10_000, max_mb=1)


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_kb_is_there_for_a_new_store_over_the_same_folder(store: KbStore, root: Path) -> None:
    record = add(store)
    later = KbStore(root)
    assert later.records() == [record]
    assert later.record(record.kb_id) == record
    assert later.document(record.kb_id).text == TEXT


def test_the_document_is_named_after_its_file(store: KbStore) -> None:
    document = store.document(add(store).kb_id)
    assert (document.title, document.source) == ("Manual de Taller", "Manual de Taller.md")


def test_what_is_known_of_a_kb_is_what_was_parsed(store: KbStore) -> None:
    text = "El primer párrafo de la guía.\n\n" + "palabra " * 300
    record = store.add("guía.txt", text.encode("latin-1"), max_chars=1_000, max_mb=1)
    assert record.language == "es"
    assert record.encoding == "latin-1"
    assert record.kb_truncated
    assert record.original_chars == len(text)
    assert record.chars == len(store.document(record.kb_id).text) <= 1_000


def test_the_same_text_under_the_same_name_is_the_same_kb(store: KbStore) -> None:
    assert add(store).kb_id == add(store).kb_id
    assert len(store.records()) == 1


@pytest.mark.parametrize(("name", "text"), [("Otro.md", TEXT), ("Manual de Taller.md", TEXT + "!")])
def test_another_name_or_another_text_is_another_kb(store: KbStore, name: str, text: str) -> None:
    assert add(store).kb_id != add(store, name, text).kb_id
    assert len(store.records()) == 2


@pytest.mark.parametrize("newlines", ["a\r\nb\rc\nd", "\n\n a\n\n", "a\n"])
def test_offsets_into_the_stored_text_count_what_was_parsed(store: KbStore, root: Path, newlines: str) -> None:
    record = add(store, "lineas.txt", newlines)
    expected = newlines.replace("\r\n", "\n").replace("\r", "\n")
    assert store.document(record.kb_id).text == expected
    assert KbStore(root).document(record.kb_id).text == expected


def test_the_newest_kb_comes_first(store: KbStore, root: Path) -> None:
    first, second = add(store, "uno.md"), add(store, "dos.md")
    for record, added in ((first, "2030-01-02"), (second, "2030-01-01")):
        path = root / record.kb_id / "kb.json"
        path.write_text(path.read_text("utf-8").replace(record.added_at, added), "utf-8")
    assert [record.kb_id for record in store.records()] == [first.kb_id, second.kb_id]


@pytest.mark.parametrize("content", [b"", b"  \n", b"\x00\x01", b"\x89PNG\r\n\x1a\n\x00", b"a" * 1_000_001])
def test_a_failed_upload_leaves_everything_as_it_was(store: KbStore, root: Path, content: bytes) -> None:
    add(store)
    before = snapshot(root)
    with pytest.raises(UploadError):
        store.add("malo.txt", content, max_chars=10_000, max_mb=1)
    assert snapshot(root) == before


@pytest.mark.parametrize("damage", ["{", "[]", "null", '{"kb_id": "x"}', ""])
def test_a_damaged_kb_is_not_listed_says_so_and_spoils_no_other(store: KbStore, root: Path, damage: str) -> None:
    damaged, sound = add(store, "uno.md"), add(store, "dos.md")
    for name in ("kb.json", "kb.json.copy"):
        (root / damaged.kb_id / name).write_text(damage, "utf-8")
    assert store.records() == [sound]
    with pytest.raises(KbUnreadable, match=damaged.kb_id):
        store.record(damaged.kb_id)


def test_a_lost_source_is_reported_with_the_kb_it_belongs_to(store: KbStore, root: Path) -> None:
    record = add(store)
    next((root / record.kb_id / "texts").iterdir()).unlink()
    with pytest.raises(KbUnreadable, match=record.kb_id):
        KbStore(root).document(record.kb_id)


def test_a_half_written_kb_is_none(store: KbStore, root: Path) -> None:
    (root / "a-12345678").mkdir(parents=True)
    (root / "a-12345678" / "texts").mkdir()
    assert store.records() == []
    with pytest.raises(KbNotFound):
        store.document("a-12345678")


def test_an_unknown_kb_error_lists_the_known_ones(store: KbStore) -> None:
    record = add(store)
    with pytest.raises(KbNotFound) as raised:
        store.record("otra-00000000")
    assert "'otra-00000000'" in str(raised.value)
    assert record.kb_id in str(raised.value)


@pytest.mark.parametrize("form", ["../fuera", "..", ".", "", "{root}/../fuera", "a/../../fuera", "fuera\x00", "FUERA"])
def test_an_id_that_leaves_the_folder_is_refused_and_nothing_is_deleted(
    store: KbStore, root: Path, tmp_path: Path, form: str
) -> None:
    record = add(store)
    outside = tmp_path / "fuera"
    outside.mkdir()
    inside = root / record.kb_id
    shutil.copytree(inside, outside, dirs_exist_ok=True)
    for action in (store.record, store.document, store.delete):
        with pytest.raises((KbNotFound, ValueError)):
            action(form.format(root=root))
    assert (outside / "kb.json").is_file()
    assert store.records() == [record]


@pytest.mark.parametrize("name", ["../../malo.txt", "/etc/malo.txt", "¿?.txt", "ñandú.md", "x" * 200 + ".md"])
def test_any_file_name_gives_a_folder_inside_the_store(store: KbStore, root: Path, name: str) -> None:
    record = add(store, name)
    assert (root / record.kb_id / "kb.json").is_file()
    assert store.document(record.kb_id).text == TEXT


def test_a_deleted_kb_is_gone_and_the_others_stay(store: KbStore, root: Path) -> None:
    gone, kept = add(store, "uno.md"), add(store, "dos.md")
    store.delete(gone.kb_id)
    assert store.records() == [kept]
    assert not (root / gone.kb_id).exists()
    with pytest.raises(KbNotFound):
        store.delete(gone.kb_id)


def test_a_document_that_was_kept_before_losses_and_readers_were_told_is_read() -> None:
    now = KbDocument("a.md", "a" * 64, "", 0, "utf-8", 3, False, (), 0, "2026-11-28T10:00:00+00:00")
    row = {name: value for name, value in asdict(now).items() if name not in ("lost", "reader")}
    assert document_of(row) == now
