"""A data folder that an earlier version wrote opens unchanged: nothing is migrated, and nothing looks different.

``fixtures/v0/data`` was written by the last version whose files have no ``format_version``; ``fixtures/v0/said`` holds
what the command line of that version printed about its runs.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import CacheUnusable, ChatbotError, RunUnreadable
from chatbot_mvp.exports.base import write_files
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.llm.reply_cache import ReplyCache
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import FORMAT_VERSION, result_json
from chatbot_mvp.runs.search import RunFilter
from chatbot_mvp.settings.model import load_settings
from tests.conftest import Command

V0 = Path(__file__).parent / "fixtures" / "v0"
ANSWERED, RETRIEVED = "20261122_014937_valle_multihop_LEXICAL", "20261122_014939_valle_multihop_LEXICAL"
REPEATED, LABELLED = "20261122_014939_ragas_es_RAGAS", "20261122_014939_judge_es_RAGAS"
RUNS = (ANSWERED, RETRIEVED, REPEATED, LABELLED)
UPLOADED = "20261122T104802310432-upload-ff52dc"
KB, SESSION = "politica-empresa-884073e7", "2292c0704e92d59ac1678d33cc73201b"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copytree(V0 / "data", tmp_path / "data"))


@pytest.fixture
def app(data: Path, clean_env: Path) -> App:
    return build_app(load_settings(data_dir=data, provider="demo", retrieval_strategy="LEXICAL"))


def said(name: str) -> str:
    return (V0 / "said" / name).read_text("utf-8")


@pytest.mark.parametrize("run_id", RUNS)
def test_a_run_is_shown_as_the_earlier_version_showed_it(data: Path, command: Command, run_id: str) -> None:
    assert json.loads(command("benchmark", "show", run_id, "--json")[1]) == json.loads(said(f"show_{run_id}.json"))
    assert command("benchmark", "show", run_id)[1] == said(f"show_{run_id}.txt")


def test_lists_and_comparisons_are_the_same_objects(data: Path, command: Command) -> None:
    assert json.loads(command("benchmark", "list", "--json")[1]) == _versioned(json.loads(said("list.json")))
    compared = command("benchmark", "compare", ANSWERED, RETRIEVED, "--json")[1]
    assert json.loads(compared) == json.loads(said("compare.json"))


def _versioned(listed: dict[str, Any]) -> dict[str, Any]:
    """The list with the one key that lines of today have besides; 0 in those of files without a version."""
    return {**listed, "runs": [{**run, "format_version": 0} for run in listed["runs"]]}


@pytest.mark.parametrize("run_id", RUNS)
def test_a_result_that_is_written_again_has_all_keys_that_it_had(app: App, data: Path, run_id: str) -> None:
    before = json.loads((data / "results" / run_id / f"{run_id}.json").read_text("utf-8"))
    after = json.loads(json.dumps(result_json(app.archive.run(run_id))))
    assert after == {**before, "format_version": FORMAT_VERSION}


def test_looking_at_everything_changes_no_file(app: App, data: Path) -> None:
    def contents() -> dict[str, bytes]:
        paths = [path for path in data.rglob("*") if path.is_file() and "cache" not in path.relative_to(data).parts]
        return {str(path.relative_to(data)): path.read_bytes() for path in paths if path.suffix != ".lock"}

    before = contents()
    for run_id in RUNS:
        app.archive.run(run_id)
        app.archive.files(run_id)
    for field in app.archive.fields():
        app.archive.leaderboard(field, field.metrics[0])
    for run_id in (ANSWERED, RETRIEVED):
        for row in app.details.table(run_id).rows:
            app.details.gold_paths(run_id, row)
            app.details.records(run_id, row.query_id)
        assert "search" in app.details.latencies(run_id)
        app.details.configuration(run_id)
        app.details.chat_profile(run_id)
    assert {name: content for name, content in contents().items() if name in before} == before


def test_runs_are_found_ranked_and_evaluated(app: App) -> None:
    runs, damaged = app.archive.runs()
    assert (sorted(run.run_id for run in runs), damaged) == (sorted(RUNS), [])
    assert [run.run_id for run in app.archive.search(RunFilter(tags=("línea base",)))] == [ANSWERED]
    assert app.archive.notes()[ANSWERED].note == "Con respuestas."
    [field] = [field for field in app.archive.fields() if field.dataset == "valle_multihop"]
    assert {place.interval is not None for place in app.archive.leaderboard(field, "recall@5")} == {True}
    assert len(app.runs.evaluate_run(ANSWERED)) == 5
    assert len(app.ragas.rows_of_run(REPEATED)) == 5


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "zip"])
def test_a_run_is_exported_in_every_form(app: App, form: str) -> None:
    assert all(app.archive.export(ANSWERED, form).files.values())


def test_a_bundle_with_an_earlier_result_is_imported(app: App, tmp_path: Path) -> None:
    [path] = write_files(app.archive.export(ANSWERED, "zip"), tmp_path)
    other = build_app(load_settings(data_dir=tmp_path / "other", provider="demo"))
    assert other.archive.import_run(path).run_id == ANSWERED
    imported = other.archive.run(ANSWERED)
    assert (imported.format_version, imported.imported) == (FORMAT_VERSION, "bundle")
    assert imported.per_query == app.archive.run(ANSWERED).per_query


def test_a_run_of_today_joins_those_of_the_earlier_version(app: App) -> None:
    today = app.runs.run_now(mteb_dataset_name="valle_multihop", eval_max_queries=5, generation_enabled=False)
    comparison = app.archive.compare([RETRIEVED, today.run_id])
    assert {delta.delta for delta in comparison.runs[0].metrics if delta.metric == "recall@5"} == {0.0}
    [field] = [field for field in app.archive.fields() if field.dataset == "valle_multihop"]
    assert {run.run_id for run in field.runs} == {ANSWERED, RETRIEVED, today.run_id}


def test_a_knowledge_base_its_conversation_and_its_questions_open(app: App) -> None:
    [kb] = app.kbs.records()
    assert (kb.kb_id, kb.chunks) == (KB, 20)
    assert len(app.kbs.chunks(KB)) == 20
    [conversation] = app.chat.conversations(SESSION, KB)
    first, second = conversation.turns
    assert (first.answer is not None, second.answer is not None) == (True, True)
    assert first.answer is not None
    assert first.answer.from_kb
    assert "23 días laborables" in first.answer.text
    assert first.feedback is not None
    assert second.answer is not None
    assert (first.answer.outcome, second.answer.outcome) == ("answered", "nearest")
    assert (second.answer.nearest, conversation.outcomes) == (None, {"answered": 1, "nearest": 1, "refused": 0})
    assert app.chat.questions_path(KB).is_file()
    [questions] = app.kb_evaluation.sets(KB)
    assert (questions.name, len(questions.kept)) == ("Primeras", 6)
    [result] = app.kb_evaluation.results(KB)
    assert app.kb_evaluation.result(KB, result.result_id).rows == result.rows


KINDS = (
    *("app_settings.json", "run_presets.json", "run_notes.jsonl", "submissions.jsonl"),
    *("kb/*/kb.json", "kb/*/files.json", "kb/*/source.txt", "kb/*/questions.jsonl"),
    *("kb/*/evaluation/sets/*.json", "kb/*/evaluation/results/*.json", "conversations/*/*.jsonl"),
    *("results/*/manifest.json", "results/*/records.jsonl", "results/*/events.jsonl", "results/*/*_RAGAS.json"),
    *("results/*/*_LEXICAL.json", "kb_jobs/*.json", "kb_jobs/*.files", "kb_evaluation_jobs/*.json"),
    *("logs/retrieval_metrics.jsonl", "cache/replies.sqlite"),
)


def test_there_is_a_file_of_every_kind_and_none_has_a_version() -> None:
    assert [kind for kind in KINDS if not list((V0 / "data").glob(kind))] == []
    texts = [path for path in (V0 / "data").rglob("*.json*") if path.is_file()]
    assert [path.name for path in texts if b"format_version" in path.read_bytes()] == []


def test_jobs_and_cached_replies_are_found(app: App) -> None:
    upload = app.uploads.upload(UPLOADED)
    assert upload is not None
    assert (upload.job.state, upload.kb_id, [file.stage for file in upload.files]) == ("done", KB, ["indexed"])
    [proposed] = app.kb_evaluation.jobs(KB)
    assert (proposed.kind, proposed.status.state) == ("propose", "done")
    reply = ReplyCache(app.settings.reply_cache_path).get(b"1" * 32)
    assert reply is not None
    assert reply.text == "Veintitrés días."


def test_what_is_written_again_carries_a_version_and_keeps_the_rest(app: App, data: Path) -> None:
    app.live.change("retrieval_k", 9)
    app.presets.save("Nueva", {"retrieval_k": 3})
    app.kbs.store.rename(KB, "Política")
    [questions] = app.kb_evaluation.sets(KB)
    app.kb_evaluation.save(questions)
    app.archive.tag(ANSWERED, add=["otra"])
    written = (
        *("app_settings.json", "run_presets.json", f"kb/{KB}/kb.json"),
        f"kb/{KB}/evaluation/sets/{questions.set_id}.json",
    )
    for name in written:
        before, after = (json.loads((folder / name).read_text("utf-8")) for folder in (V0 / "data", data))
        assert after["format_version"] == 1
        assert before.keys() - after.keys() == set()
    again = build_app(load_settings(data_dir=data))
    assert (again.settings.kb_top_k, again.settings.retrieval_k) == (4, 9)
    assert {preset.name for preset in again.presets.all() if preset.own} == {"Dos pasajes", "Nueva"}
    assert again.kbs.store.record(KB).kb_name == "Política"
    assert again.archive.notes()[ANSWERED].tags[-1] == "otra"
    assert again.archive.notes()[ANSWERED].note == "Con respuestas."


def _later(path: Path) -> None:
    """Turn a file into one of a later version."""
    first, _, rest = path.read_text("utf-8").partition("{")
    path.write_text(f'{first}{{"format_version": 99, {rest}', "utf-8")


def _refused(work: Callable[[], object]) -> str:
    with pytest.raises(ChatbotError) as raised:
        work()
    return str(raised.value)


def test_a_file_of_a_later_version_is_refused_by_name_and_stays_as_it_is(app: App, data: Path) -> None:
    [conversation] = app.chat.conversations(SESSION, KB)
    [questions] = app.kb_evaluation.sets(KB)
    place = (SESSION, conversation.conversation_id)
    later: dict[str, Callable[[], object]] = {
        "app_settings.json": lambda: build_app(load_settings(data_dir=data)),
        "run_presets.json": lambda: app.presets.save("x", {}),
        f"kb/{KB}/evaluation/sets/{questions.set_id}.json": lambda: app.kb_evaluation.save(questions),
        f"conversations/{SESSION}/{conversation.conversation_id}.jsonl": lambda: app.chat.conversation(*place),
        f"results/{RETRIEVED}/manifest.json": lambda: RunFolder(data / "results", RETRIEVED).manifest(),
        f"results/{RETRIEVED}/{RETRIEVED}.json": lambda: app.archive.run(RETRIEVED),
        f"kb/{KB}/kb.json": lambda: app.kbs.store.rename(KB, "x"),
    }
    for name, work in later.items():
        _later(data / name)
        content = (data / name).read_bytes()
        text = _refused(work)
        assert "99" in text, name
        assert "up to" in text, name
        assert (data / name).read_bytes() == content, name


def test_other_files_of_a_later_version_are_left_out_and_stay(
    app: App, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = (
        "run_notes.jsonl",
        "submissions.jsonl",
        f"kb/{KB}/kb.json",
        *(str(path.relative_to(data)) for path in data.glob("kb_*jobs/*.json")),
    )
    for name in names:
        _later(data / name)
    contents = {name: (data / name).read_bytes() for name in names}
    runs, unreadable = app.archive.runs()
    assert (len(runs), unreadable) == (len(RUNS) - 1, 1)
    assert not app.archive.notes() or ANSWERED not in app.archive.notes() or not app.archive.notes()[ANSWERED].tags
    assert (app.uploads.upload(UPLOADED), app.kb_evaluation.jobs(KB), app.kbs.records()) == (None, [], [])
    assert "run_notes.jsonl" in caplog.text
    assert {name: (data / name).read_bytes() for name in names} == contents
    with sqlite3.connect(app.settings.reply_cache_path) as cache:
        cache.execute("PRAGMA user_version=99")
    with pytest.raises(CacheUnusable, match=r"later version.*99"):
        ReplyCache(app.settings.reply_cache_path).get(b"1" * 32)


def test_settings_and_presets_are_in_effect(app: App) -> None:
    assert app.settings.kb_top_k == 4
    assert [(preset.name, dict(preset.changes)) for preset in app.presets.all() if preset.own] == [
        ("Dos pasajes", {"retrieval_strategy": "LEXICAL", "kb_top_k": 2})
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metrics": {"mrr": "high"}}, "metrics.mrr"),
        ({"metrics": {"mrr": float("nan")}}, "metrics.mrr"),
        ({"seconds": {"load": float("inf")}}, "seconds.load"),
        ({"queries": "5"}, "queries"),
        ({"per_query": [{"query_id": 7, "question": "", "metrics": {}}]}, "per_query.0.query_id"),
        ({"format_version": FORMAT_VERSION + 1}, "format"),
    ],
)
def test_a_field_of_another_type_is_named_with_its_run(
    app: App, data: Path, change: dict[str, Any], field: str
) -> None:
    path = data / "results" / ANSWERED / f"{ANSWERED}.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(RunUnreadable, match=rf"{ANSWERED}.*{field}"):
        app.archive.run(ANSWERED)
    assert app.archive.run(RETRIEVED).run_id == RETRIEVED


def test_keys_of_a_later_version_are_ignored(app: App, data: Path) -> None:
    path = data / "results" / ANSWERED / f"{ANSWERED}.json"
    before = app.archive.run(ANSWERED)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "novelty": {"a": 1}}), "utf-8")
    assert app.archive.run(ANSWERED) == before
