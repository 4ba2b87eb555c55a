"""A query that is itself a document of the corpus does not find itself, as in BEIR (ArguAna, Quora)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import ir_measures
import pytest
from ir_measures import RR, nDCG

from chatbot_mvp.app import App
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document
from tests.datasets.test_files import judged, write_beir
from tests.fakes import fake_app

CLAIMS = {
    "meat-pro": "Vegetarian food is better for the climate.",
    "meat-con": "Vegetarian food is not better for the climate, if it comes by plane.",
    "cars-pro": "Cars should not enter the centre of a town.",
    "cars-con": "Cars should enter the centre of a town, for its shops.",
}
"""As in ArguAna: each argument is a document, each is a query, and relevant is its counter-argument."""
COUNTER = {claim: claim[:5] + ("con" if claim.endswith("pro") else "pro") for claim in CLAIMS}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(queries: Mapping[str, str], relevant: Mapping[str, str]) -> Path:
        return write_beir(
            tmp_path / f"arguments-{len(list(tmp_path.iterdir()))}",
            [{"doc_id": key, "title": "", "text": text} for key, text in CLAIMS.items()],
            [{"query_id": key, "text": text} for key, text in queries.items()],
            [judged(query, document) for query, document in relevant.items()],
        )

    return write


@pytest.fixture
def app(settings: Settings, tmp_path: Path) -> App:
    return fake_app(settings.with_changes(data_dir=tmp_path / "data", retrieval_strategy="LEXICAL"))


def rankings(app: App, run_id: str) -> dict[str, list[str]]:
    lines = (app.settings.results_dir / run_id / "records.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {one["query_id"]: one["payload"]["doc_ids"] for one in records if one["phase"] == "retrieve"}


def test_a_query_that_is_a_document_does_not_find_itself_and_the_figures_are_beirs(
    app: App, written: Callable[..., Path]
) -> None:
    folder = written(CLAIMS, COUNTER)
    plan = app.runs.plan_run(mteb_dataset_name=str(folder))
    assert [one.text for one in plan.warnings] == [
        "4 queries are documents themselves; each leaves itself out of its ranking, as in BEIR"
    ]
    result = app.runs.run_now(mteb_dataset_name=str(folder))
    found = rankings(app, result.run_id)
    assert all(key not in ids for key, ids in found.items())
    # As BEIR's evaluation does, with ignore_identical_ids: the equal id is removed from the ranking of all documents.
    others = written({f"q-{key}": text for key, text in CLAIMS.items()}, {f"q-{k}": doc for k, doc in COUNTER.items()})
    whole = rankings(app, app.runs.run_now(mteb_dataset_name=str(others)).run_id)
    assert all(whole[f"q-{key}"][0] == key for key in CLAIMS)
    run = {key: {doc: 1.0 / place for place, doc in enumerate(whole[f"q-{key}"], 1) if doc != key} for key in CLAIMS}
    beir = ir_measures.calc_aggregate([RR @ 10, nDCG @ 10], {key: {doc: 1} for key, doc in COUNTER.items()}, run)
    assert beir[nDCG @ 10] == pytest.approx(result.metrics["ndcg@10"])
    assert beir[RR @ 10] == pytest.approx(result.metrics["mrr"]) == 1.0


def test_a_plan_tells_how_many_judgements_name_no_document_of_the_corpus(
    app: App, written: Callable[..., Path]
) -> None:
    plan = app.runs.plan_run(mteb_dataset_name=str(written(CLAIMS, {**COUNTER, "meat-pro": "test-environment"})))
    assert "1 judgements name documents that are not in the corpus; they are left out" in [
        one.text for one in plan.warnings
    ]
    assert (plan.queries, plan.unjudged) == (3, 1)


def test_the_context_of_an_answer_and_the_ranks_leave_the_query_out_too(app: App, written: Callable[..., Path]) -> None:
    result = app.runs.run_now(mteb_dataset_name=str(written(CLAIMS, COUNTER)), generation_enabled=True)
    lines = (app.settings.results_dir / result.run_id / "records.jsonl").read_text("utf-8").splitlines()
    for record in (json.loads(line) for line in lines):
        if record["phase"] == "retrieve":
            payload = record["payload"]
            assert record["query_id"] not in payload["generation_doc_ids"]
            assert payload["gold"]["ranks"][COUNTER[record["query_id"]]]["ranking"] == 1


def test_an_imported_ranking_leaves_the_query_out_too(app: App, written: Callable[..., Path], tmp_path: Path) -> None:
    folder = written(CLAIMS, COUNTER)
    trec = tmp_path / "other.trec"
    lines = [f"{key} Q0 {doc} {place} {9 - place} x" for key in CLAIMS for place, doc in enumerate((key, COUNTER[key]))]
    trec.write_text("\n".join(lines), "utf-8")
    made = app.archive.import_run(trec, dataset=str(folder))
    assert rankings(app, made.run_id) == {key: [COUNTER[key]] for key in CLAIMS}


def dataset(queries: Mapping[str, str], relevant: Mapping[str, str]) -> Dataset:
    documents = tuple(Document(str(number), "", text) for number, text in enumerate(CLAIMS.values()))
    asked = tuple(Query(key, text) for key, text in queries.items())
    return Dataset("d", documents, asked, {key: {doc: 1} for key, doc in relevant.items()}, "0")


@pytest.mark.parametrize(
    ("queries", "relevant", "expected"),
    [
        # Numbers that agree by chance: another text, or the document with the query's id is relevant.
        ({"0": "What helps the climate?", "1": "Who may enter?"}, {"0": "1", "1": "2"}, set()),
        ({"0": CLAIMS["meat-pro"], "1": CLAIMS["meat-con"]}, {"0": "0", "1": "1"}, set()),
        ({"0": CLAIMS["meat-pro"], "1": CLAIMS["meat-con"]}, {"0": "1", "1": "0"}, {"0", "1"}),
        # One of three texts differs, as after a correction in the corpus: BEIR goes by the ids.
        ({"0": CLAIMS["meat-pro"], "1": "corrected", "2": CLAIMS["cars-pro"]}, {"0": "1"}, {"0", "1", "2"}),
        ({"a": CLAIMS["meat-pro"]}, {"a": "1"}, set()),
        ({"0": ""}, {"0": "1"}, set()),
    ],
)
def test_queries_are_documents_only_if_ids_and_texts_agree_and_none_is_its_own_answer(
    queries: dict[str, str], relevant: dict[str, str], expected: set[str]
) -> None:
    assert dataset(queries, relevant).queries_that_are_documents == expected
