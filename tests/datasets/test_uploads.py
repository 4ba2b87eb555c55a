"""Data sets that people bring: real zips and Parquet files, the hostile ones among them."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.datasets import hotpotqa
from chatbot_mvp.datasets.dataset_service import DatasetService
from chatbot_mvp.datasets.upload import try_to_load
from chatbot_mvp.errors import ChatbotError, DatasetError
from tests.datasets.hub_stub import HubStub
from tests.raising import raises
from tests.waiting import wait_for_jobs

BEIR = {
    "corpus.jsonl": '{"_id": "d1", "title": "Faro", "text": "El faro se encendió en 1901."}\n'
    '{"_id": "d2", "title": "Puente", "text": "El puente es de hierro."}\n',
    "queries.jsonl": '{"_id": "q1", "text": "¿Cuándo se encendió el faro?", "metadata": {"answer": "1901"}}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
}


def packed(files: Mapping[str, str | bytes], folder: str = "") -> io.BytesIO:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{folder}{name}", text)
    return content


def parquet(columns: Mapping[str, list[object]]) -> io.BytesIO:
    content = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), content)
    return content


def kept(app: App) -> list[str]:
    folder = app.settings.datasets_dir
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.slow
def test_a_beir_zip_in_a_folder_of_its_own_becomes_a_data_set_that_runs(app: App) -> None:
    extra = {"README.md": "# Costa\n\nLicense: CC0 1.0\n", "__MACOSX/corpus.jsonl": "x", "notes.txt": "x"}
    data = app.datasets
    assert data.upload([("costa.zip", packed({**BEIR, **extra}, "costa/"))], " costa ") == "costa"
    assert sorted(path.name for path in (app.settings.datasets_dir / "costa").iterdir()) == [
        *("README.md", "corpus.jsonl", "qrels", "queries.jsonl"),
    ]
    [listed] = [listed for listed in data.here() if listed.own]
    assert (listed.found.name, listed.license, listed.splits) == ("costa", "License: CC0 1.0", ("test",))
    details = data.details("costa")
    assert details is not None
    assert (details.documents, details.queries, details.qrels, details.answered) == (2, 1, 1, 1)
    assert (details.language, details.preview[0].answer, details.preview[0].gold) == ("es", "1901", ("Faro",))
    result = app.runs.run_now(mteb_dataset_name="costa", retrieval_strategy="LEXICAL")
    assert result.metrics["hit@1"] == 1


@pytest.mark.slow
def test_three_parquet_files_replace_the_data_set_of_that_name_only_when_they_are_sound(app: App) -> None:
    data = app.datasets
    data.upload([("costa.zip", packed(BEIR))], "costa")
    corpus = parquet({"doc_id": ["a", "b"], "title": ["", ""], "text": ["uno", "dos"]})
    queries = parquet({"query_id": ["q"], "text": ["¿Uno?"], "answer": ["uno"]})
    wrong = parquet({"query_id": ["q"], "doc_id": ["z"], "score": [1]})
    right = parquet({"query_id": ["q"], "doc_id": ["a"], "score": [1]})
    files = [("corpus.parquet", corpus), ("queries.parquet", queries)]
    with raises("unknown_qrel_document", match="'z'"):
        data.upload([*files, ("qrels.parquet", wrong)], "costa")
    assert data.load("costa").documents[0].doc_id == "d1"
    data.upload([*files, ("qrels.parquet", right)], "costa")
    assert data.load("costa").documents[0].doc_id == "a"
    assert kept(app) == ["costa"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"queries.jsonl": '{"_id": "q1", "text":"x"}\n{"_id": '}, "'queries.jsonl'.*line 2"),
        ({"corpus.jsonl": '{"_id": "d1", "text": "x"}\n\n{"_id": "d2"}\n'}, "corpus.jsonl:3'.*'text'"),
        ({"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\n"}, "test.tsv'.*line 2"),
    ],
    ids=["no JSON", "no text", "a cell is missing"],
)
def test_what_the_loader_refuses_is_told_with_file_and_line_and_nothing_is_kept(
    app: App, changes: dict[str, str], said: str
) -> None:
    with pytest.raises(DatasetError, match=said) as raised:
        app.datasets.upload([("costa.zip", packed({**BEIR, **changes}))], "costa")
    assert str(app.settings.data_dir) not in str(raised.value)
    assert kept(app) == []


def with_link() -> io.BytesIO:
    content = packed({name: text for name, text in BEIR.items() if name != "corpus.jsonl"})
    link = zipfile.ZipInfo("corpus.jsonl")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    return content


def twice() -> io.BytesIO:
    content = packed(BEIR)
    with zipfile.ZipFile(content, "a") as archive, pytest.warns(UserWarning):
        archive.writestr("corpus.jsonl", BEIR["corpus.jsonl"])
    return content


def cut() -> io.BytesIO:
    content = packed({**BEIR, "corpus.jsonl": BEIR["corpus.jsonl"] * 50}).getvalue()
    at = content.index(b"corpus.jsonl") + 40
    return io.BytesIO(content[:at] + b"\x00" * 20 + content[at + 20 :])


BOMB = packed({**BEIR, "corpus.jsonl": b" " * 30_000_000})
HOSTILE = {
    "out of its folder": packed({**BEIR, "../../evil.jsonl": "x"}),
    "absolute": packed({**BEIR, "/tmp/evil.jsonl": "x"}),
    "Windows": packed({**BEIR, "qrels\\..\\..\\evil.tsv": "x"}),
    "a link": with_link(),
    "there twice": twice,
    "a bomb": BOMB,
    "many entries": packed({**BEIR, **{f"qrels/{n}.tsv": "" for n in range(1_001)}}),
    "damaged": cut(),
    "no zip": io.BytesIO(b"PK\x03\x04 nothing"),
    "something else": packed({"photo.jpg": "x"}),
    "empty": packed({}),
    "without judgements": packed({**BEIR, "qrels/test.tsv": ""}, "a/b/"),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_and_foreign_zips_are_refused_and_leave_nothing(app: App, content: object) -> None:
    with pytest.raises(DatasetError):
        app.datasets.upload([("bad.zip", content() if callable(content) else content)], "bad")  # type: ignore[list-item]
    assert kept(app) == []
    assert not list(app.settings.data_dir.parent.rglob("evil*"))


def test_a_file_over_the_limit_is_refused_before_it_is_looked_at(app: App) -> None:
    with raises("dataset_upload_too_large", match="201 MB"):
        app.datasets.upload([("large.zip", Endless(201_000_000))], "large")


class Endless(io.BytesIO):
    """Says that it is large."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._size if whence == 2 else super().seek(offset, whence)


@pytest.mark.slow
def test_parquet_that_becomes_far_larger_than_it_is_ends_in_its_own_process(tmp_path: Path) -> None:
    """Some kilobytes: one text of a megabyte, by its number in a dictionary, in each of 4,000 rows."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 4_000, pa.int32()), pa.array(["x" * 1_000_000]))
    table = pa.table({"doc_id": list(map(str, range(4_000))), "title": [""] * 4_000, "text": text})
    pq.write_table(table, tmp_path / "corpus.parquet", compression="zstd", store_schema=False)
    (tmp_path / "queries.parquet").write_bytes(parquet({"query_id": ["q"], "text": ["x"]}).getvalue())
    (tmp_path / "qrels.parquet").write_bytes(parquet({"query_id": ["q"], "doc_id": ["1"], "score": [1]}).getvalue())
    assert (tmp_path / "corpus.parquet").stat().st_size < 100_000
    with raises("dataset_upload_too_demanding", match="1500 MB"):
        try_to_load(tmp_path, "bomb", seconds=60, memory_mb=1_500)


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a b", "ñu", "x" * 61, "-x"])
def test_a_name_that_is_no_folder_of_its_own_is_refused(app: App, name: str) -> None:
    with raises("dataset_name_unusable"):
        app.datasets.upload([("costa.zip", packed(BEIR))], name)


def test_a_bundled_data_set_is_neither_replaced_nor_deleted(app: App) -> None:
    with raises("dataset_name_taken"):
        app.datasets.upload([("costa.zip", packed(BEIR))], "valle_multihop")
    for name in ("valle_multihop", "nope", "..", ""):
        with raises("dataset_not_own"):
            app.datasets.delete(name)


def test_a_folder_elsewhere_is_listed_under_its_name_and_stays_when_it_is_taken_off(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "lejos" / "costa"
    for name, text in BEIR.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    data = app.datasets
    assert data.add_folder(f"{folder}/") == "costa"
    [listed] = [listed for listed in data.here() if listed.own]
    assert (listed.linked, listed.found.counts.documents) == (True, 2)
    with raises("dataset_name_taken"):
        data.add_folder(str(folder))
    data.delete("costa")
    assert "costa" not in data.names()
    assert (folder / "corpus.jsonl").is_file()
    for wrong, code in (("nope", "dataset_not_found"), ("lejos", "dataset_file_missing")):
        with raises(code):
            data.add_folder(str(tmp_path / wrong))


def test_what_was_uploaded_can_be_deleted(app: App) -> None:
    app.datasets.upload([("costa.zip", packed(BEIR))], "costa")
    app.datasets.delete("costa")
    assert kept(app) == []


def test_a_deletion_can_be_undone_for_a_day(app: App) -> None:
    data, aside = app.datasets, app.settings.deleted_datasets_dir
    data.upload([("costa.zip", packed(BEIR))], "costa")
    data.delete("costa", undoable=True)
    assert (data.deleted(), "costa" in data.names()) == (["costa"], False)
    data.undelete("costa")
    assert (data.deleted(), kept(app)) == ([], ["costa"])
    data.delete("costa", undoable=True)
    data.upload([("costa.zip", packed(BEIR))], "costa")
    assert data.deleted() == [], "its name is taken"
    with raises("dataset_name_taken"):
        data.undelete("costa")
    data.delete("costa")
    with raises("dataset_not_found"):
        data.undelete("costa")
    data.upload([("costa.zip", packed(BEIR))], "costa")
    data.delete("costa", undoable=True)
    os.utime(aside / "costa", (0, 0))
    assert (data.deleted(), list(aside.iterdir())) == ([], [])


def test_a_data_set_whose_replacement_was_killed_is_there_at_the_next_start(app: App) -> None:
    app.datasets.upload([("costa.zip", packed(BEIR))], "costa")
    folder = app.settings.datasets_dir / "costa"
    folder.rename(folder.with_name(".costa.0123456789ab.old"))  # as a kill between the two renames leaves it
    assert "costa" in DatasetService(app.live).names()
    assert kept(app) == ["costa"]


def finished(app: App) -> dict[str, str]:
    wait_for_jobs(app.datasets.jobs)
    return {job.job_id: job.state for job in app.datasets.jobs()}


def test_hotpotqa_is_fetched_in_the_background_and_its_failure_is_told(app: App) -> None:
    sources = {
        "id": ["q1"], "question": ["Who built the bridge?"], "answer": ["Ann"], "type": ["bridge"], "level": ["easy"],
        "supporting_facts": [{"title": ["Bridge"], "sent_id": [0]}],
        "context": [{"title": ["Bridge", "Mill"], "sentences": [["Ann built the bridge."], ["It is old."]]}],
    }  # fmt: skip
    with HubStub() as hub:
        hub.files["validation-00000-of-00001.parquet"] = parquet(sources).getvalue()
        job_id = app.datasets.start_fetch(base_url=hub.url)
        assert finished(app) == {job_id: "done"}
    [listed] = [listed for listed in app.datasets.here() if listed.own]
    assert (listed.found.name, listed.found.counts.documents, listed.license) == ("hotpotqa", 2, hotpotqa.LICENSE)
    app.datasets.start_push("hotpotqa")
    assert finished(app)["push-hotpotqa"] == "failed"
    [job] = [job for job in app.datasets.jobs() if job.job_id == "push-hotpotqa"]
    assert job.error_code == "storage_not_configured"


def test_the_s3_server_is_asked_only_when_somebody_wants_to(app: App) -> None:
    assert app.datasets.remote() is None
    listed = app.datasets.remote(ask=True)
    assert listed is not None
    assert isinstance(listed.problem, ChatbotError)
    assert app.datasets.remote() is listed
