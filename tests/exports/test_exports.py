"""A run in other forms: other evaluators read the same figures from them, and nothing secret is in any."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import ir_measures
import pytest
from ir_measures import AP, RR, R, nDCG

from chatbot_mvp.app import App
from chatbot_mvp.datasets import Dataset, Query, load_dataset
from chatbot_mvp.errors import NothingToExport, RunNotFound, UnknownChoice
from chatbot_mvp.exports.base import Exported, ExportFormat, FinishedRun, write_files
from chatbot_mvp.exports.formats import FORMATS, zip_of
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.masking import configuration, masked_settings
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.types import Document
from tests.made_results import made_result
from tests.raising import raises

SECRETS = {
    "groq_api_key": "gsk-very-secret",
    "minio_secret_key": "minio-very-secret",
    "minio_access_key": "minio-access-very-secret",
    "serve_token": "token-very-secret",
    "llm_base_url": "https://user:url-very-secret@host:8000/v1?key=query-very-secret",
    "local_model_path": "/home/somebody-very-secret/models/m.gguf",
    "huggingface_model_name": "/home/somebody-very-secret/models/judge",
    "embedding_model_name": "huggingface:/home/somebody-very-secret/models/encoder",
}
FOLDER = "/srv/folder-very-secret/d"


def row(query_id: str, retrieved: list[str], gold: list[str], **more: object) -> dict[str, object]:
    query = {"query_id": query_id, "question": f"¿{query_id}?", "answer": "oro", "answer_type": "extractive"}
    return {**query, "metrics": {"mrr": 0.5}, "retrieved": retrieved, "gold": gold, "cause": "ok", **more}


@pytest.fixture
def run() -> FinishedRun:
    """Two questions, one of them answered; ids with blanks; a manifest that is full of secrets."""
    documents = tuple(Document(doc_id, f"T {doc_id}", f"Texto | {doc_id}") for doc_id in ("d 1", "d2", "d3"))
    queries = (Query("q1", "¿q1?", "oro", "extractive", "bridge", "easy"), Query("q2", "¿q2?"), Query("q3", "¿no?"))
    dataset = Dataset("d", documents, queries, {"q1": {"d 1": 2, "d3": 0}, "q3": {"d2": 1}}, "0" * 64)
    settings = {**SECRETS, "retrieval_k": 20, "embedding_base_url": "http://host/v1", "chroma_host": ""}
    manifest = RunManifest("r1", "d", FOLDER, "0" * 64, "LEXICAL", settings, "abc", "1", 2, 3, "2030")
    result = made_result(
        metrics={"mrr": 0.5, "recall@5": None},
        scored={"mrr": [2, 2], "recall@5": [0, 2]},
        causes={"ok": 2},
        per_query=[
            row("q1", ["d2", "d 1"], ["d 1"], response="el oro", generation_doc_ids=["d 1"]),
            row("q2", ["d3"], []),
        ],
    )
    scores = {"q1": {"d2": 9.5, "d 1": 8.25}, "q2": {"d3": 3.5}}
    return FinishedRun(manifest, result, dataset, {"r1.json": b"{}"}, lambda: scores)


def texts(exported: Exported) -> dict[str, str]:
    return {name: content.decode() for name, content in exported.files.items()}


def test_trec_files_keep_the_order_and_their_columns(run: FinishedRun) -> None:
    files = texts(FORMATS["trec"].export(run))
    assert files["r1.run"].splitlines() == [
        "q1 Q0 d2 1 1.0 abc",
        "q1 Q0 d%201 2 0.5 abc",
        "q2 Q0 d3 1 1.0 abc",
    ]
    assert files["r1.qrels"].splitlines() == ["q1 0 d%201 2", "q1 0 d3 0"]


def test_json_rankings_have_scores_and_grades_by_query(run: FinishedRun) -> None:
    files = {name: json.loads(text) for name, text in texts(FORMATS["json"].export(run)).items()}
    assert files == {
        "r1_run.json": {"q1": {"d2": 1.0, "d 1": 0.5}, "q2": {"d3": 1.0}},
        "r1_qrels.json": {"q1": {"d 1": 2, "d3": 0}},
    }


def test_real_scores_replace_the_ranks_and_orders_that_evaluators_change_are_counted(run: FinishedRun) -> None:
    scored = replace(run, scores=lambda: {"q1": {"d2": 7.25, "d 1": 7.0}, "q2": {"d3": -0.5, "d9": -1.0}})
    exported = FORMATS["trec_scores"].export(scored)
    assert texts(exported)["r1.scores.run"].splitlines() == [
        "q1 Q0 d2 1 7.25 abc",
        "q1 Q0 d%201 2 7.0 abc",
        "q2 Q0 d3 1 -0.5 abc",
    ]
    assert exported.notes == {"reordered": 0}
    for other in (7.3, 7.25000001):
        rising = replace(run, scores=lambda score=other: {"q1": {"d2": 7.25, "d 1": score}, "q2": {"d3": 1.0}})
        assert FORMATS["trec_scores"].export(rising).notes == {"reordered": int(other == 7.3)}


EMPTY = {
    "trec": "retrieved nothing",
    "trec_scores": "no scores",
    "json": "retrieved nothing",
    "beir": "no judgement",
    "hotpotqa": "no answer",
}


@pytest.mark.parametrize("form", EMPTY)
def test_an_export_with_nothing_to_write_fails_and_the_zip_leaves_it_out(run: FinishedRun, form: str) -> None:
    rows = [row("q1", [], []), row("q2", [], [])]
    empty = replace(run, result=made_result(per_query=rows), dataset=replace(run.dataset, qrels={}), scores=dict)
    with pytest.raises(NothingToExport, match=EMPTY[form]):
        FORMATS[form].export(empty)
    others = [
        other for name, other in FORMATS.items() if name not in EMPTY and not (other.not_in_zip or other.needs_answers)
    ]
    rest = {name for other in others for name in other.export(empty).files}
    assert "r1.md" in rest
    assert zipped_names(FORMATS["zip"], empty) == rest | {
        "r1.json",
        "configuration.json",
        "versions.json",
        "SHA256SUMS",
    }


def test_a_run_exports_the_scores_that_it_recorded(app: App) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=3)
    exported = app.archive.export(result.run_id, "trec_scores")
    rows = [line.split() for line in texts(exported)[f"{result.run_id}.scores.run"].splitlines()]
    for asked in result.per_query:
        scores = [float(columns[4]) for columns in rows if columns[0] == asked.query_id]
        assert scores == sorted(scores, reverse=True)
        assert len(set(scores)) > 1
        assert scores[0] != 1.0
        assert len(scores) == len(asked.retrieved)


def test_hotpotqa_predictions_hold_the_answers_and_no_invented_sentences(run: FinishedRun) -> None:
    exported = FORMATS["hotpotqa"].export(run)
    assert json.loads(texts(exported)["r1_hotpotqa.json"]) == {"answer": {"q1": "el oro"}, "sp": {"q1": []}}
    assert exported.notes == {"left_out": 1}


def test_a_report_tells_what_was_not_scored_and_no_text_breaks_its_tables(run: FinishedRun) -> None:
    strange = replace(run, manifest=replace(run.manifest, dataset="a|b ![x](http://e)"))
    report = texts(FORMATS["markdown"].export(strange))["r1.md"]
    assert "| recall@5 | not scored | – |" in report
    assert r"a\|b !\[x\](http://e)" in report
    widths = {line.replace(r"\|", "").count("|") for line in report.splitlines() if line.startswith(("| mrr", "| rec"))}
    assert widths == {7}


def test_a_reports_plots_are_drawn_from_its_figures_and_linked(app: App) -> None:
    exported = app.archive.export(app.runs.run_now(retrieval_strategy="LEXICAL").run_id, "markdown")
    report = next(data.decode() for name, data in exported.files.items() if name.endswith(".md"))
    plots = {name: data.decode() for name, data in exported.files.items() if name.endswith(".svg")}
    assert set(re.findall(r"\]\(([^)]+\.svg)\)", report)) == set(plots)
    assert {name.rpartition("_")[2] for name in plots} == {"curves.svg", "intervals.svg", "causes.svg"}
    assert all(data.startswith("<svg") for data in plots.values())
    assert "recall@K" in next(data for name, data in plots.items() if "curves" in name)


def test_a_report_without_the_package_that_draws_says_how_to_install_it(
    run: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot_mvp.exports.plots.find_spec", lambda name: None)
    [(name, report)] = texts(FORMATS["markdown"].export(run)).items()
    assert name == "r1.md"
    assert "pip install 'chatbot-mvp[charts]'" in report
    assert "![" not in report


def test_a_zip_names_its_hashes_versions_and_configuration(run: FinishedRun) -> None:
    content = FORMATS["zip"].export(run).files["r1.zip"]
    assert content == FORMATS["zip"].export(run).files["r1.zip"]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name.removeprefix("r1/"): archive.read(name) for name in archive.namelist()}
    sums = dict(reversed(line.split("  ")) for line in files.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert {"r1.json", "r1.md", "r1.run", "r1_hotpotqa.json", "versions.json"} <= set(files)
    assert json.loads(files["configuration.json"])["settings_masked"]["retrieval_k"] == 20
    assert "python" in json.loads(files["versions.json"])


def zipped_names(form: ExportFormat, run: FinishedRun) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(form.export(run).files["r1.zip"])) as archive:
        return {name.removeprefix("r1/") for name in archive.namelist()}


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_the_zip_has_the_files_of_every_export_that_gives_no_reason_against_it(
    run: FinishedRun, form: ExportFormat
) -> None:
    files = set(form.export(run).files)
    inside = zipped_names(FORMATS["zip"], run)
    assert files.isdisjoint(inside) if form.not_in_zip else files <= inside


def test_the_corpus_the_real_scores_and_the_zip_itself_are_left_out_of_the_zip() -> None:
    assert {name for name, form in FORMATS.items() if form.not_in_zip} == {"trec_scores", "beir", "zip"}
    assert FORMATS["zip"].summary == "all of these but TREC_SCORES and BEIR, with configuration, hashes and versions"


def test_a_new_row_is_in_the_zip_without_anything_else_being_done(run: FinishedRun) -> None:
    new = ExportFormat("ids", lambda run: Exported({f"{run.run_id}_ids.txt": b"q1"}), "ids of the questions")
    assert "r1_ids.txt" in zipped_names(zip_of(lambda: (new,)), run)


def test_two_exports_with_a_file_of_the_same_name_do_not_overwrite_each_other(run: FinishedRun) -> None:
    twin = ExportFormat("twin", lambda run: Exported({f"{run.run_id}.run": b""}), "a file that trec has as well")
    with pytest.raises(ValueError, match=r"the export 'twin' writes 'r1\.run', which is in the zip already"):
        zip_of(lambda: (FORMATS["trec"], twin)).export(run)


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_secret_is_in_any_export(run: FinishedRun, form: str) -> None:
    """Even if the manifest holds what it never should, and whatever a later setting is called."""
    for name, content in FORMATS[form].export(run).files.items():
        parts = [content]
        if name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                parts = [archive.read(part) for part in archive.namelist()]
        assert not [part for part in parts if b"very-secret" in part]


def test_masking_keeps_what_tells_the_configuration() -> None:
    masked = masked_settings({**SECRETS, "reranker_base_url": "http://h:9000/v1", "n": 3, "corpus_shuffle_seed": "42"})
    assert masked["llm_base_url"] == "https://host:8000/v1"
    assert masked["local_model_path"] == "m.gguf"
    assert masked["huggingface_model_name"] == "judge"
    assert masked["embedding_model_name"] == "huggingface:encoder"
    assert (
        masked_settings({"embedding_model_name": "huggingface:maker/m"})["embedding_model_name"]
        == "huggingface:maker/m"
    )
    assert (masked["reranker_base_url"], masked["n"], masked["corpus_shuffle_seed"]) == ("http://h:9000/v1", 3, "42")
    assert {masked[name] for name in SECRETS if name.endswith(("key", "token"))} == {"***"}
    assert masked_settings({"groq_api_key": ""}) == {"groq_api_key": ""}
    for questions in ("/home/ana/q.jsonl", "C:\\ana\\q.jsonl", "q.jsonl"):
        assert masked_settings({"mteb_dataset_name": f"kb:x-1/{questions}"}) == {"mteb_dataset_name": "kb:x-1/q.jsonl"}


def test_folders_of_an_evaluation_stay_at_home() -> None:
    config = {"prompts": f"{FOLDER}/prompts", "judge": {"model": f"{FOLDER}/llm", "temperature": 0.0}, "metrics": ["m"]}
    manifest = RunManifest("r", "d", FOLDER, "0", "RAGAS", {}, "f", "1", 1, 0, "2030", evaluation={"config": config})
    kept = configuration(manifest)["evaluation"]["config"]
    assert kept == {"prompts": "prompts", "judge": {"model": "llm", "temperature": 0.0}, "metrics": ["m"]}


# --- of a real run


def test_ir_measures_reads_the_figures_of_the_run_from_the_trec_files(app: App, tmp_path: Path) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL")
    paths = {path.suffix: path for path in write_files(app.archive.export(result.run_id, "trec"), tmp_path / "out")}
    qrels = list(ir_measures.read_trec_qrels(str(paths[".qrels"])))
    run = list(ir_measures.read_trec_run(str(paths[".run"])))
    theirs = ir_measures.calc_aggregate([R @ 5, nDCG @ 10, RR, AP], qrels, run)
    for measure, name in ((R @ 5, "recall@5"), (nDCG @ 10, "ndcg@10"), (RR, "mrr"), (AP, "map")):
        assert theirs[measure] == pytest.approx(result.metrics[name], abs=1e-9)


def test_a_beir_export_is_a_data_set_again(app: App, tmp_path: Path) -> None:
    run_id = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=3).run_id
    write_files(app.archive.export(run_id, "beir"), tmp_path / "again")
    ours = load_dataset(PROJECT_ROOT / "data" / "samples" / "valle_multihop")
    again = load_dataset(tmp_path / "again")
    assert [document.text for document in again.documents] == [document.text for document in ours.documents]
    assert again.queries == ours.queries[:3]
    assert {q: dict(grades) for q, grades in again.qrels.items() if grades} == {
        query.query_id: dict(ours.qrels[query.query_id]) for query in ours.queries[:3]
    }


def test_exports_that_cannot_be_made_say_why(app: App, tmp_path: Path) -> None:
    run_id = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=3).run_id
    with pytest.raises(UnknownChoice, match=r"'pdf'.*trec"):
        app.archive.export(run_id, "pdf")
    with pytest.raises(RunNotFound):
        app.archive.export("nope", "trec")
    path = app.settings.results_dir / run_id / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "dataset_sha256": "other"}), "utf-8")
    with raises("dataset_changed", match="valle_multihop"):
        app.archive.export(run_id, "trec")
    (tmp_path / "file").write_text("", "utf-8")
    with raises("export_not_written", match="--output"):
        write_files(Exported({"a": b""}), tmp_path / "file")


def test_the_csv_files_have_the_figures_of_the_result_the_cause_the_primary_metric_and_the_interval(app: App) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=4, reranker_enabled=True)
    files = {path.name.removeprefix(result.run_id): path for path in app.archive.files(result.run_id)}
    assert set(files) == {".json", "_summary.csv", "_detail.csv"}
    with files["_detail.csv"].open(encoding="utf-8", newline="") as file:
        detail = list(csv.DictReader(file))
    for line, item in zip(detail, result.per_query, strict=True):
        assert (line["query_id"], line["question"], line["cause"]) == (item.query_id, item.question, item.cause)
        assert line["retrieved"].split("|") == list(item.retrieved)
        assert float(line["ndcg@10"]) == item.metrics["ndcg@10"]
        assert line["primary_metric_type"] in ("accuracy", "f1")
        assert line["reranked"] == str(item.reranked)
        assert tuple(line["generation_doc_ids"].split("|")) == item.generation_doc_ids
    with files["_summary.csv"].open(encoding="utf-8", newline="") as file:
        [summary] = csv.DictReader(file)
    assert (summary["run_id"], summary["mrr_scored"]) == (result.run_id, "4")
    assert {name: float(summary[name]) for name in result.metrics} == result.metrics
    assert (float(summary["mrr_low"]), float(summary["mrr_high"])) == result.intervals["mrr"]
    assert summary["reranker_rescue_count"] == "0"


def test_the_detail_has_a_row_per_question_with_its_answer(app: App) -> None:
    result = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=4, generation_enabled=True)
    [path] = [path for path in app.archive.files(result.run_id) if path.name.endswith("_detail.csv")]
    with path.open(encoding="utf-8", newline="") as file:
        detail = list(csv.DictReader(file))
    answered = [(row.query_id, row.response or "", row.answer) for row in result.per_query]
    assert [(line["query_id"], line["generated_answer"], line["answer"]) for line in detail] == answered
    assert any(said and said != gold for _, said, gold in answered)
