"""A finished run looked at closely, over runs that the real runner has written."""

from __future__ import annotations

import json
import os

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunNotFound, RunUnreadable


@pytest.fixture
def run_id(app: App) -> str:
    return str(app.runs.run_now(retrieval_strategy="HYBRID", kb_top_k=3, eval_max_queries=6).run_id)


def test_each_gold_document_tells_its_rank_at_every_stage(app: App, run_id: str) -> None:
    """The ranks agree with the ranking that the result has; what is within the first three reached the context."""
    table = app.details.table(run_id)
    seen = set()
    for row in table.rows:
        for path in app.details.gold_paths(run_id, row):
            assert list(path.ranks) == ["bm25", "vector", "ranking", "context"]
            place = path.ranks["ranking"]
            kept = row.retrieved
            assert place == (kept.index(path.doc_id) + 1 if path.doc_id in kept else place)
            assert (path.fate == "in_context") == (place is not None and place <= 3)
            seen.add(path.fate.value)
    assert "in_context" in seen
    assert len(seen) > 1


def test_a_reranked_run_tells_the_rank_after_the_reranker(app: App) -> None:
    run_id = str(
        app.runs.run_now(
            retrieval_strategy="LEXICAL", reranker_enabled=True, reranker_top_n=2, retrieval_k=10, eval_max_queries=4
        ).run_id
    )
    paths = [path for row in app.details.table(run_id).rows for path in app.details.gold_paths(run_id, row)]
    assert all(list(path.ranks) == ["bm25", "ranking", "rerank", "context"] for path in paths)
    assert {path.ranks["rerank"] for path in paths} <= {1, 2, None}


def test_times_and_distributions_are_of_all_questions(app: App, run_id: str) -> None:
    found = app.details.latencies(run_id)
    assert set(found) == {"search"}
    assert found["search"].scored == 6
    spread = app.details.metric_distribution(run_id, "recall@5")
    assert spread is not None
    assert (spread.scored + spread.missing, sum(spread.counts)) == (6, 6)
    assert spread.mean == pytest.approx(app.archive.run(run_id).metrics["recall@5"])


def test_a_table_is_made_once_and_anew_when_the_result_is(app: App, run_id: str) -> None:
    table, comparison = app.details.table(run_id), None
    assert app.details.table(run_id) is table
    other = str(app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=6).run_id)
    comparison = app.details.compare([run_id, other])
    assert app.details.compare([run_id, other]) is comparison
    assert app.details.compare([other, run_id]) is not comparison
    path = app.settings.results_dir / run_id / f"{run_id}.json"
    result = json.loads(path.read_text("utf-8"))
    result["per_query"][0]["question"] = "¿Otra?"
    path.write_text(json.dumps(result), "utf-8")
    os.utime(path, ns=(1, 1))
    assert app.details.table(run_id) is not table
    assert any(row.question == "¿Otra?" for row in app.details.table(run_id).rows)


def test_the_records_of_one_question_are_its_own(app: App, run_id: str) -> None:
    row = app.details.table(run_id).rows[0]
    records = app.details.records(run_id, row.query_id)
    assert set(records) == {"retrieve"}
    assert records["retrieve"].payload["doc_ids"] == list(row.retrieved)
    assert app.details.records(run_id, "no-such-query") == {}
    (app.settings.results_dir / run_id / "records.jsonl").write_text('{"torn', "utf-8")
    assert app.details.records(run_id, app.details.table(run_id).rows[1].query_id) == {}


def test_what_is_not_there_is_told(app: App, run_id: str) -> None:
    with pytest.raises(RunNotFound):
        app.details.table("nothing")
    with pytest.raises(RunNotFound):
        app.details.version("../kb")
    with pytest.raises(RunUnreadable):
        app.details.row(run_id, "no-such-query")
    # A ranking of another program has no configuration that a chat could search with.
    path = app.settings.results_dir / run_id / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "imported": "trec", "strategy": "tag"}), "utf-8")
    refused = app.details.chat_profile(run_id).refused
    assert refused is not None
    assert (refused.reason, refused.run) == ("strategy", "tag")
