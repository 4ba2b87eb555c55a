"""A part of a data set has what its queries need; equal seeds give equal parts, each with a hash of its own."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.datasets.sampling import sample
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document
from tests.raising import raises
from tests.stopping import stopped_run

QUERIES, DOCUMENTS = 30, 100


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Query n needs the documents n and 99 - n; the first documents are those of the first queries, as in HotpotQA."""
    return Dataset(
        "some",
        tuple(Document(f"d{n}", f"t{n}", "text") for n in range(DOCUMENTS)),
        tuple(Query(f"q{n}", "?") for n in range(QUERIES)),
        {f"q{n}": {f"d{n}": 1, f"d{99 - n}": 1, "d50": 0} for n in range(QUERIES)},
        "f" * 64,
    )


def ids(dataset: Dataset) -> list[str]:
    return [document.doc_id for document in dataset.documents]


def test_without_a_limit_a_data_set_is_what_its_files_are(dataset: Dataset, settings: Settings) -> None:
    assert sample(dataset, settings).dataset == dataset


def test_the_first_queries_are_those_of_a_limit_and_the_files_stay_the_same(
    dataset: Dataset, settings: Settings
) -> None:
    cut = sample(dataset, settings.with_changes(eval_max_queries=7)).dataset
    assert [query.query_id for query in cut.queries] == [f"q{n}" for n in range(7)]
    assert (cut.documents, cut.sha256) == (dataset.documents, dataset.sha256)


def test_a_smaller_corpus_has_what_the_queries_need_and_others_in_the_files_order(
    dataset: Dataset, settings: Settings
) -> None:
    cut = sample(dataset, settings.with_changes(eval_max_queries=5, eval_max_corpus=20))
    kept = ids(cut.dataset)
    assert len(kept) == 20
    assert {f"d{n}" for n in (*range(5), *range(95, 100))} <= set(kept)
    assert kept == sorted(kept, key=lambda doc_id: int(doc_id[1:]))
    assert (cut.gold, cut.gold_lost, cut.warning) == (10, 0, "")


def test_the_seed_decides_which_others_and_minus_one_takes_the_first(dataset: Dataset, settings: Settings) -> None:
    def corpus(seed: int) -> list[str]:
        changes = {"eval_max_queries": 1, "eval_max_corpus": 20, "corpus_shuffle_seed": seed}
        return ids(sample(dataset, settings.with_changes(**changes)).dataset)

    assert corpus(42) == corpus(42)
    assert corpus(42) != corpus(43)
    assert corpus(-1) == [*(f"d{n}" for n in range(19)), "d99"]


def test_gold_without_a_place_is_left_out_of_the_measure_and_told(dataset: Dataset, settings: Settings) -> None:
    changes = {"eval_max_queries": 10, "eval_max_corpus": 6, "corpus_shuffle_seed": -1}
    cut = sample(dataset, settings.with_changes(**changes))
    assert ids(cut.dataset) == [f"d{n}" for n in range(6)]
    assert (cut.gold, cut.gold_lost, cut.unscored) == (20, 14, 4)
    assert cut.dataset.qrels["q0"] == {"d0": 1}
    assert cut.dataset.qrels["q9"] == {}
    assert "14 of 20" in cut.warning
    assert "4 queries" in cut.warning


def test_a_blind_slice_keeps_random_documents_and_all_judgements(dataset: Dataset, settings: Settings) -> None:
    changes = {"eval_max_queries": 10, "eval_max_corpus": 30, "eval_corpus_slice": "blind"}
    cut = sample(dataset, settings.with_changes(**changes))
    kept = set(ids(cut.dataset))
    gold = {f"d{n}" for n in (*range(10), *range(90, 100))}
    assert (len(kept), cut.gold, cut.gold_lost, cut.corpus_slice) == (30, 20, len(gold - kept), "blind")
    assert 0 < cut.gold_lost < 20
    assert cut.unscored == sum(not {f"d{n}", f"d{99 - n}"} & kept for n in range(10))
    assert cut.dataset.qrels == {f"q{n}": dataset.qrels[f"q{n}"] for n in range(10)}
    assert f"{cut.gold_lost} of 20" in cut.warning
    first = sample(dataset, settings.with_changes(**changes, corpus_shuffle_seed=-1))
    assert ids(first.dataset) == [f"d{n}" for n in range(30)], "without a shuffle, the first documents of the files"
    assert sample(dataset, settings.with_changes(eval_corpus_slice="blind")).dataset == dataset


def test_development_mode_keeps_its_gold_documents_whatever_the_slice(dataset: Dataset, settings: Settings) -> None:
    one, other = sample(dataset, dev(settings)), sample(dataset, dev(settings, eval_corpus_slice="blind"))
    assert (one.dataset, one.corpus_slice) == (other.dataset, "")


def dev(settings: Settings, **changes: Any) -> Settings:
    return settings.with_changes(**{"dev_mode": True, "dev_queries": 8, "dev_corpus_size": 25, **changes})


def test_development_mode_takes_random_queries_all_their_gold_and_others_up_to_its_size(
    dataset: Dataset, settings: Settings
) -> None:
    cut = sample(dataset, dev(settings, eval_max_queries=1, eval_max_corpus=1)).dataset
    queries = [query.query_id for query in cut.queries]
    assert len(queries) == 8
    assert queries != [f"q{n}" for n in range(8)]
    assert queries == sorted(queries, key=lambda query_id: int(query_id[1:]))
    assert len(cut.documents) == 25
    assert {doc_id for query in queries for doc_id in dataset.qrels[query] if doc_id != "d50"} <= set(ids(cut))
    assert sample(dataset, dev(settings)).dataset == cut


def test_development_mode_depends_on_its_seed(dataset: Dataset, settings: Settings) -> None:
    one, other = (sample(dataset, dev(settings, corpus_shuffle_seed=seed)).dataset for seed in (1, 2))
    assert one.queries != other.queries
    assert one.sha256 != other.sha256


def test_a_sample_does_not_depend_on_the_order_of_the_rows(dataset: Dataset, settings: Settings) -> None:
    turned = Dataset("some", dataset.documents[::-1], dataset.queries[::-1], dataset.qrels, dataset.sha256)
    one, other = sample(dataset, dev(settings)).dataset, sample(turned, dev(settings)).dataset
    assert set(one.queries) == set(other.queries)
    assert set(one.documents) == set(other.documents)


def test_more_gold_than_the_corpus_of_development_mode_is_an_error_that_says_so(
    dataset: Dataset, settings: Settings
) -> None:
    with pytest.raises(InvalidSetting, match=r"DEV_CORPUS_SIZE=15.*8 queries.*16 gold documents.*16 or more"):
        sample(dataset, dev(settings, dev_corpus_size=15))


def test_a_sample_larger_than_the_data_set_is_all_of_it(dataset: Dataset, settings: Settings) -> None:
    assert sample(dataset, dev(settings, dev_queries=999, dev_corpus_size=999)).dataset == dataset


def test_another_sample_is_another_data_set_and_the_same_one_is_not(dataset: Dataset, settings: Settings) -> None:
    shapes = [{"eval_max_corpus": 40}, {"eval_max_corpus": 41}, {"eval_max_corpus": 40, "eval_max_queries": 3}]
    found = [sample(dataset, settings.with_changes(**shape)).dataset.sha256 for shape in shapes]
    found += [sample(dataset, dev(settings)).dataset.sha256, dataset.sha256]
    assert len(set(found)) == len(found)
    assert found[0] == sample(dataset, settings.with_changes(eval_max_corpus=40)).dataset.sha256


def test_a_run_in_development_mode_measures_its_sample_and_a_resume_the_same_one(app: App) -> None:
    changes = {"retrieval_strategy": "LEXICAL", "dev_mode": True, "dev_queries": 9, "dev_corpus_size": 30}
    result = app.runs.resume_now(stopped_run(app, **changes))
    assert (result.queries, result.documents, result.scored["recall@5"]) == (9, 30, (9, 9))


def test_a_resume_whose_sample_is_another_is_refused(app: App) -> None:
    run_id = stopped_run(app, retrieval_strategy="LEXICAL", eval_max_corpus=70)
    manifest = app.settings.results_dir / run_id / "manifest.json"
    text = manifest.read_text("utf-8").replace('"corpus_shuffle_seed": 42', '"corpus_shuffle_seed": 43')
    manifest.write_text(text, "utf-8")
    with raises("run_mismatch", match="dataset_sha256"):
        app.runs.resume_now(run_id)
