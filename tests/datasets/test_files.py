"""Two layouts, one loader; whatever is wrong with a data set is named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.datasets.catalogue import Catalogue
from chatbot_mvp.datasets.counts import Counts
from chatbot_mvp.datasets.dataset_service import read_details
from chatbot_mvp.datasets.row_files import read_judgements
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings, load_settings
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


def judged(query_id: str, doc_id: str) -> dict[str, Any]:
    return {"query_id": query_id, "doc_id": doc_id, "score": 1}


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


def test_blank_lines_other_line_ends_and_metadata_of_another_form_are_no_damage(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "x")
    corpus, qrels = folder / "corpus.jsonl", folder / "qrels" / "test.tsv"
    corpus.write_text(corpus.read_text("utf-8").replace("\n", "\n\n"), "utf-8")
    qrels.write_bytes(qrels.read_bytes().replace(b"\n", b"\r\n"))
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "a?", "metadata": "easy"}\n{"_id": "q2", "text": "b?"}\n'
    )
    dataset = load_dataset(folder)
    assert (len(dataset.documents), dataset.qrels) == (3, {"q1": {"d1": 1, "d3": 2}, "q2": {"d2": 1}})


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


# --- what is wrong is named


@pytest.mark.parametrize(
    ("file", "rows", "code", "said"),
    [
        ("corpus", [*CORPUS, CORPUS[1]], "duplicate_id", "'d2'.*corpus"),
        ("queries", [*QUERIES, QUERIES[0]], "duplicate_id", "'q1'.*queries"),
        ("corpus", [*CORPUS, {"doc_id": None, "title": "t", "text": "x"}], "dataset_file_unreadable", r"corpus\..*id"),
        ("qrels", [judged("q2", f"x{n}") for n in range(3)], "unknown_qrel_document", "3 rows.*'q2'.*'x0'"),
        ("qrels", [judged("q9", "d1")], "unknown_qrel_query", "'q9'.*1 rows with"),
    ],
    ids=["document twice", "query twice", "no id", "no known document", "unknown query"],
)
@pytest.mark.parametrize("write", WRITERS)
def test_ids_that_do_not_fit_together_are_named(
    tmp_path: Path, write: Any, file: str, rows: Rows, code: str, said: str
) -> None:
    with raises(code, match=said):
        load_dataset(write(tmp_path / "x", **{file: rows}))


@pytest.mark.parametrize("write", WRITERS)
def test_a_judgement_of_a_document_that_is_not_there_is_left_out_and_counted(tmp_path: Path, write: Any) -> None:
    whole = load_dataset(write(tmp_path / "whole"))
    found = load_dataset(write(tmp_path / "more", qrels=[*QRELS, judged("q1", "d9"), judged("q2", "d8")]))
    assert (found.qrels, found.left_out, whole.left_out) == (whole.qrels, 2, 0)
    assert read_details(tmp_path / "more").left_out == 2
    assert found.judged == whole.judged


def test_two_columns_of_one_name_are_refused_in_words(tmp_path: Path) -> None:
    folder = write_parquet(tmp_path / "x")
    columns = [pa.array(["a"]), pa.array(["b"]), pa.array(["c"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["doc_id", "text", "text"]), folder / "corpus.parquet")
    with raises("dataset_file_unreadable", match="two columns of the name .text."):
        load_dataset(folder)
    (tmp_path / "x.tsv").write_text("query-id\tcorpus-id\tscore\tscore\nq1\td1\t1\t0\n", "utf-8")
    with raises("dataset_file_unreadable", match="two columns of the name .score."):
        list(read_judgements(tmp_path / "x.tsv"))


NOT_OF_PYTHON = {
    "a group with two fields of one name": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]),
    "a date beyond the year 9999": pa.array([2**60], pa.timestamp("ms")),
}


@pytest.mark.parametrize("values", NOT_OF_PYTHON.values(), ids=NOT_OF_PYTHON)
def test_values_that_python_does_not_have_are_refused_in_words(tmp_path: Path, values: pa.Array) -> None:
    folder = write_parquet(tmp_path / "x")
    columns = {"doc_id": pa.array(["a"]), "title": pa.array(["b"]), "text": values}
    pq.write_table(pa.table(columns), folder / "corpus.parquet")
    with raises("dataset_file_unreadable"):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("file", "column"),
    [
        *(("corpus", "doc_id"), ("corpus", "text"), ("corpus", "title")),
        *(("queries", "query_id"), ("queries", "text"), ("qrels", "score"), ("qrels", "doc_id")),
    ],
)
def test_a_missing_column_of_a_parquet_file_is_named_with_those_found(tmp_path: Path, file: str, column: str) -> None:
    rows = {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS}[file]
    less = [{key: value for key, value in row.items() if key != column} for row in rows]
    with raises("missing_column", match=f"{file}.parquet.*no column {column!r}.*found: {', '.join(less[0])}"):
        load_dataset(write_parquet(tmp_path / "x", **{file: less}))


QRELS_HEAD = "query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize(
    ("file", "content", "code", "said"),
    [
        ("corpus.jsonl", '{"doc": "d1", "text": "x"}\n', "missing_column", "'_id'.*found: doc, text"),
        ("queries.jsonl", '{"_id": "q1", "question": "x"}\n', "missing_column", "'text'.*found: _id, question"),
        ("qrels/test.tsv", "query\tdoc\tscore\nq1\td1\t1\n", "missing_column", "'query-id'.*found: query, doc, score"),
        ("qrels/test.tsv", "", "missing_column", "'query-id'.*found: -"),
        ("corpus.jsonl", "", "empty_dataset", ""),
        ("queries.jsonl", "\n", "empty_dataset", ""),
        ("corpus.jsonl", '{"_id": "d1", "text": "x"}\n{"_id": \n', "dataset_file_unreadable", "line 2"),
        ("queries.jsonl", '["q1"]\n', "dataset_file_unreadable", "line 1.*object"),
        ("qrels/test.tsv", f"{QRELS_HEAD}q1\td1\tmuy\n", "dataset_file_unreadable", "line 2.*muy"),
        ("qrels/test.tsv", f"{QRELS_HEAD}q1\td1\t0.5\n", "dataset_file_unreadable", "line 2: the score is '0.5'"),
        ("qrels/test.tsv", f"{QRELS_HEAD}q1\td1\n", "dataset_file_unreadable", "line 2 has 2 cells"),
        ("qrels/test.tsv", f"{QRELS_HEAD}q1\td1\t1\nq2\n", "dataset_file_unreadable", "line 3"),
        ("corpus.jsonl", b'{"_id": "d1", "text": "\xff"}\n', "dataset_file_unreadable", "is not UTF-8"),
        ("corpus.jsonl", '{"_id": null, "text": "a"}\n', "dataset_file_unreadable", "line 1: _id is None"),
        ("corpus.jsonl", '{"_id": "d1", "text": 7}\n', "dataset_file_unreadable", "line 1: text is 7"),
        ("queries.jsonl", '{"_id": "q1", "text": null}\n', "dataset_file_unreadable", "line 1: the query has no text"),
        ("queries.jsonl", None, "dataset_file_missing", ""),
        ("qrels/test.tsv", None, "dataset_file_missing", ""),
    ],
)
def test_a_damaged_or_missing_beir_file_is_named_with_its_line_or_columns(
    tmp_path: Path, file: str, content: str | bytes | None, code: str, said: str
) -> None:
    path = write_beir(tmp_path / "x") / file
    path.unlink()
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with raises(code, match=f"{path.name}.*{said}"):
        load_dataset(tmp_path / "x")


def without_rows(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(0, 0), path)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (Path.unlink, "dataset_file_missing"),
    "no rows": (without_rows, "empty_dataset"),
    "empty": (lambda path: path.write_bytes(b""), "dataset_file_unreadable"),
    "its mark alone": (lambda path: path.write_bytes(b"PAR1"), "dataset_file_unreadable"),
    "no Parquet": (
        lambda path: path.write_bytes(b"no Parquet, but long enough for a footer PAR1"),
        "dataset_file_unreadable",
    ),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-20]), "dataset_file_unreadable"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", ["corpus.parquet", "queries.parquet", "qrels.parquet"])
def test_a_damaged_or_missing_parquet_file_is_named(tmp_path: Path, file: str, damage: str) -> None:
    inflict, code = DAMAGE[damage]
    inflict(write_parquet(tmp_path / "x") / file)
    if (file, damage) == ("qrels.parquet", "no rows"):
        assert load_dataset(tmp_path / "x").qrels == {}, "there may be answers to score"
        return
    with raises(code, match=file):
        load_dataset(tmp_path / "x")


# --- the catalogue


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """Without a server and without samples."""
    monkeypatch.setattr(Settings, "samples_dir", tmp_path / "samples")
    return Catalogue(load_settings(data_dir=tmp_path), None)


def test_a_data_set_is_found_by_name_or_by_folder(tmp_path: Path, catalogue: Catalogue) -> None:
    root = tmp_path / "datasets"
    root.mkdir()
    named, elsewhere = write_parquet(root / "uno"), write_beir(tmp_path / "dos")
    (root / "no_dataset").mkdir()
    assert catalogue.names() == ["uno"]
    assert (catalogue.find("uno").folder, catalogue.find("uno").reference) == (named, "uno")
    assert (catalogue.find(str(elsewhere)).folder, catalogue.find(str(elsewhere)).reference) == (
        elsewhere,
        str(elsewhere),
    )


@pytest.mark.parametrize("write", WRITERS)
def test_rows_are_counted_without_loading(tmp_path: Path, catalogue: Catalogue, write: Any) -> None:
    (tmp_path / "datasets").mkdir()
    write(tmp_path / "datasets" / "uno")
    [found], problem = catalogue.entries()
    assert (found.place, found.counts, problem) == ("local", Counts(2, 3, 3), None)


def test_rows_of_a_damaged_file_are_not_known(tmp_path: Path, catalogue: Catalogue) -> None:
    (tmp_path / "datasets").mkdir()
    (write_parquet(tmp_path / "datasets" / "uno") / "queries.parquet").write_bytes(b"PAR1")
    [found], _ = catalogue.entries()
    assert found.counts == Counts(None, 3, 3)


def test_an_unknown_data_set_is_answered_with_the_known_names(tmp_path: Path, catalogue: Catalogue) -> None:
    root = tmp_path / "datasets"
    root.mkdir()
    write_parquet(root / "uno")
    with raises("dataset_not_found") as raised:
        catalogue.find("tres")
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
