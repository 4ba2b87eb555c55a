"""Two layouts, one loader; whatever is wrong with a data set is named."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.datasets.catalogue import Catalogue, StorageState
from chatbot_mvp.datasets.counts import Counts
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.text import fold
from tests.raising import raises

Rows = list[dict[str, Any]]

CORPUS: Rows = [
    {"doc_id": "d1", "title": "Río", "text": "El río nace en la sierra."},
    {"doc_id": "d2", "title": "", "text": "El puente es de piedra."},
    {"doc_id": "d3", "title": "Molino", "text": ""},
]
QUERIES: Rows = [
    {"query_id": "q1", "text": "¿Dónde nace?", "answer": "sierra", "answer_type": "extractive"}
    | {"question_type": "bridge", "level": "easy"},
    {"query_id": "q2", "text": "¿Es de piedra?", "answer": "sí", "answer_type": "label"}
    | {"question_type": "comparison", "level": "hard"},
]
QRELS: Rows = [
    {"query_id": "q1", "doc_id": "d1", "score": 1},
    {"query_id": "q1", "doc_id": "d3", "score": 2},
    {"query_id": "q2", "doc_id": "d2", "score": 1},
]


def write_parquet(folder: Path, corpus: Rows = CORPUS, queries: Rows = QUERIES, qrels: Rows = QRELS) -> Path:
    folder.mkdir()
    for name, rows in (("corpus", corpus), ("queries", queries), ("qrels", qrels)):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


def write_beir(folder: Path, corpus: Rows = CORPUS, queries: Rows = QUERIES, qrels: Rows = QRELS) -> Path:
    (folder / "qrels").mkdir(parents=True)
    lines = [{"_id": row["doc_id"], "title": row["title"], "text": row["text"]} for row in corpus]
    write_lines(folder / "corpus.jsonl", lines)
    extra = ("answer", "answer_type", "question_type", "level")
    lines = [
        {"_id": row["query_id"], "text": row["text"], "metadata": {key: row[key] for key in extra if key in row}}
        for row in queries
    ]
    write_lines(folder / "queries.jsonl", lines)
    table = [f"{row['query_id']}\t{row['doc_id']}\t{row['score']}\n" for row in qrels]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(table), "utf-8")
    return folder


def write_lines(path: Path, rows: Rows) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


WRITERS = [write_parquet, write_beir]


def content(dataset: Dataset) -> tuple[object, ...]:
    documents = [(document.doc_id, document.title, document.text) for document in dataset.documents]
    return documents, dataset.queries, {query: dict(judged) for query, judged in dataset.qrels.items()}


def test_parquet_and_beir_load_to_equal_content(tmp_path: Path) -> None:
    one, other = load_dataset(write_parquet(tmp_path / "a")), load_dataset(write_beir(tmp_path / "b"))
    assert content(one) == content(other)
    assert one.qrels == {"q1": {"d1": 1, "d3": 2}, "q2": {"d2": 1}}
    assert (one.queries[0].answer, one.queries[0].question_type, one.queries[0].level) == ("sierra", "bridge", "easy")
    assert (one.name, one.documents[0].source) == ("a", "a")


@pytest.mark.parametrize("write", WRITERS)
def test_only_id_and_text_of_a_query_are_needed(tmp_path: Path, write: Any) -> None:
    dataset = load_dataset(
        write(tmp_path / "x", queries=[{"query_id": row["query_id"], "text": "?"} for row in QUERIES])
    )
    assert [(query.text, query.answer, query.level) for query in dataset.queries] == [("?", "", "")] * 2


def test_numbers_as_ids_are_read_as_their_text(tmp_path: Path) -> None:
    dataset = load_dataset(
        write_parquet(
            tmp_path / "x",
            [{"doc_id": 10, "title": "t", "text": "x"}],
            [{"query_id": 7, "text": "?"}],
            [{"query_id": 7, "doc_id": 10, "score": 1}],
        )
    )
    assert dataset.qrels == {"7": {"10": 1}}


def test_of_several_beir_splits_the_test_split_is_read(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "x")
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\n", "utf-8")
    assert load_dataset(folder).qrels["q1"] == {"d1": 1, "d3": 2}


def test_a_blank_line_in_jsonl_is_no_row(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "x")
    path = folder / "corpus.jsonl"
    path.write_text(path.read_text("utf-8").replace("\n", "\n\n"), "utf-8")
    assert len(load_dataset(folder).documents) == 3


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("change", ["corpus", "queries", "qrels"])
def test_the_hash_changes_with_any_file_and_only_then(tmp_path: Path, write: Any, change: str) -> None:
    changed = {
        "corpus": [{**CORPUS[0], "text": "otro"}, *CORPUS[1:]],
        "queries": [{**QUERIES[0], "text": "otra"}, *QUERIES[1:]],
        "qrels": QRELS[1:],
    }
    before = load_dataset(write(tmp_path / "a")).sha256
    assert load_dataset(write(tmp_path / "b")).sha256 == before
    assert load_dataset(write(tmp_path / "c", **{change: changed[change]})).sha256 != before


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"corpus": [*CORPUS, CORPUS[1]]}, "duplicate_id", ["corpus", "'d2'"]),
        ({"queries": [*QUERIES, QUERIES[0]]}, "duplicate_id", ["queries", "'q1'"]),
        (
            {"qrels": [*QRELS, {"query_id": "q1", "doc_id": "d9", "score": 1}]},
            "unknown_qrel_document",
            ["'q1'", "'d9'", "1 rows with"],
        ),
        (
            {"qrels": [{"query_id": "q2", "doc_id": f"x{n}", "score": 1} for n in range(3)]},
            "unknown_qrel_document",
            ["'q2'", "'x0'", "3 rows with"],
        ),
        ({"qrels": [{"query_id": "q9", "doc_id": "d1", "score": 1}]}, "unknown_qrel_query", ["'q9'", "1 rows with"]),
    ],
    ids=["document twice", "query twice", "unknown document", "unknown documents", "unknown query"],
)
@pytest.mark.parametrize("write", WRITERS)
def test_ids_that_do_not_fit_together_are_named(
    tmp_path: Path, write: Any, change: dict[str, Rows], code: str, said: list[str]
) -> None:
    refused(write(tmp_path / "x", **change), code, said)


def refused(folder: Path, code: str, said: list[str]) -> None:
    with raises(code) as raised:
        load_dataset(folder)
    assert [text for text in said if text not in str(raised.value)] == []


@pytest.mark.parametrize(
    ("file", "column", "found"),
    [
        ("corpus", "doc_id", "title, text"),
        ("corpus", "text", "doc_id, title"),
        ("corpus", "title", "doc_id, text"),
        ("queries", "query_id", "text, answer, answer_type, question_type, level"),
        ("queries", "text", "query_id, answer, answer_type, question_type, level"),
        ("qrels", "score", "query_id, doc_id"),
        ("qrels", "doc_id", "query_id, score"),
    ],
)
def test_a_missing_column_of_a_parquet_file_is_named_with_those_found(
    tmp_path: Path, file: str, column: str, found: str
) -> None:
    rows = {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS}
    less = [{key: value for key, value in row.items() if key != column} for row in rows[file]]
    refused(
        write_parquet(tmp_path / "x", **{file: less}),
        "missing_column",
        [f"{file}.parquet", f"no column {column!r}", f"found: {found}"],
    )


@pytest.mark.parametrize(
    ("file", "text", "code", "said"),
    [
        ("corpus.jsonl", '{"doc": "d1", "text": "x"}\n', "missing_column", ["'_id'", "found: doc, text"]),
        ("queries.jsonl", '{"_id": "q1", "question": "x"}\n', "missing_column", ["'text'", "found: _id, question"]),
        (
            "qrels/test.tsv",
            "query\tdoc\tscore\nq1\td1\t1\n",
            "missing_column",
            ["'query-id'", "found: query, doc, score"],
        ),
        ("qrels/test.tsv", "", "missing_column", ["'query-id'", "found: -"]),
        ("corpus.jsonl", "", "empty_dataset", ["corpus.jsonl"]),
        ("queries.jsonl", "\n", "empty_dataset", ["queries.jsonl"]),
        (
            "corpus.jsonl",
            '{"_id": "d1", "text": "x"}\n{"_id": \n',
            "dataset_file_unreadable",
            ["corpus.jsonl", "line 2"],
        ),
        ("queries.jsonl", '["q1"]\n', "dataset_file_unreadable", ["queries.jsonl", "line 1", "object"]),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tmuy\n", "dataset_file_unreadable", ["line 2", "muy"]),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\n", "dataset_file_unreadable", ["line 3"]),
    ],
)
def test_a_damaged_beir_file_is_named_with_its_line_or_columns(
    tmp_path: Path, file: str, text: str, code: str, said: list[str]
) -> None:
    folder = write_beir(tmp_path / "x")
    (folder / file).write_text(text, "utf-8")
    refused(folder, code, [Path(file).name, *said])


@pytest.mark.parametrize("file", ["corpus", "queries"])
def test_a_parquet_file_without_rows_is_named(tmp_path: Path, file: str) -> None:
    folder = write_parquet(tmp_path / "x")
    path = folder / f"{file}.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    refused(folder, "empty_dataset", [path.name])


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"not parquet at all, but long enough to have a footer PAR1"])
@pytest.mark.parametrize("file", ["corpus.parquet", "queries.parquet", "qrels.parquet"])
def test_a_damaged_parquet_file_is_named(tmp_path: Path, file: str, damage: bytes) -> None:
    folder = write_parquet(tmp_path / "x")
    (folder / file).write_bytes(damage)
    refused(folder, "dataset_file_unreadable", [file])


def test_a_truncated_parquet_file_is_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x") / "corpus.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    refused(path.parent, "dataset_file_unreadable", ["corpus.parquet"])


def test_a_row_without_an_id_is_refused(tmp_path: Path) -> None:
    folder = write_parquet(tmp_path / "x", corpus=[*CORPUS, {"doc_id": None, "title": "t", "text": "x"}])
    refused(folder, "dataset_file_unreadable", ["corpus.parquet", "doc_id"])


@pytest.mark.parametrize(
    ("write", "file"),
    [(write_parquet, f"{name}.parquet") for name in ("corpus", "queries", "qrels")]
    + [(write_beir, "queries.jsonl"), (write_beir, "qrels/test.tsv")],
)
def test_a_missing_file_is_named(tmp_path: Path, write: Any, file: str) -> None:
    folder = write(tmp_path / "x")
    (folder / file).unlink()
    refused(folder, "dataset_file_missing", [Path(file).name])


def catalogue_of(root: Path) -> Catalogue:
    """Without a server."""
    return Catalogue(root / "samples", root / "datasets", root / "cache", StorageState(None, None, (), False))


def test_a_data_set_is_found_by_name_or_by_folder(tmp_path: Path) -> None:
    root = tmp_path / "datasets"
    root.mkdir()
    named, elsewhere = write_parquet(root / "uno"), write_beir(tmp_path / "dos")
    (root / "no_dataset").mkdir()
    catalogue = catalogue_of(tmp_path)
    assert catalogue.names() == ["uno"]
    assert (catalogue.find("uno").folder, catalogue.find("uno").reference) == (named, "uno")
    assert (catalogue.find(str(elsewhere)).folder, catalogue.find(str(elsewhere)).reference) == (
        elsewhere,
        str(elsewhere),
    )


@pytest.mark.parametrize("write", WRITERS)
def test_rows_are_counted_without_loading(tmp_path: Path, write: Any) -> None:
    (tmp_path / "datasets").mkdir()
    write(tmp_path / "datasets" / "uno")
    [found], problem = catalogue_of(tmp_path).entries()
    assert (found.place, found.counts, problem) == ("local", Counts(2, 3, 3), None)


def test_rows_of_a_damaged_file_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (write_parquet(tmp_path / "datasets" / "uno") / "queries.parquet").write_bytes(b"PAR1")
    [found], _ = catalogue_of(tmp_path).entries()
    assert found.counts == Counts(None, 3, 3)


def test_an_unknown_data_set_is_answered_with_the_known_names(tmp_path: Path) -> None:
    root = tmp_path / "datasets"
    root.mkdir()
    write_parquet(root / "uno")
    with raises("dataset_not_found") as raised:
        catalogue_of(tmp_path).find("tres")
    assert "'tres'" in str(raised.value)
    assert "uno" in str(raised.value)


def test_an_address_on_s3_without_a_server_names_what_is_missing(settings: Settings) -> None:
    app = build_app(settings.with_changes(minio_endpoint="http://127.0.0.1:1"))
    for reference in ("s3://lakehouse/some/uno/", "uno"):
        with raises("storage_not_configured", match="MINIO_ACCESS_KEY, MINIO_SECRET_KEY, MINIO_BUCKET_NAME"):
            app.runs.plan_run(mteb_dataset_name=reference)


# --- the data set that comes with the project


@pytest.fixture(scope="module")
def bundled() -> Dataset:
    return load_dataset(PROJECT_ROOT / "data" / "samples" / "valle_multihop")


def test_the_bundled_data_set_has_its_size_both_question_types_and_is_spanish(bundled: Dataset) -> None:
    assert len(bundled.documents) >= 60
    assert len(bundled.queries) >= 30
    assert set(Counter(query.question_type for query in bundled.queries)) == {"bridge", "comparison"}
    assert bundled.language == "es"


def test_every_bundled_question_has_an_answer_and_two_gold_documents(bundled: Dataset) -> None:
    assert [query.query_id for query in bundled.queries if not query.answer or not query.text] == []
    assert {query.query_id: len(bundled.qrels[query.query_id]) for query in bundled.queries} == {
        query.query_id: 2 for query in bundled.queries
    }


def test_every_extractive_bundled_answer_stands_in_a_gold_document(bundled: Dataset) -> None:
    documents = {document.doc_id: fold(f"{document.title}\n{document.text}") for document in bundled.documents}
    lost = [
        query.query_id
        for query in bundled.queries
        if query.answer_type == "extractive"
        and not any(fold(query.answer) in documents[doc_id] for doc_id in bundled.qrels[query.query_id])
    ]
    assert lost == []


def test_hotpotqa_loads_with_all_its_queries_and_documents(shared_datasets: Path) -> None:
    dataset = load_dataset(shared_datasets / "hotpotqa")
    assert (len(dataset.queries), len(dataset.documents), dataset.language) == (298, 11_860, "en")
    assert set(dataset.qrels) == {query.query_id for query in dataset.queries}


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("corpus.jsonl", b'{"_id": "d1", "text": "\xff"}\n', "is not UTF-8"),
        ("corpus.jsonl", b'{"_id": null, "text": "a"}\n', "line 1: _id is None"),
        ("corpus.jsonl", b'{"_id": "d1", "text": 7}\n', "line 1: text is 7"),
        ("queries.jsonl", b'{"_id": "q1", "text": null}\n', "line 1: the query has no text"),
        ("qrels/test.tsv", b"query-id\tcorpus-id\tscore\nq1\td1\t0.5\n", "line 2: the score is '0.5'"),
        ("qrels/test.tsv", b"query-id\tcorpus-id\tscore\nq1\td1\n", "line 2 has 2 cells"),
    ],
)
def test_a_bad_value_is_named_with_its_place(tmp_path: Path, file: str, content: bytes, said: str) -> None:
    (tmp_path / "qrels").mkdir()
    good = {
        "corpus.jsonl": b'{"_id": "d1", "text": "a"}\n',
        "queries.jsonl": b'{"_id": "q1", "text": "a?", "metadata": "easy"}\n',
        "qrels/test.tsv": b"query-id\tcorpus-id\tscore\r\nq1\td1\t1\r\n",
    }
    for name, value in {**good, file: content}.items():
        (tmp_path / name).write_bytes(value)
    with raises("dataset_file_unreadable") as raised:
        load_dataset(tmp_path)
    assert said in str(raised.value)
    for name, value in good.items():
        (tmp_path / name).write_bytes(value)
    assert load_dataset(tmp_path).qrels == {"q1": {"d1": 1}}
