"""Data sets are read as BEIR, MTEB, the public hub, ranx and TREC write them, and only the split that was named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import ir_measures
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ir_measures import AP, RR, R, nDCG

from chatbot_mvp.app import App, build_app
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.datasets.counts import Counts, count_rows
from chatbot_mvp.datasets.layout import folder_layout
from chatbot_mvp.settings.model import Settings
from tests.datasets.test_uploads import packed
from tests.raising import raises

CORPUS = [
    {"_id": "MED-10", "title": "Statins and breast cancer", "text": "Recent studies followed women who take statins."},
    {"_id": "MED-14", "title": "", "text": "Statins lower cholesterol and the risk of a stroke."},
    {"_id": "MED-118", "title": "Alkylphenols", "text": "Alkylphenols were found in human milk."},
]
QUERIES = [
    {"_id": "PLAIN-2", "text": "Do cholesterol statin drugs cause breast cancer?"},
    {"_id": "PLAIN-12", "text": "Exploiting autophagy to live longer"},
    {"_id": "PLAIN-33", "text": "What is in human milk?"},
]
TEST = [("PLAIN-2", "MED-10", 2), ("PLAIN-2", "MED-14", 1), ("PLAIN-2", "MED-118", 0)]
TRAIN = [("PLAIN-33", "MED-118", 1)]
GRADES = {"PLAIN-2": {"MED-10": 2, "MED-14": 1, "MED-118": 0}}

Judged = list[tuple[str, str, int]]


def rows_of(judged: Judged) -> list[dict[str, Any]]:
    # MTEB stores grades as floating point numbers.
    return [{"query-id": query, "corpus-id": doc, "score": float(grade)} for query, doc, grade in judged]


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(judged: Judged) -> bytes:
    return ("query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in judged)).encode()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue())


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


TEXTS = {"corpus.jsonl": lines(CORPUS), "queries.jsonl": lines(QUERIES)}
SHARD = "00000-of-00001"
FORMS: dict[str, dict[str, bytes]] = {
    "BEIR zip": {**TEXTS, "qrels/test.tsv": table(TEST), "qrels/train.tsv": table(TRAIN)},
    "BeIR hub, .jsonl.gz": {
        **{f"{name}.gz": gzip.compress(content) for name, content in TEXTS.items()},
        "qrels/test.tsv": table(TEST),
        "qrels/train.tsv": table(TRAIN),
    },
    "BeIR hub, Parquet": {
        f"corpus/corpus-{SHARD}.parquet": parquet(CORPUS),
        f"queries/queries-{SHARD}.parquet": parquet(QUERIES),
        "qrels/test.tsv": table(TEST),
        "qrels/train.tsv": table(TRAIN),
    },
    "MTEB hub, JSON Lines": {
        **TEXTS,
        "qrels/test.jsonl": lines(rows_of(TEST)),
        "qrels/train.jsonl": lines(rows_of(TRAIN)),
    },
    "MTEB hub, Parquet with shards": {
        "corpus/corpus-00000-of-00002.parquet": parquet(CORPUS[:2]),
        "corpus/corpus-00001-of-00002.parquet": parquet(CORPUS[2:]),
        f"queries/queries-{SHARD}.parquet": parquet(QUERIES),
        f"data/test-{SHARD}-3f2a9c0d1e4b5a67.parquet": parquet(rows_of(TEST)),
        f"data/train-{SHARD}-3f2a9c0d1e4b5a67.parquet": parquet(rows_of(TRAIN)),
    },
    "MTEB hub, a corpus per split": {
        f"corpus/test-{SHARD}.parquet": parquet(CORPUS),
        f"corpus/train-{SHARD}.parquet": parquet(CORPUS),
        f"queries/test-{SHARD}.parquet": parquet(QUERIES),
        f"queries/train-{SHARD}.parquet": parquet(QUERIES),
        f"qrels/test-{SHARD}.parquet": parquet(rows_of(TEST)),
        f"qrels/train-{SHARD}.parquet": parquet(rows_of(TRAIN)),
    },
    "hub, converted to Parquet": {
        "corpus/corpus/0000.parquet": parquet(CORPUS),
        "queries/queries/0000.parquet": parquet(QUERIES),
        "default/test/0000.parquet": parquet(rows_of(TEST)),
        "default/train/0000.parquet": parquet(rows_of(TRAIN)),
    },
    "ranx qrels": {
        **TEXTS,
        "qrels/test.json": json.dumps(GRADES).encode(),
        "qrels/train.json": json.dumps({"PLAIN-33": {"MED-118": 1}}).encode(),
    },
    "TREC qrels": {
        **TEXTS,
        "qrels/test.qrels": "".join(f"{q} 0 {d} {g}\n" for q, d, g in TEST).encode(),
        "qrels/train.trec": "".join(f"{q}\t0\t{d}\t{g}\n" for q, d, g in TRAIN).encode(),
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_counted_and_loads_to_the_same_texts_and_the_judgements_of_the_named_split(
    tmp_path: Path, form: str
) -> None:
    folder = write(tmp_path / "nfcorpus", FORMS[form])
    assert count_rows(folder) == Counts(3, 3, None if form == "ranx qrels" else 3)
    found = load_dataset(folder)
    assert [(d.doc_id, d.title, d.text) for d in found.documents] == [(r["_id"], r["title"], r["text"]) for r in CORPUS]
    assert [(q.query_id, q.text) for q in found.queries] == [(row["_id"], row["text"]) for row in QUERIES]
    assert (found.qrels, found.split, found.name) == (GRADES, "test", "nfcorpus")
    train = load_dataset(folder, "train")
    assert (train.qrels, train.split, train.name) == ({"PLAIN-33": {"MED-118": 1}}, "train", "nfcorpus/train")
    assert train.sha256 != found.sha256
    assert folder_layout(folder).splits == ("test", "train")
    with raises("split_unknown", match=r"no split 'dev'; its splits: test, train\."):
        load_dataset(folder, "dev")


def test_several_splits_without_test_are_not_mixed(tmp_path: Path) -> None:
    folder = write(tmp_path / "x", {**TEXTS, "qrels/dev.tsv": table(TEST), "qrels/train.tsv": table(TRAIN)})
    with raises("split_needed", match="dev, train"):
        load_dataset(folder)
    assert load_dataset(folder, "dev").qrels == GRADES
    (folder / "qrels" / "train.tsv").unlink()
    assert load_dataset(folder).split == "dev"


def test_qrels_in_one_file_have_no_splits(tmp_path: Path) -> None:
    folder = write(tmp_path / "x", {**TEXTS, "qrels.tsv": table(TEST)})
    assert (load_dataset(folder).qrels, load_dataset(folder).split) == (GRADES, "")
    with raises("split_unknown", match="in one file"):
        load_dataset(folder, "test")


def test_percent_encoded_ids_of_trec_qrels_are_resolved(tmp_path: Path) -> None:
    corpus, queries = [{"_id": "a b", "text": "x"}], [{"_id": "100%", "text": "?"}]
    files = {"corpus.jsonl": lines(corpus), "queries.jsonl": lines(queries), "qrels/test.txt": b"100%25 0 a%20b 1\n"}
    assert load_dataset(write(tmp_path / "x", files)).qrels == {"100%": {"a b": 1}}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"corpus.jsonl.gz": b"not packed", "queries.jsonl": lines(QUERIES)}, "corpus.jsonl.gz"),
        ({"corpus.jsonl.gz": gzip.compress(lines(CORPUS))[:-9], "queries.jsonl": lines(QUERIES)}, "corpus.jsonl.gz"),
        ({**TEXTS, "qrels/test.json": b'[{"query": 1}]'}, "is not a JSON object"),
        ({**TEXTS, "qrels/test.json": b'{"PLAIN-2": {"MED-10": 0.5}}'}, "query 'PLAIN-2': the score is 0.5"),
        ({**TEXTS, "qrels/test.txt": b"PLAIN-2 MED-10 1\n"}, "line 1 has 3 columns in place of 4"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    folder = write(tmp_path / "x", {"qrels/test.tsv": table(TEST), **files})
    if "qrels/test.json" in files or "qrels/test.txt" in files:
        (folder / "qrels" / "test.tsv").unlink()
    with raises("dataset_file_unreadable") as raised:
        load_dataset(folder)
    assert said in str(raised.value)


def place(app: App, form: str) -> Path:
    return write(app.settings.datasets_dir / "nfcorpus", FORMS[form])


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(settings.with_changes(retrieval_strategy="LEXICAL", generation_enabled=False))


@pytest.mark.parametrize("form", ["MTEB hub, Parquet with shards", "BeIR hub, .jsonl.gz"])
def test_a_hub_folder_is_found_by_name_and_measured(app: App, form: str) -> None:
    place(app, form)
    assert "nfcorpus" in app.datasets.names()
    result = app.runs.run_now(mteb_dataset_name="nfcorpus#train")
    assert (result.dataset, [row.query_id for row in result.per_query]) == ("nfcorpus/train", ["PLAIN-33"])
    assert result.metrics["recall@5"] == 1.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["MTEB hub, Parquet with shards", "hub, converted to Parquet", "BeIR hub, .jsonl.gz"])
def test_a_zip_of_a_hub_folder_is_taken(app: App, form: str) -> None:
    app.datasets.upload([("n.zip", packed({**FORMS[form], "notes.txt": b"x"}, "nfcorpus/"))], "nfcorpus")
    stored = app.settings.datasets_dir / "nfcorpus"
    files = {path.relative_to(stored).as_posix() for path in stored.rglob("*") if path.is_file()}
    assert files == set(FORMS[form])
    assert app.datasets.load("nfcorpus#train").qrels == {"PLAIN-33": {"MED-118": 1}}


def test_an_upload_with_several_splits_and_no_test_is_taken_and_asks_for_a_split(app: App) -> None:
    files = {**TEXTS, "qrels/dev.tsv": table(TEST), "qrels/train.tsv": table(TRAIN)}
    app.datasets.upload([("n.zip", packed(files))], "nfcorpus")
    [listed] = [listed for listed in app.datasets.here() if listed.own]
    assert listed.splits == ("dev", "train")
    with raises("split_needed"):
        app.runs.run_now(mteb_dataset_name="nfcorpus")
    assert app.runs.run_now(mteb_dataset_name="nfcorpus#dev").queries == 1


def test_a_pilot_plans_the_judged_queries(app: App) -> None:
    place(app, "BEIR zip")
    answering = app.settings.with_changes(generation_enabled=True, provider="demo", mteb_dataset_name="nfcorpus")
    estimate = build_app(answering).runs.pilot(3)
    assert estimate.pilot is not None
    assert (estimate.pilot.queries, estimate.queries) == (1, 1)


def test_a_run_asks_and_plans_exactly_the_judged_queries_of_its_split(app: App) -> None:
    place(app, "BEIR zip")
    answering = app.settings.with_changes(generation_enabled=True, provider="demo", mteb_dataset_name="nfcorpus")
    plan = build_app(answering).runs.plan_run()
    assert (plan.queries, plan.dataset_queries, plan.unjudged, plan.split) == (1, 3, 2, "test")
    assert plan.estimate is not None
    assert {phase.phase: phase.calls.expected for phase in plan.estimate.phases}["generate"] == 1
    result = app.runs.run_now(mteb_dataset_name="nfcorpus")
    assert (result.queries, result.scored["recall@5"]) == (1, (1, 1))
    assert [row.query_id for row in result.per_query] == ["PLAIN-2"]


def test_a_run_keeps_its_split_for_a_resume_and_an_export(app: App) -> None:
    place(app, "BEIR zip")
    run_id = app.runs.run_now(mteb_dataset_name="nfcorpus#train").run_id
    assert app.archive.finished(run_id).dataset.split == "train"
    exported = app.archive.export(run_id, "beir").files
    assert b"PLAIN-33\tMED-118\t1" in exported["qrels/test.tsv"]


def test_runs_over_different_splits_are_runs_over_different_data(app: App) -> None:
    place(app, "BEIR zip")
    for name in ("nfcorpus", "nfcorpus#train"):
        app.runs.run_now(mteb_dataset_name=name)
    assert sorted(field.dataset for field in app.archive.groups()) == ["nfcorpus", "nfcorpus/train"]


def test_a_data_set_in_which_nothing_can_be_scored_is_refused_before_the_run(app: App) -> None:
    folder = place(app, "BEIR zip")
    (folder / "qrels" / "test.tsv").write_bytes(table([]))
    for call in (app.runs.run_now, app.runs.plan_run):
        with raises("nothing_to_score", match="no query of the split 'test' has a judgement"):
            call(mteb_dataset_name="nfcorpus")
    assert list(app.settings.results_dir.glob("*")) == []


def test_reference_answers_alone_are_enough_for_a_run_that_generates(app: App) -> None:
    folder = place(app, "BEIR zip")
    (folder / "qrels" / "test.tsv").write_bytes(table([]))
    answered = [{**row, "metadata": {"answer": "milk"}} for row in QUERIES]
    (folder / "queries.jsonl").write_bytes(lines(answered))
    settings = app.settings.with_changes(generation_enabled=True, provider="demo", mteb_dataset_name="nfcorpus")
    result = build_app(settings).runs.run_now()
    assert (result.queries, result.scored["exact_match"][0]) == (3, 3)


@pytest.mark.parametrize("form", ["TREC qrels", "MTEB hub, Parquet with shards", "ranx qrels"])
def test_ir_measures_computes_the_figures_of_a_run_from_the_judgements_as_they_came(app: App, form: str) -> None:
    folder = place(app, form)
    result = app.runs.run_now(mteb_dataset_name="nfcorpus")
    if form == "TREC qrels":
        qrels: Any = list(ir_measures.read_trec_qrels(str(folder / "qrels" / "test.qrels")))
    elif form == "ranx qrels":
        qrels = json.loads((folder / "qrels" / "test.json").read_text("utf-8"))
    else:
        table = pq.read_table(next((folder / "data").glob("test-*"))).to_pylist()
        qrels = [ir_measures.Qrel(row["query-id"], row["corpus-id"], int(row["score"])) for row in table]
    run = json.loads(app.archive.export(result.run_id, "json").files[f"{result.run_id}_run.json"])
    theirs = ir_measures.calc_aggregate([nDCG @ 10, RR, R @ 5, AP], qrels, run)
    ours = [result.metrics[name] for name in ("ndcg@10", "mrr", "recall@5", "map")]
    assert [theirs[measure] for measure in (nDCG @ 10, RR, R @ 5, AP)] == pytest.approx(ours, abs=1e-9)
    assert theirs[nDCG @ 10] > 0


def test_a_data_set_that_becomes_a_knowledge_base_brings_the_questions_of_its_split(app: App) -> None:
    place(app, "BEIR zip")
    for reference, expected in (("nfcorpus", ["PLAIN-2"]), ("nfcorpus#train", ["PLAIN-33"])):
        _, questions = app.kb_evaluation.keep_dataset(reference)
        assert [question.question_id for question in questions.kept] == expected
