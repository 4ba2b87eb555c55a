"""An evaluation is a run: scored over real HTTP, recorded, shown, compared, repeated, held against people."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.errors import NeedsLanguageModel, UnknownChoice
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.rows import MetricSpread
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ragas.config import RagasConfig, config_from
from chatbot_mvp.wings.ragas.errors import NothingToEvaluate
from chatbot_mvp.wings.ragas.judging import JUDGED, UNJUDGED, column_of
from chatbot_mvp.wings.ragas.kind import RAGAS
from chatbot_mvp.wings.ragas.rows import InputRow, read_rows, rows_from
from chatbot_mvp.wings.ragas.service import RagasService
from tests.raising import raises
from tests.wings.ragas.conftest import LABELLED, SAMPLE, app_of, given
from tests.wings.ragas.judging.judge_stub import JudgeStub

Rows = Callable[[int], list[InputRow]]


def test_six_metrics_over_http_have_no_nan_and_every_row_its_columns(asking: Settings, rows: Rows) -> None:
    app = app_of(asking)
    result = app.get(RagasService).run_now("muestra", rows(8))
    assert list(result.metrics) == list(JUDGED)
    assert result.scored == dict.fromkeys(JUDGED, (8, 8))
    assert (result.kind, result.judge, result.language) == (RAGAS, "openai/judge", "es")
    assert result.failures == result.not_scored == {}
    folder = asking.results_dir / result.run_id
    lines = [json.loads(line) for line in (folder / f"{result.run_id}_scores.jsonl").read_text("utf-8").splitlines()]
    with (folder / f"{result.run_id}_scores.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    for line, cells, came in zip(lines, table, given(count=8), strict=True):
        assert {name: line[name] for name in came} == came
        columns = [column_of(name) for name in JUDGED]
        assert list(line) == list(cells) == [*came, *(part for n in columns for part in (n, f"{n}_status"))]
        for name in columns:
            assert math.isfinite(line[name])
            assert float(cells[name]) == line[name]
            assert line[f"{name}_status"] == cells[f"{name}_status"] == "ok"
    assert {path.name.removeprefix(result.run_id) for path in app.archive.files(result.run_id)} == {
        *("_scores.csv", "_scores.jsonl", ".json")
    }


def test_a_row_without_what_a_metric_needs_is_not_scored_and_no_failure(asking: Settings) -> None:
    whole, lacking = given(count=2)
    del lacking["reference"]
    result = app_of(asking).get(RagasService).run_now("x", rows_from([whole, lacking], "x"))
    assert result.scored["ragas_context_recall"] == (1, 2)
    assert result.not_scored["ragas_context_recall"] == {"missing_input": 1}
    assert result.failures == {}
    row = result.per_query[1]
    assert row.status["ragas_context_recall"] == "not_scored: missing_input"
    assert row.details["ragas_context_recall"]["problem"] == "reference"
    assert row.metrics["ragas_context_recall"] is None


@pytest.mark.slow
def test_an_evaluation_is_listed_and_two_systems_are_compared_by_question(asking: Settings, rows: Rows) -> None:
    app = app_of(asking)
    other = rows_from([{**row, "response": f"Otra: {row['response'][:40]}"} for row in given(count=6)], "other")
    one, two = (app.get(RagasService).run_now(name, system) for name, system in (("a", rows(6)), ("b", other)))
    listed, damaged = app.archive.runs()
    assert [(run.run_id, run.kind) for run in listed] == [(two.run_id, RAGAS), (one.run_id, RAGAS)]
    assert damaged == []
    assert app.archive.run(one.run_id).metrics == one.metrics
    comparison = app.archive.compare([one.run_id, two.run_id])
    deltas = {delta.metric: delta for delta in comparison.runs[0].metrics}
    assert list(deltas) == list(JUDGED)
    assert deltas["ragas_nv_context_relevance"].delta == 0.0, "the passages are the same"
    assert deltas["ragas_faithfulness"].pairs == 6
    assert len(deltas["ragas_faithfulness"].improved) + len(deltas["ragas_faithfulness"].worsened) > 0
    fewer = app.get(RagasService).run_now("c", rows(5))
    with raises("corpora_differ"):
        app.archive.compare([one.run_id, fewer.run_id])


@pytest.mark.slow
def test_a_judge_that_breaks_its_json_still_scores_nearly_every_row(
    asking: Settings, stub: JudgeStub, rows: Rows
) -> None:
    stub.broken = 0.3
    result = app_of(asking).get(RagasService).run_now("roto", rows(25))
    scored, total = (sum(counts) for counts in zip(*result.scored.values(), strict=True))
    assert total == 150
    assert scored >= 0.99 * total
    for row in result.per_query:
        for name, value in row.metrics.items():
            assert (value is None) == (row.status[name] != "ok")
            assert value is None or math.isfinite(value)


def test_a_judge_that_cannot_keep_to_a_form_scores_nothing_and_the_run_still_ends(
    asking: Settings, stub: JudgeStub, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows than failures in a row after which a provider counts as away; the raw replies are kept."""
    from tests.wings.ragas.judging import judge_stub

    monkeypatch.setattr(judge_stub, "perhaps_broken", lambda *_: "Lo siento, no puedo ayudar con eso.")
    config = config_from({"metrics": ["ragas_context_recall"], "judge": {"attempts": 1}})
    result = app_of(asking).get(RagasService).run_now("mudo", rows(30), config)
    assert result.metrics == {"ragas_context_recall": None}
    assert result.not_scored == {"ragas_context_recall": {"unusable_reply": 30}}
    assert result.failures == {"ragas_context_recall": 30}
    for row in result.per_query:
        assert row.details["ragas_context_recall"]["raw"] == "Lo siento, no puedo ayudar con eso."


def test_without_a_judge_there_are_metrics_that_need_none(settings: Settings, rows: Rows) -> None:
    app = app_of(settings)
    assert app.get(RagasService).judge() == ""
    result = app.get(RagasService).run_now("sin juez", rows(5))
    assert set(result.metrics) < set(UNJUDGED)
    assert "lexical_faithfulness" in result.metrics
    assert result.judge == ""
    assert result.usage.calls == 0
    with pytest.raises(NeedsLanguageModel):
        app.get(RagasService).run_now("sin juez", rows(5), config_from({"metrics": ["Faithfulness"]}))
    assert len(list(settings.results_dir.glob("*"))) == 1, "nothing was begun"


def test_repeats_ask_again_and_tell_the_spread(asking: Settings, stub: JudgeStub, rows: Rows) -> None:
    stub.broken = 0.0
    config = config_from({"metrics": ["LLMContextRecall"], "repeats": 3})
    result = app_of(asking).get(RagasService).run_now("tres", rows(4), config)
    assert len(stub.requests) == 12
    assert {request.json.get("seed") for request in stub.requests} == {None, 1, 2}
    assert result.repeats == 3
    assert result.spread["ragas_context_recall"] == MetricSpread(0.0, 4)
    assert result.per_query[0].spread["ragas_context_recall"].deviation == 0.0


def test_labels_of_people_give_agreement_with_intervals_and_kinds_of_errors(settings: Settings) -> None:
    rows = read_rows(LABELLED)
    result = (
        app_of(settings).get(RagasService).run_now("acuerdo", rows, config_from({"metrics": ["lexical_faithfulness"]}))
    )
    agreement = result.agreement["lexical_faithfulness"]
    assert (agreement.rows, agreement.scored) == (70, 68), "a bare yes or no has no words to find"
    assert agreement.accuracy.value == pytest.approx(0.79, abs=0.01)
    assert agreement.kappa.value == pytest.approx(0.59, abs=0.01)
    assert agreement.accuracy.low < agreement.accuracy.value < agreement.accuracy.high
    assert all(found <= count for found, count in agreement.found.values())


def test_the_fingerprint_is_of_what_scores_and_not_of_how_fast(asking: Settings, rows: Rows, tmp_path: Path) -> None:
    from chatbot_mvp.wings.ragas.judging import prompts

    (tmp_path / "es").mkdir()
    for path in (Path(prompts.__file__).parent / "prompts" / "es").glob("*.toml"):
        (tmp_path / "es" / path.name).write_text(path.read_text("utf-8") + "\n# mine\n", "utf-8")

    def fingerprint(settings: Settings = asking, **changes: object) -> str:
        config = config_from({"metrics": ["lexical_faithfulness", "ragas_context_recall"], **changes})
        desk = app_of(settings).get(RagasService)
        return desk._prepare("x", rows(2), config).manifest.fingerprint

    base = fingerprint()
    assert fingerprint() == fingerprint(concurrency=3) == base
    assert fingerprint(embedder=asking.embedding_model_name) == base
    different = [
        fingerprint(prompts=str(tmp_path)),
        fingerprint(judge={"model": "another"}),
        fingerprint(asking.with_changes(openai_model_name="another-still")),
        fingerprint(metrics=["ragas_context_recall"]),
        fingerprint(language="en"),
        fingerprint(repeats=2),
    ]
    assert len({base, *different}) == 7


def test_without_a_judge_a_language_without_prompts_says_which_there_are(settings: Settings, rows: Rows) -> None:
    with pytest.raises(UnknownChoice, match="en, es") as raised:
        app_of(settings).get(RagasService).run_now("x", rows(2), config_from({"language": "fr"}))
    assert raised.value.exit_code == 2


# --- where rows come from


def test_the_answers_of_a_benchmark_run_are_rows(settings: Settings) -> None:
    app = app_of(settings.with_changes(retrieval_strategy="LEXICAL", eval_max_queries=4))
    run = app.runs.run_now(generation_enabled=True)
    rows = app.get(RagasService).evaluate_run(run.run_id)
    assert len(rows) == 4
    first, answered = rows[0], run.per_query[0]
    assert (first.row_id, first.row.user_input) == (answered.query_id, answered.question)
    assert (first.row.response, first.row.reference) == (answered.response, answered.answer)
    assert len(first.row.retrieved_contexts or ()) == len(first.row.retrieved_context_ids or ()) > 0
    result = app.get(RagasService).run_now("valle", rows)
    assert set(result.metrics) == set(UNJUDGED)
    retrieval_only = app.runs.run_now()
    with pytest.raises(NothingToEvaluate):
        app.get(RagasService).evaluate_run(retrieval_only.run_id)
    with pytest.raises(UnknownChoice):
        app.get(RagasService).evaluate_run(result.run_id)


def test_a_chats_answers_from_its_knowledge_base_are_rows(settings: Settings) -> None:
    app = app_of(settings.with_changes(retrieval_strategy="LEXICAL"))
    record = app.kbs.add_sample()
    session = app.chat.new_session()
    with pytest.raises(NothingToEvaluate):
        app.get(RagasService).rows_of_conversations(app.chat.conversations(session, record.kb_id))
    conversation = app.chat.start(session, record.kb_id, record.kb_name)
    for question in ("¿Cuántos días laborables de vacaciones tiene cada persona?", "¿Qué temperatura tiene Venus?"):
        assert app.chat.begin(session, conversation, question, UserContext()).join(20.0)
    [row] = app.get(RagasService).rows_of_conversations(app.chat.conversations(session, record.kb_id))
    assert "23 días laborables" in (row.row.response or "")
    assert row.row.retrieved_contexts


def test_the_sample_is_what_the_issue_asks_for() -> None:
    assert len(read_rows(SAMPLE)) == 50
    assert RagasConfig().metrics == ()


def test_a_folder_keeps_its_rows_as_they_came(settings: Settings, rows: Rows) -> None:
    app = app_of(settings)
    result = app.get(RagasService).run_now("x", rows(3), config_from({"metrics": ["lexical_faithfulness"]}))
    kept = app.get(RagasService).rows_of_run(result.run_id)
    assert [row.given for row in kept.values()] == given(count=3)
    assert RunFolder(settings.results_dir, result.run_id).manifest().queries == 3
