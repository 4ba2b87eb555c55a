"""A data folder in which every text that is not the app's own is an attempt to make Markdown do something."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chatbot_mvp.api import KbQuestion, SetQuestion, UserContext
from chatbot_mvp.app import App
from chatbot_mvp.runs.line import line_of
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult, parse_result, result_json
from chatbot_mvp.storage.files import write_json
from chatbot_mvp.storage.jsonl import append_lines

_SAMPLE_QUERIES = 3


@dataclass(frozen=True)
class Planted:
    """What the folder holds."""

    runs: tuple[str, str]
    """Two runs on the same data, and everything in them is foreign."""
    ragas: str
    session: str
    kb_id: str


def attempts(place: str) -> str:
    """Return a text that would load pictures from a place, draw icons and formulas, and link, if it were followed."""
    return (
        f"![x]({place}/leak.png) <img src='{place}/img.png'> <script src='{place}/s.js'></script> :material/skull: "
        f":red[r] $x$ [a](javascript:alert(1)) [b]({place}/link) {place}/bare www.c.example c@c.example :smile: "
        "`c` **n**"
    )


def plant(app: App, foreign: str) -> Planted:
    """Fill the folder of an App with knowledge bases, conversations, question sets, runs and jobs made of one text."""
    text = (
        f"# {foreign}\n\nLa dieta {foreign} es de 48 euros.\n\n"
        f"# Otra {foreign}\n\nCada persona {foreign} tiene 23 días.\n"
    )
    kb = app.kbs.add("normas.md", text.encode())
    app.kbs.rename(kb.kb_id, foreign[:120])
    session = app.chat.new_session()
    for question in (f"¿De cuánto es la dieta {foreign}?", f"¿Quién {foreign} inventó la torre?"):
        talk = app.chat.start(session, kb.kb_id, foreign[:120])
        live = app.chat.begin(session, talk, question[:900], UserContext())
        assert live.join(30)
    questions = (
        SetQuestion(
            KbQuestion("a", f"¿De cuánto es {foreign}?", "answerable", text.splitlines()[2], foreign, (foreign,))
        ),
        SetQuestion(KbQuestion("b", f"¿Quién es {foreign}?", "far")),
    )
    made = app.question_sets.empty_set(kb.kb_id, foreign[:80])
    app.question_sets.save(replace(made, questions=questions))
    first = app.runs.run_now(eval_max_queries=_SAMPLE_QUERIES, generation_enabled=False)
    second = app.runs.run_now(eval_max_queries=_SAMPLE_QUERIES, generation_enabled=False)
    for result in (first, second):
        _rewrite(app, result, foreign)
        app.archive.tag(result.run_id, [foreign[:40]], [])
        app.archive.write_note(result.run_id, foreign, "")
    ragas = _ragas(app, first, foreign)
    _unfinished(app, first.run_id, foreign)
    return Planted((first.run_id, second.run_id), ragas, session, kb.kb_id)


def _rewrite(app: App, result: RunResult, foreign: str) -> None:
    """Replace the texts of a run in all of its files, as an imported bundle could."""
    folder = app.settings.results_dir / result.run_id
    values = json.loads((folder / f"{result.run_id}.json").read_text("utf-8"))
    for name in ("dataset", "strategy", "fingerprint", "language", "generator_fingerprint", "judge_fingerprint"):
        values[name] = foreign
    values["generator"] = values["judge"] = foreign
    values["imported"] = "bundle"
    for part in ("metrics", "intervals", "readings", "scored"):
        usual: dict[str, Any] = {"metrics": 0.5, "intervals": [0.4, 0.6], "readings": [0.5, 0.5], "scored": [1, 3]}
        values.setdefault(part, {})[foreign] = usual[part]
    values["failures"] = {foreign: 1}
    values["causes"] = {foreign: 2}
    values["seconds"] |= {foreign: 1.0}
    values["splits"] = {foreign: {foreign: {"recall@5": {"mean": 0.5, "scored": 1, "total": 1, "interval": None}}}}
    for position, row in enumerate(values["per_query"]):
        row |= dict.fromkeys(("question", "answer", "answer_type", "question_type", "level", "response"), foreign)
        row |= {"query_id": f"{foreign} {position}", "cause": foreign, "error": foreign, "failed": position == 0}
        row |= {"judge_reasons": {foreign: foreign}, "metrics": {**row["metrics"], foreign: 0.5}}
        row["retrieved"] = [foreign, *row["retrieved"]]
    write_json(folder / f"{result.run_id}.json", values)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest |= dict.fromkeys(("dataset", "strategy", "fingerprint", "code_version", "prompts", "generator"), foreign)
    manifest["settings_masked"] = dict.fromkeys(manifest["settings_masked"], foreign)
    write_json(folder / "manifest.json", manifest)
    foreign_line = asdict(line_of(parse_result((folder / f"{result.run_id}.json").read_bytes(), result.run_id)))
    append_lines(app.settings.submissions_path, [foreign_line])


def _ragas(app: App, like: RunResult, foreign: str) -> str:
    """Write an evaluation of answers."""
    run_id = "20260101_000000_ragas"
    metric = "ragas_faithfulness"
    row = {
        "query_id": foreign,
        "question": foreign,
        "answer": foreign,
        **dict.fromkeys(("answer_type", "question_type", "level"), ""),
        "retrieved": [],
        "gold": [],
        "response": foreign,
        "metrics": {metric: None},
        "status": {metric: f"not_scored: {foreign}"},
        "details": {metric: {"problem": foreign, "raw": foreign}},
        "failed_metrics": [metric],
    }
    values = {
        **json.loads(json.dumps(result_json(replace(like, per_query=())))),
        "run_id": run_id,
        "kind": "ragas",
        "dataset": foreign,
        "strategy": "",
        "fingerprint": foreign,
        "judge": foreign,
        "language": foreign,
        "metrics": {metric: 0.5, foreign: 0.1},
        "scored": {metric: [1, 1], foreign: [1, 1]},
        "not_scored": {metric: {foreign: 1}},
        "failures": {metric: 1, foreign: 1},
        "per_query": [row],
        "readings": {},
        "intervals": {},
        "splits": {},
        "causes": {},
    }
    folder = app.settings.results_dir / run_id
    folder.mkdir(parents=True)
    write_json(folder / f"{run_id}.json", values)
    manifest = json.loads((app.settings.results_dir / like.run_id / "manifest.json").read_text("utf-8"))
    write_json(folder / "manifest.json", {**manifest, "run_id": run_id, "kind": "ragas"})
    line = asdict(line_of(parse_result((folder / f"{run_id}.json").read_bytes(), run_id)))
    append_lines(app.settings.submissions_path, [line])
    return run_id


def _unfinished(app: App, like: str, foreign: str) -> None:
    """Write a run that was stopped: a manifest alone."""
    manifest = json.loads((app.settings.results_dir / like / "manifest.json").read_text("utf-8"))
    manifest.pop("format_version")
    made = RunManifest(**{**manifest, "run_id": "20260101_000001_stopped", "dataset": foreign, "strategy": foreign})
    RunFolder(Path(app.settings.results_dir), made.run_id).create(made)
    assert asdict(made)["dataset"] == foreign
