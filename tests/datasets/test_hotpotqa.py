"""From the hub's files to schema v2.0, over real HTTP; a connection that breaks costs only what was lost."""

from __future__ import annotations

import copy
import io
from collections import deque
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chatbot_mvp.datasets import Dataset, fetching, hotpotqa, load_dataset
from chatbot_mvp.datasets.fetching import DATASET_SOURCES
from chatbot_mvp.remote import download
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Progress
from tests.datasets.hub_stub import HubStub
from tests.raising import raises

FILE = "validation-00000-of-00001.parquet"

Rows = list[dict[str, Any]]


def row(number: int, answer: str, gold: list[str], context: dict[str, list[str]], **changes: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"¿Pregunta {number}?",
        "answer": answer,
        "type": "comparison" if answer in ("yes", "no") else "bridge",
        "level": "hard",
        "supporting_facts": {"title": gold, "sent_id": list(range(len(gold)))},
        "context": {"title": list(context), "sentences": list(context.values())},
        **changes,
    }


ROWS: Rows = [
    row(
        1,
        "Ana Ruiz",
        ["Molino de Arriba", "Río Seco", "Río Seco"],
        {
            "Molino de Arriba": ["El molino es de 1712.", " Lo mandó hacer Ana Ruiz."],
            "Río Seco": ["El río Seco nace en la sierra. ", "Pasa por el molino."],
            "Otro": ["Nada", "que ver."],
        },
    ),
    row(2, "yes", ["Río Seco", "Puente"], {"Río Seco": ["El río Seco, otra vez."], "Puente": ["Es de piedra."]}),
    row(3, "No ", ["Puente", "Nadie"], {"Puente": ["Es de piedra."], "Vacío": [""]}),
]


def hub_bytes(rows: Rows | pa.Table = ROWS, **options: Any) -> bytes:
    target = io.BytesIO()
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows), target, **options)
    return target.getvalue()


@pytest.fixture
def hub(hub: HubStub) -> HubStub:
    """The hub, with the file of the split "validation"."""
    hub.files[f"distractor/{FILE}"] = hub_bytes()
    return hub


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)


def fetched_from(address: str, folder: Path, split: str = "validation", **options: Any) -> fetching.Fetched:
    return fetching.fetch(DATASET_SOURCES["hotpotqa"], load_settings(data_dir=folder), split, address, **options)


def fetch(hub: HubStub, folder: Path, **options: Any) -> fetching.Fetched:
    return fetched_from(f"{hub.url}/distractor", folder, **options)


def text_of(dataset: Dataset, title: str) -> str:
    return next(document.text for document in dataset.documents if document.title == title)


def test_the_hubs_file_becomes_a_checked_data_set(hub: HubStub, tmp_path: Path) -> None:
    hub.files[f"distractor/{FILE}"] = hub_bytes(row_group_size=2)
    fetched = fetch(hub, tmp_path)
    dataset = load_dataset(tmp_path / "datasets" / "hotpotqa")
    assert (fetched.name, *astuple(fetched.counts)) == ("hotpotqa", 3, 5, 5)
    assert [document.title for document in dataset.documents] == [
        *("Molino de Arriba", "Río Seco", "Otro", "Puente", "Vacío")
    ]
    assert text_of(dataset, "Molino de Arriba") == "El molino es de 1712. Lo mandó hacer Ana Ruiz."
    assert text_of(dataset, "Río Seco") == "El río Seco nace en la sierra. Pasa por el molino."
    assert text_of(dataset, "Otro") == "Nada que ver."
    gold = {title: hotpotqa.doc_id_of(title) for title in ("Molino de Arriba", "Río Seco", "Puente")}
    assert dataset.qrels["q1"] == {gold["Molino de Arriba"]: 1, gold["Río Seco"]: 1}
    assert dataset.qrels["q3"] == {gold["Puente"]: 1}
    assert [path.name for path in (tmp_path / "datasets").iterdir()] == ["hotpotqa"]
    assert [path for path in (tmp_path / "cache" / "downloads").rglob("*") if path.is_file()] == []


def test_answers_of_yes_or_no_are_labels_and_all_columns_are_kept(hub: HubStub, tmp_path: Path) -> None:
    fetched = fetch(hub, tmp_path)
    queries = load_dataset(fetched.folder).queries
    assert [(q.answer, q.answer_type) for q in queries] == [
        ("Ana Ruiz", "extractive"),
        ("yes", "label"),
        ("No", "label"),
    ]
    assert (queries[0].question_type, queries[1].question_type, queries[0].level) == ("bridge", "comparison", "hard")
    assert fetched.notes.values["label_queries"] == 2


def test_what_was_left_out_is_counted(hub: HubStub, tmp_path: Path) -> None:
    fetched = fetch(hub, tmp_path)
    names = ("repeated_titles", "of_other_text", "qrels_without_document")
    assert [fetched.notes.values[name] for name in names] == [2, 1, 1]


def test_document_ids_are_those_of_the_known_corpus(shared_datasets: Path) -> None:
    documents = load_dataset(shared_datasets / "hotpotqa").documents
    assert all(document.doc_id == hotpotqa.doc_id_of(document.title) for document in documents)


@pytest.mark.parametrize(
    ("faults", "ranges"),
    [
        ({"cuts": deque([1_000, 500])}, ["", "bytes=1000-", "bytes=1500-"]),
        ({"cuts": deque([1_000]), "ignores_ranges": True}, ["", "bytes=1000-"]),
        ({"statuses": deque([503, 429])}, [""]),
    ],
    ids=["cut connections", "a server without ranges", "a busy server"],
)
def test_a_passing_fault_is_resumed_where_it_broke(
    hub: HubStub, tmp_path: Path, faults: dict[str, Any], ranges: list[str]
) -> None:
    assert len(hub.files[f"distractor/{FILE}"]) > 1_500
    vars(hub).update(copy.deepcopy(faults))
    assert fetch(hub, tmp_path).counts.queries == 3
    assert hub.ranges == ranges


def test_a_stopped_download_goes_on_at_the_next_fetch(hub: HubStub, tmp_path: Path) -> None:
    hub.cuts.extend([700, 0, 0, 0])
    with raises("download_failed", match="700 bytes are here"):
        fetch(hub, tmp_path)
    assert not any((tmp_path / "datasets").iterdir())
    hub.ranges.clear()
    assert fetch(hub, tmp_path).counts.queries == 3
    assert hub.ranges == ["bytes=700-"]


def test_another_version_behind_the_address_is_fetched_from_its_start(hub: HubStub, tmp_path: Path) -> None:
    hub.files[f"distractor/{FILE}"] = hub_bytes(ROWS[:1])
    hub.cuts.extend([700, 0, 0, 0])
    with raises("download_failed"):
        fetch(hub, tmp_path)
    hub.files[f"distractor/{FILE}"] = hub_bytes()
    assert fetch(hub, tmp_path).counts.queries == 3


@pytest.mark.parametrize(("status", "said"), [(404, "no such file"), (401, "401"), (403, "403")])
def test_a_refusal_is_told_at_once_with_the_address(hub: HubStub, tmp_path: Path, status: int, said: str) -> None:
    hub.statuses.extend([status] * 4)
    with raises("download_failed", match=said) as raised:
        fetch(hub, tmp_path)
    assert f"{hub.url}/distractor/{FILE}" in str(raised.value)
    assert len(hub.statuses) == 3


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1", "ftp://127.0.0.1", "nowhere"])
def test_an_address_that_does_not_answer_is_told(tmp_path: Path, base_url: str) -> None:
    with raises("download_failed", match=base_url):
        fetched_from(base_url, tmp_path)


def test_bytes_that_are_not_the_file_are_thrown_away(hub: HubStub, tmp_path: Path) -> None:
    hub.checksum = "0" * 64
    with raises("download_failed", match="checksum"):
        fetch(hub, tmp_path)
    assert list((tmp_path / "cache" / "downloads").rglob("*.part")) == []


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"PAR1 but no more PAR1", "dataset_file_unreadable", FILE),
        (hub_bytes([{key: value for key, value in ROWS[0].items() if key != "context"}]), "missing_column", "context"),
        (hub_bytes([{**ROWS[0], "context": "text"}]), "dataset_file_unreadable", "row 1"),
        (hub_bytes([ROWS[0], {**ROWS[1], "answer": None}]), "dataset_file_unreadable", "row 2"),
        (hub_bytes(ROWS[:1] * 2), "duplicate_id", "q1"),
        (hub_bytes(pa.Table.from_pylist(ROWS).slice(0, 0)), "empty_dataset", None),
    ],
    ids=["no Parquet", "no context", "context is text", "no answer", "an id twice", "no rows"],
)
def test_a_file_of_another_form_is_named_and_the_data_set_stays_as_it_was(
    hub: HubStub, tmp_path: Path, content: bytes, code: str, said: str | None
) -> None:
    before = load_dataset(fetch(hub, tmp_path).folder).sha256
    hub.files[f"distractor/{FILE}"] = content
    with raises(code, match=said):
        fetch(hub, tmp_path)
    assert load_dataset(tmp_path / "datasets" / "hotpotqa").sha256 == before
    assert [path.name for path in (tmp_path / "datasets").iterdir()] == ["hotpotqa"]


def test_a_split_of_several_files_is_one_data_set(hub: HubStub, tmp_path: Path) -> None:
    for number, rows in enumerate((ROWS[:1], ROWS[1:])):
        hub.files[f"train-0000{number}-of-00002.parquet"] = hub_bytes(rows)
    fetched = fetched_from(hub.url, tmp_path, "train")
    assert (fetched.name, fetched.counts.queries, fetched.counts.documents) == ("hotpotqa_train", 3, 5)


def test_progress_is_told_in_bytes(hub: HubStub, tmp_path: Path) -> None:
    content = hub.files[f"distractor/{FILE}"]
    seen: list[Progress] = []
    fetch(hub, tmp_path, progress=seen.append)
    last = [progress for progress in seen if progress.phase == "download"][-1]
    assert (last.done, last.total) == (len(content), len(content))


def test_the_totals_of_the_public_files_are_those_of_rag_p_and_told_beside_ones_own(
    hub: HubStub, tmp_path: Path
) -> None:
    assert hotpotqa.EXPECTED["validation"] == (7_405, 66_576, 14_810)
    notes = fetch(hub, tmp_path).notes
    assert notes.values["expected"] == [7_405, 66_576, 14_810]
    assert any("7,405 queries, 66,576 documents, 14,810 qrels - these files differ" in line for line in notes.lines)
