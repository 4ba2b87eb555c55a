"""Tunes over the bundled data set and the sample knowledge base, with the real pipelines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import KbNotFound, RunStopped
from chatbot_mvp.evaluation.benchmark.preparation import run_fingerprint
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.types import Progress
from chatbot_mvp.wings.tune.errors import TuneStopped
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.store import tunes_dir
from chatbot_mvp.wings.tune.types import TuneOptions, TunePlan, TuneResult
from tests.fakes import FakeEmbedder, fake_app
from tests.raising import raises
from tests.waiting import wait_until

DATASET = "valle_multihop"
KB = PROJECT_ROOT / "data" / "samples" / "kb" / "politica_empresa.md"
QUESTIONS = KB.with_name("preguntas.jsonl")


@pytest.fixture
def space(tmp_path: Path) -> Path:
    text = 'RETRIEVAL_STRATEGY = ["LEXICAL", "BRIDGE"]\nretrieval_pre_fusion_k = [50, 150]\n'
    return written(tmp_path / "space.toml", text)


@pytest.fixture
def poor(app: App) -> App:
    """An App whose configuration is much worse than others: vectors of a bag of words."""
    app.live.change("retrieval_strategy", "SIMPLE_VECTOR")
    return app


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tune of ``finished`` is kept after it was carried out once; missing before."""
    return tmp_path_factory.mktemp("tune") / "tunes"


@pytest.fixture
def finished(poor: App, space: Path, kept: Path) -> TuneResult:
    """The result of a tune of ``poor``."""
    folder = tunes_dir(poor.settings)
    if not kept.is_dir():
        tuned(poor, space)
        shutil.copytree(folder, kept)
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    [state] = poor.get(Tuner).tunes()
    assert state.result is not None
    return state.result


def tuned(app: App, space: Path) -> TuneResult:
    return carried_out(app, app.get(Tuner).plan(DATASET, options=TuneOptions(space=space)))


def carried_out(app: App, plan: TunePlan) -> TuneResult:
    return app.get(Tuner).resume_now(app.get(Tuner).create(plan))


def written(path: Path, content: str) -> Path:
    path.write_text(content, "utf-8")
    return path


def test_the_winner_is_confirmed_applied_after_a_restart_still_and_undone_exactly(
    poor: App, space: Path, settings: Settings
) -> None:
    poor.live.change("retrieval_pre_fusion_k", 77)
    saved = json.loads(settings.app_settings_path.read_text())
    result = tuned(poor, space)
    assert (result.verdict, result.recommended) == ("better", True)
    assert result.winner is not None
    assert result.against_today is not None
    assert result.against_today.low > 0
    assert result.against_today.p_holm <= 0.05

    made = poor.get(Tuner).apply(result.tune_id)
    assert made.changes["retrieval_strategy"] == ("SIMPLE_VECTOR", result.winner.strategy)
    again = fake_app(settings)
    assert run_fingerprint(again.settings) == result.winner.config_id
    assert again.get(Tuner).read(result.tune_id).applied

    undone = again.get(Tuner).undo()
    assert (undone.tune_id, undone.kept) == (result.tune_id, ())
    restored = json.loads(settings.app_settings_path.read_text())
    assert {name: restored[name] for name in saved} == saved
    assert fake_app(settings).settings.retrieval_pre_fusion_k == 77
    with raises("tune_nothing_to_undo"):
        again.get(Tuner).undo()


def test_undo_leaves_a_setting_that_was_changed_since(poor: App, finished: TuneResult) -> None:
    poor.get(Tuner).apply(finished.tune_id)
    poor.live.change("retrieval_strategy", "HYBRID")
    undone = poor.get(Tuner).undo()
    assert undone.kept == ("retrieval_strategy",)
    assert poor.settings.retrieval_strategy == "HYBRID"


def test_a_configuration_is_not_applied_where_a_setting_is_fixed_or_another_one_has_changed(
    poor: App, finished: TuneResult, settings: Settings
) -> None:
    fixed = fake_app(Settings._of({**settings.model_dump(), "retrieval_strategy": "SIMPLE_VECTOR"}))
    with raises("tune_not_applicable", match="RETRIEVAL_STRATEGY: it is set outside Admin"):
        fixed.get(Tuner).apply(finished.tune_id)
    poor.live.change("retrieval_bm25_language", "en")
    with raises("tune_not_applicable", match="other settings have changed since"):
        poor.get(Tuner).apply(finished.tune_id)
    assert poor.get(Tuner).applied() == ()


@pytest.mark.slow
def test_a_stopped_tune_continues_and_measures_nothing_twice(poor: App, space: Path, settings: Settings) -> None:
    whole = tuned(poor, space)
    tune_id = poor.get(Tuner).create(poor.get(Tuner).plan(DATASET, options=TuneOptions(space=space)))

    def stop(state: Progress) -> None:
        if state.phase == "tune_search" and state.done >= 50:
            raise RunStopped(run_id="?")

    with pytest.raises(TuneStopped, match=f"tune resume {tune_id}"):
        poor.get(Tuner).resume_now(tune_id, stop)
    assert poor.get(Tuner).read(tune_id).state == "unfinished"
    trials = tunes_dir(settings) / tune_id / "trials"
    before = {path: path.read_bytes() for path in trials.glob("*/records.jsonl")}
    assert before
    resumed = fake_app(settings).get(Tuner).resume_now(tune_id)
    assert all(path.read_bytes().startswith(content) for path, content in before.items())
    lines = [json.loads(line)["query_id"] for path in before for line in path.read_text().splitlines()]
    assert len(lines) == sum(len(set(path.read_text().splitlines())) for path in before)
    assert (resumed.winner, resumed.against_today) == (whole.winner, whole.against_today)
    with raises("tune_already_finished"):
        poor.get(Tuner).resume_now(tune_id)


def test_a_tune_is_a_job_like_every_other(poor: App, space: Path) -> None:
    tune_id = poor.get(Tuner).start(DATASET, options=TuneOptions(space=space))
    wait_until(lambda: poor.get(Tuner).read(tune_id).state == "finished")
    [state] = poor.get(Tuner).tunes()
    assert state.result is not None
    assert state.plan.target == DATASET


def test_the_same_pipeline_is_measured_as_by_a_run(poor: App, finished: TuneResult, settings: Settings) -> None:
    run = poor.runs.run_now(mteb_dataset_name=DATASET)
    assert run.fingerprint == finished.today.config_id
    folder = tunes_dir(settings) / finished.tune_id / "trials" / finished.today.config_id
    own = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    its = (settings.results_dir / run.run_id / "records.jsonl").read_text().splitlines()
    of_run = {record["query_id"]: record["payload"] for record in map(json.loads, its)}
    assert len(own) == len(of_run)
    for record in own:
        for key in ("doc_ids", "scores", "evidence"):
            assert record["payload"][key] == of_run[record["query_id"]][key]
    assert poor.archive.runs()[0][0].run_id == run.run_id
    assert len(poor.archive.runs()[0]) == 1  # the trials are not listed as runs


def test_today_s_configuration_is_kept_if_nothing_is_better(app: App, tmp_path: Path) -> None:
    space = written(tmp_path / "space.json", '{"kb_min_score": [0.1]}')
    app.live.change("retrieval_strategy", "LEXICAL")
    result = tuned(app, space)
    assert (result.verdict, result.recommended, result.winner) == ("nothing_found", False, None)
    with raises("tune_nothing_to_apply"):
        app.get(Tuner).apply(result.tune_id)


def test_a_knowledge_base_is_tuned_on_the_untouched_sections(app: App, tmp_path: Path) -> None:
    space = written(tmp_path / "space.toml", 'retrieval_strategy = ["LEXICAL"]')
    kb_id = app.kbs.add(KB.name, KB.read_bytes()).kb_id
    plan = app.get(Tuner).plan(kb_id, str(QUESTIONS), TuneOptions(space=space))
    assert (plan.kb_id, plan.metric, plan.split.by) == (kb_id, "hit@3", "sections")
    assert not set(plan.split.searching) & set(plan.split.confirming)
    result = carried_out(app, plan)
    assert result.tune_id


def test_errors_name_the_next_step(app: App, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join(QUESTIONS.read_text().splitlines(keepends=True)[:5]))
    kb_id = app.kbs.add(KB.name, KB.read_bytes()).kb_id
    empty = written(tmp_path / "empty.toml", "")
    same = written(tmp_path / "same.toml", "retrieval_k = [20]")
    plan = app.get(Tuner).plan
    with raises("tune_too_few_questions", match="at least 20"):
        plan(kb_id, str(few))
    with raises("tune_questions_missing", match="kb questions"):
        plan(kb_id)
    with pytest.raises(KbNotFound):
        plan("nothing", str(QUESTIONS))
    with raises("dataset_not_found"):
        plan("nothing")
    for path in (empty, same):
        with raises("tune_space_empty"):
            plan(DATASET, options=TuneOptions(space=path))
    with raises("tune_space_unreadable"):
        plan(DATASET, options=TuneOptions(space=tmp_path / "missing.toml"))
    for name, content in (("deep.toml", f"a = {'[' * 9_999}"), ("deep.json", "[" * 9_999)):
        with raises("tune_space_unreadable"):
            plan(DATASET, options=TuneOptions(space=written(tmp_path / name, content)))
    with raises("tune_option_invalid", match="recall@5"):
        plan(DATASET, options=TuneOptions(metric="nonsense"))
    with raises("tune_needs_budget"):
        plan(DATASET, options=TuneOptions(with_model=True))


def test_a_tune_is_not_continued_under_changed_questions(poor: App, space: Path, tmp_path: Path) -> None:
    asked = tmp_path / "questions.jsonl"
    asked.write_bytes(QUESTIONS.read_bytes())
    kb_id = poor.kbs.add(KB.name, KB.read_bytes()).kb_id
    tune_id = poor.get(Tuner).create(poor.get(Tuner).plan(kb_id, str(asked), TuneOptions(space=space)))
    asked.write_text("".join(QUESTIONS.read_text().splitlines(keepends=True)[:-1]))
    with raises("tune_mismatch", match="dataset_sha256"):
        poor.get(Tuner).resume_now(tune_id)


def test_a_model_is_asked_only_if_allowed_and_its_configurations_are_measured_beside_the_others(
    app: App, tmp_path: Path
) -> None:
    space = written(tmp_path / "space.json", '{"retrieval_strategy": ["LEXICAL"], "query_expansion_llm": [true]}')
    app.live.change("retrieval_strategy", "BRIDGE")
    free = app.get(Tuner).plan(DATASET, options=TuneOptions(space=space))
    assert [one.label for one in free.configurations] == ["retrieval_strategy=LEXICAL"]
    assert (free.with_model, free.calls, free.cost_usd) == ((), 0, 0.0)
    options = TuneOptions(space=space, with_model=True, budget_usd=0.0)
    plan = app.get(Tuner).plan(DATASET, options=options)
    assert [one.sends_requests for one in plan.with_model] == [True]
    result = carried_out(app, plan)
    tried = {trial.configuration.label: trial.configuration.sends_requests for trial in result.trials}
    assert tried["query_expansion_llm=True"]
    app.live.change("query_expansion_llm", True)
    with raises("tune_needs_budget", match="today's configuration"):
        app.get(Tuner).plan(DATASET, options=TuneOptions(space=space))


def test_what_earlier_attempts_spent_counts_against_the_budget(app: App, tmp_path: Path, settings: Settings) -> None:
    space = written(tmp_path / "space.json", '{"retrieval_strategy": ["LEXICAL"], "query_expansion_llm": [true]}')
    app.live.change("retrieval_strategy", "BRIDGE")
    options = TuneOptions(space=space, with_model=True, budget_usd=0.25)
    tune_id = app.get(Tuner).create(app.get(Tuner).plan(DATASET, options=options))
    trial = tunes_dir(settings) / tune_id / "trials" / "0123456789ab"
    trial.mkdir(parents=True)
    event = {"event": "llm_request", "phase": "retrieval", "calls": 1, "cost_usd": 0.2, "seconds": 1.0}
    (trial / "events.jsonl").write_text(json.dumps(event) + "\n")
    assert app.get(Tuner).resume_now(tune_id).cost_usd == pytest.approx(0.2)


def test_chunk_sizes_are_measured_over_their_own_chunks_and_applied(app: App, tmp_path: Path) -> None:
    space = written(tmp_path / "space.toml", "retrieval_chunk_chars = [400, 1_100]\n")
    app.live.change("retrieval_strategy", "LEXICAL")
    kb_id = app.kbs.add(KB.name, KB.read_bytes()).kb_id
    plan = app.get(Tuner).plan(kb_id, str(QUESTIONS), TuneOptions(space=space, metric="mrr"))
    [small] = plan.configurations
    result = carried_out(app, plan)
    of = {trial.configuration.config_id: trial for trial in result.trials}
    assert of[small.config_id].context_chars != of[plan.today.config_id].context_chars
    run = app.kb_evaluation.evaluate(kb_id, QUESTIONS)
    app.get(Tuner).apply(result.tune_id, small.config_id)
    assert max(len(chunk.text) for chunk in app.kbs.chunks(kb_id)) <= 520
    again = app.kb_evaluation.evaluate(kb_id, QUESTIONS)
    assert app.archive.run(again["run_id"]).fingerprint == small.config_id
    app.get(Tuner).undo()
    assert app.archive.run(run["run_id"]).fingerprint == plan.today.config_id
    assert {hit.chunk.chunk_id for hit in app.kbs.pipeline(kb_id).retrieve(["vacaciones"])[0].hits} <= {
        chunk.chunk_id for chunk in app.kbs.chunks(kb_id)
    }


def test_a_fake_embedder_counts_every_text_once(poor: App, embedder: FakeEmbedder, space: Path) -> None:
    tuned(poor, space)
    assert len(embedder.embedded) == len(set(embedder.embedded))
