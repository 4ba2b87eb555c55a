"""Documents in an Arrow table behave as the list that they were made from, in memory and in a mapped file."""

from __future__ import annotations

import gc
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chatbot_mvp.datasets import load_dataset, table
from chatbot_mvp.datasets.reading import DOC_ID, read_rows
from chatbot_mvp.datasets.table import DocumentTable
from chatbot_mvp.errors import FileNotWritten
from chatbot_mvp.types import Document
from tests.file_sizes import files_of_at_most
from tests.raising import raises

IN_MEMORY = pytest.mark.parametrize("limit", [table._IN_MEMORY, 0], ids=["in memory", "in a file"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@IN_MEMORY
@hypothesis_settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(st.text(max_size=3), texts, texts), max_size=9), batch=st.integers(1, 4))
def test_a_table_is_the_list_of_its_documents(limit: int, rows: list[tuple[str, str, str]], batch: int) -> None:
    documents = [Document(*row, "set") for row in rows]
    with mock.patch.object(table, "_IN_MEMORY", limit), mock.patch.object(table, "_BATCH", batch):
        made = DocumentTable(iter(documents))
    assert list(made) == documents
    assert [made[row] for row in range(len(made))] == documents
    assert made[1:-1] == tuple(documents[1:-1])
    assert made == documents and made != [*documents, Document("more", "", "")]
    assert made.chars == sum(len(document.text) for document in documents)
    with pytest.raises(IndexError, match=f"row {len(documents)} of {len(documents)}"):
        made[len(documents)]


@IN_MEMORY
@given(ids=st.lists(st.sampled_from(["a", "b", "ñ", "\ud800", "", "a b"]), max_size=6))
def test_an_id_leads_to_its_first_document_and_a_repeated_one_is_reported(limit: int, ids: list[str]) -> None:
    with mock.patch.object(table, "_IN_MEMORY", limit):
        made = DocumentTable(Document(doc_id, "", str(row)) for row, doc_id in enumerate(ids))
    assert {doc_id: made.rows[doc_id] for doc_id in ids} == {doc_id: ids.index(doc_id) for doc_id in ids}
    assert made.rows.get("missing") is None and 1 not in made.rows  # type: ignore[comparison-overlap]
    repeated = [doc_id for row, doc_id in enumerate(ids) if doc_id in ids[:row]]
    assert made.repeated() == (repeated[0] if repeated else None)


def test_ids_with_one_hash_are_told_apart() -> None:
    with mock.patch.object(table, "hash", lambda text: 7, create=True):
        made = DocumentTable(Document(doc_id, "", "") for doc_id in "abcb")
        assert [made.rows[doc_id] for doc_id in "abc"] == [0, 1, 2]
        assert "d" not in made.rows
        assert made.repeated() == "b"


def test_the_file_has_no_name_and_is_gone_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with mock.patch.object(table, "_IN_MEMORY", 0):
        made = DocumentTable(Document(str(n), "title", "text " * 100) for n in range(5_000))
    assert made[4_999].doc_id == "4999"
    assert list(tmp_path.iterdir()) == []
    del made
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_reading_a_mapped_table_keeps_few_of_its_pages_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without releasing pages, a single document of each batch would map the whole file."""
    if not Path("/proc/self/status").is_file():
        pytest.skip("needs /proc")
    monkeypatch.setattr(table, "_IN_MEMORY", 0)
    monkeypatch.setattr(table, "_BATCH", 8)
    assert DocumentTable([Document("first", "", "")])[0].doc_id == "first"  # loads the code of Arrow
    before = resident_pages_of_files()
    made = DocumentTable(Document(str(n), "title", "text " * 2_000) for n in range(4_000))  # 40 MB
    assert resident_pages_of_files() - before < 12_000_000, "after building"
    for row in range(0, len(made), 3):
        assert made[row].doc_id == str(row)
    assert resident_pages_of_files() - before < 12_000_000, "after single documents"


def resident_pages_of_files() -> int:
    status = Path("/proc/self/status").read_text("utf-8")
    return next(int(line.split()[1]) * 1_024 for line in status.splitlines() if line.startswith("RssFile"))


def test_reading_a_parquet_file_keeps_no_row_group_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    columns = pa.schema([("doc_id", pa.string())])
    with pq.ParquetWriter(path, columns, compression="none", use_dictionary=False) as writer:
        for group in range(20):
            writer.write_table(pa.table({"doc_id": [f"{group:05}{row:0395}" for row in range(500)]}))
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() for _ in read_rows(path, DOC_ID)) - before
    assert most < path.stat().st_size / 2


def test_a_full_folder_for_temporary_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    refused = pytest.raises(FileNotWritten, match=str(tmp_path))
    with files_of_at_most(50_000), mock.patch.object(table, "_IN_MEMORY", 10_000), refused:
        DocumentTable(Document(str(n), "title", "text " * 100) for n in range(5_000))


def test_a_data_set_of_several_row_groups_is_loaded_as_one_and_a_repeated_id_is_refused(tmp_path: Path) -> None:
    ids = [f"d{n}" for n in range(10)]
    columns = {"doc_id": ids, "title": ids, "text": ids}
    pq.write_table(pa.table(columns), tmp_path / "corpus.parquet", row_group_size=3)
    pq.write_table(pa.table({"query_id": ["q"], "text": ["?"]}), tmp_path / "queries.parquet")
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d9"], "score": [1]}), tmp_path / "qrels.parquet")
    dataset = load_dataset(tmp_path)
    assert [document.doc_id for document in dataset.documents] == ids
    assert dataset.document("d9") == dataset.documents[9] and dataset.document("d10") is None
    columns["doc_id"][9] = "d1"
    pq.write_table(pa.table(columns), tmp_path / "corpus.parquet", row_group_size=3)
    with raises("duplicate_id", match="'d1'"):
        load_dataset(tmp_path)
