"""A data folder of version 1.0.0 opens as it is. A file of a later format is refused; an incomplete one is damaged.

``fixtures/v1`` was written by version 1.0.0 and stays as it is: whatever comes later opens it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("chatbot_mvp.wings.ragas")  # what it reads and writes is tried here, too

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import CacheUnusable, ChatbotError
from chatbot_mvp.exports.base import write_files
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.llm.reply_cache import ReplyCache
from chatbot_mvp.runs.lists import RunFilter, leaderboard
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import result_json
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.wings.ragas.service import RagasService

# The files of these wings are among those that are read here.
Promises = pytest.importorskip("chatbot_mvp.wings.promise.service").Promises
Reviews = pytest.importorskip("chatbot_mvp.wings.review.service").Reviews

V1 = Path(__file__).parent / "fixtures" / "v1"
ANSWERED, RETRIEVED = "20261123_174330_valle_multihop_LEXICAL", "20261123_174336_valle_multihop_LEXICAL"
REPEATED = "20261123_174336_respuestas_RAGAS"
UPLOADED = "20261123T174329022330-upload-469421"
KB, SESSION = "politica-empresa-6704388c1c044ad47022f75d", "2292c0704e92d59ac1678d33cc73201b"
ASKED = f"20261123_174336_{KB}-De-personas_LEXICAL"
RUNS = (ANSWERED, RETRIEVED, REPEATED, ASKED)
KINDS = (
    *("app_settings.json", "run_presets.json", "run_notes.jsonl", "submissions.jsonl"),
    *("kb/*/kb.json", "kb/*/files.json", "kb/*/source.txt", "kb/*/questions.jsonl"),
    *("kb/*/evaluation/sets/*.json", "kb/*/evaluation/promise.json", "kb/*/evaluation/reviews.jsonl"),
    *("conversations/*/*.jsonl", "results/*/manifest.json", "results/*/records.jsonl", "results/*/events.jsonl"),
    *("results/*/*_RAGAS.json", "results/*/*_LEXICAL.json"),
    *("kb_jobs/*.json", "kb_jobs/*.files", "kb_evaluation_jobs/*.json"),
    *("logs/retrieval_metrics.jsonl", "cache/replies.sqlite"),
)
"""Patterns of the files that are kept. Every pattern has a file in the folder."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copytree(V1, tmp_path / "data"))


@pytest.fixture
def app(data: Path, clean_env: Path) -> App:
    return build_app(load_settings(data_dir=data, provider="demo", retrieval_strategy="LEXICAL"))


def test_there_is_a_file_of_every_kind() -> None:
    assert [kind for kind in KINDS if not list(V1.glob(kind))] == []


def test_looking_at_everything_changes_no_file(app: App, data: Path) -> None:
    def contents() -> dict[str, bytes]:
        paths = [path for path in data.rglob("*") if path.is_file() and "cache" not in path.relative_to(data).parts]
        return {str(path.relative_to(data)): path.read_bytes() for path in paths if path.suffix != ".lock"}

    before = contents()
    for run_id in RUNS:
        app.archive.run(run_id)
        app.archive.files(run_id)
    for field in app.archive.groups():
        leaderboard(field, field.metrics[0])
    for run_id in (ANSWERED, RETRIEVED):
        for row in app.details.table(run_id).rows:
            app.details.gold_paths(run_id, row)
            app.details.records(run_id, row.query_id)
        assert "search" in app.details.latencies(run_id)
        app.details.configuration(run_id)
        app.details.chat_profile(run_id)
    assert {name: content for name, content in contents().items() if name in before} == before


def test_runs_are_found_ranked_compared_and_evaluated(app: App) -> None:
    runs, damaged = app.archive.runs()
    assert (sorted(run.run_id for run in runs), damaged) == (sorted(RUNS), [])
    assert [run.run_id for run in app.archive.search(RunFilter(tags=("línea base",)))] == [ANSWERED]
    assert app.archive.notes()[ANSWERED].note == "Con respuestas."
    [field] = [field for field in app.archive.groups() if field.dataset == "valle_multihop"]
    assert {place.interval is not None for place in leaderboard(field, "recall@5")} == {True}
    assert len(app.get(RagasService).evaluate_run(ANSWERED)) == 5
    assert len(app.get(RagasService).rows_of_run(REPEATED)) == 5
    compared = app.archive.compare([ANSWERED, RETRIEVED]).runs[0].metrics
    assert {delta.delta for delta in compared if delta.metric == "recall@5"} == {0.0}


@pytest.mark.parametrize("run_id", RUNS)
def test_a_result_that_is_written_again_is_the_same(app: App, data: Path, run_id: str) -> None:
    before = json.loads((data / "results" / run_id / f"{run_id}.json").read_text("utf-8"))
    again = json.loads(json.dumps(result_json(app.archive.run(run_id))))
    for row in again["per_query"]:
        assert row.pop("retrieved_doc_ids", []) == row["retrieved"]  # its other name, which files did not have
    assert again == before


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "zip"])
def test_a_run_is_exported_in_every_form(app: App, form: str) -> None:
    assert all(app.archive.export(ANSWERED, form).files.values())


def test_a_bundle_of_a_run_is_imported(app: App, tmp_path: Path) -> None:
    [path] = write_files(app.archive.export(ANSWERED, "zip"), tmp_path)
    other = build_app(load_settings(data_dir=tmp_path / "other", provider="demo"))
    assert other.archive.import_run(path).run_id == ANSWERED
    imported = other.archive.run(ANSWERED)
    assert imported.imported == "bundle"
    assert imported.per_query == app.archive.run(ANSWERED).per_query


def test_a_knowledge_base_its_conversation_its_questions_and_its_promise_open(app: App) -> None:
    [kb] = app.kbs.records()
    assert (kb.kb_id, kb.chunks, kb.files, kb.languages) == (KB, 20, ("politica_empresa.md",), ("es",))
    assert len(app.kbs.chunks(KB)) == 20
    [conversation] = app.chat.conversations(SESSION, KB)
    answers = [turn.answer for turn in conversation.turns if turn.answer is not None]
    assert [answer.outcome for answer in answers] == ["answered", "nearest"]
    assert "23 días laborables" in answers[0].text
    assert answers[1].nearest is not None
    assert [turn.feedback is not None for turn in conversation.turns] == [True, True]
    assert app.chat.questions_path(KB).is_file()
    kept = {questions.name: len(questions.kept) for questions in app.question_sets.sets(KB)}
    assert kept == {"Primeras": 6, "De personas": 6, "Respuestas revisadas": 1}
    [result] = app.kb_evaluation.results(KB)
    assert (result.result_id, len(result.rows)) == (ASKED, 6)
    state = app.get(Promises).state(KB)
    assert state is not None and state.promise.basis.result_id == ASKED
    assert app.get(Reviews).summary(KB).labelled == 1


def test_jobs_and_cached_replies_are_found(app: App) -> None:
    upload = app.uploads.upload(UPLOADED)
    assert upload is not None
    assert (upload.job.state, upload.kb_id) == ("done", KB)
    [proposed] = app.kb_evaluation.jobs(KB)
    assert (proposed.kind, proposed.status.state) == ("propose", "done")
    reply = ReplyCache(app.settings.reply_cache_path).get(b"1" * 32)
    assert reply is not None
    assert reply.text == "Veintitrés días."


def test_settings_and_presets_are_in_effect(app: App) -> None:
    assert app.settings.kb_top_k == 4
    assert [(preset.name, dict(preset.changes)) for preset in app.presets.all() if preset.own] == [
        ("Dos pasajes", {"retrieval_strategy": "LEXICAL", "kb_top_k": 2})
    ]


# --- files of a later version


def _later(path: Path) -> None:
    """Turn a file into one of a later version."""
    path.write_text(path.read_text("utf-8").replace('"format_version": 1', '"format_version": 99'), "utf-8")


def test_a_file_of_a_later_version_is_refused_by_name_and_stays_as_it_is(app: App, data: Path) -> None:
    [conversation] = app.chat.conversations(SESSION, KB)
    questions = app.question_sets.sets(KB)[0]
    place = (SESSION, conversation.conversation_id)
    later: dict[str, Callable[[], object]] = {
        "app_settings.json": lambda: build_app(load_settings(data_dir=data)),
        "run_presets.json": lambda: app.presets.save("x", {}),
        f"kb/{KB}/evaluation/sets/{questions.set_id}.json": lambda: app.question_sets.save(questions),
        f"kb/{KB}/evaluation/reviews.jsonl": lambda: app.get(Reviews).summary(KB),
        f"kb/{KB}/evaluation/promise.json": lambda: app.get(Promises).make(KB, ASKED, 0.1),
        f"conversations/{SESSION}/{conversation.conversation_id}.jsonl": lambda: app.chat.conversation(*place),
        f"results/{RETRIEVED}/manifest.json": lambda: RunFolder(data / "results", RETRIEVED).manifest(),
        f"results/{RETRIEVED}/{RETRIEVED}.json": lambda: app.archive.run(RETRIEVED),
        f"kb/{KB}/kb.json": lambda: app.kbs.store.rename(KB, "x"),
    }
    for name, work in later.items():
        before = (data / name).read_bytes()
        _later(data / name)
        content = (data / name).read_bytes()
        with pytest.raises(ChatbotError, match=r"99.*up to \d.*[Uu]pdate the program"):
            work()
        assert (data / name).read_bytes() == content != before, name
        (data / name).write_bytes(before)


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
    assert (runs, len(unreadable)) == ([], len(RUNS))
    assert app.archive.notes() == {}
    assert (app.uploads.upload(UPLOADED), app.kb_evaluation.jobs(KB), app.kbs.records()) == (None, [], [])
    assert "run_notes.jsonl" in caplog.text
    assert {name: (data / name).read_bytes() for name in names} == contents
    with sqlite3.connect(app.settings.reply_cache_path) as cache:
        cache.execute("PRAGMA user_version=99")
    with pytest.raises(CacheUnusable, match=r"later version.*99"):
        ReplyCache(app.settings.reply_cache_path).get(b"1" * 32)


def test_keys_of_a_later_version_are_ignored(app: App, data: Path) -> None:
    """A newer server on the same folder may add keys as long as those of today keep their meaning."""
    path = data / "results" / ANSWERED / f"{ANSWERED}.json"
    before = app.archive.run(ANSWERED)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "novelty": {"a": 1}}), "utf-8")
    assert app.archive.run(ANSWERED) == before


# --- incomplete files


def _is_told(read: Callable[[], object]) -> bool:
    """Return whether a reader tells that a file is damaged: by an error, or by leaving out what is in it."""
    try:
        return not read()
    except ChatbotError:
        return True


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("kb/*/kb.json", lambda app: app.kbs.records()),
        ("kb/*/files.json", lambda app: app.kbs.store.files(KB)),
        ("kb/*/evaluation/sets/*.json", lambda app: app.question_sets.sets(KB)),
        ("kb/*/evaluation/promise.json", lambda app: app.get(Promises).state(KB)),
        (f"results/{ANSWERED}/manifest.json", lambda app: app.details.manifest(ANSWERED)),
        (f"results/{ANSWERED}/{ANSWERED}.json", lambda app: app.archive.run(ANSWERED)),
        ("submissions.jsonl", lambda app: app.archive.runs()[0]),
        (f"kb_jobs/{UPLOADED}.json", lambda app: app.uploads.upload(UPLOADED)),
        ("kb_evaluation_jobs/*.json", lambda app: app.kb_evaluation.jobs(KB)),
    ],
)
def test_a_file_without_any_one_of_its_keys_is_damaged(
    app: App, data: Path, kind: str, read: Callable[[App], object]
) -> None:
    """What a default would stand for is not what was written."""
    assert not _is_told(lambda: read(app))
    lines = kind.endswith("l")
    for name in _keys(data, kind):
        for path in data.glob(kind):
            whole = path.read_text("utf-8")
            rows = _without([json.loads(text) for text in (whole.splitlines() if lines else [whole])], name)
            path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        assert _is_told(lambda: read(app)), name
        for path in data.glob(kind):
            path.write_bytes((V1 / path.relative_to(data)).read_bytes())


def _keys(data: Path, kind: str) -> list[str]:
    text = next(data.glob(kind)).read_text("utf-8")
    found = json.loads(text.splitlines()[0] if kind.endswith("l") else text)
    return list(found[0] if isinstance(found, list) else found)


def _without(rows: Any, name: str) -> Any:
    if isinstance(rows, list):
        return [_without(row, name) for row in rows]
    return {key: value for key, value in rows.items() if key != name}


def test_an_answer_without_any_one_of_its_keys_is_a_damaged_line(app: App, data: Path) -> None:
    [path] = (data / "conversations" / SESSION).glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    answers = [row["answer"] for row in rows if row["type"] == "answer"]
    for answer in [*answers, *(answer["debug"] for answer in answers)]:
        for name in list(answer):
            value = answer.pop(name)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
            [found] = app.chat.conversations(SESSION, KB)
            assert (found.damaged, sum(turn.answer is None for turn in found.turns)) == (1, 1), name
            answer[name] = value
