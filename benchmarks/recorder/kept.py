"""What this version says of the data folder of an earlier one, and that it goes on where that one ended.

The folder is tests/recording/kept.zip, which ``benchmarks.recorder.keeping`` has made once; a copy of it is opened at
the time at which it was made, so that nothing in it has grown old.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.recorder.facts import JSON, Fact, Place
from benchmarks.recorder.folder import digest, files_with, knowledge_bases
from benchmarks.recorder.keeping import LINK, PURGED_WORD, VISITOR, app_over, archive
from benchmarks.recorder.stable import Stable
from benchmarks.script import ROOT
from chatbot_mvp.app import App
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.storage import clock
from chatbot_mvp.wings.effects.service import Effects
from chatbot_mvp.wings.links.service import AnswerLinks
from chatbot_mvp.wings.promise.service import Promises
from chatbot_mvp.wings.review.service import Reviews
from chatbot_mvp.wings.tune.service import Tuner

ARCHIVE = ROOT / "tests" / "recording" / "kept.zip"


def facts(place: Place) -> Iterator[Fact]:
    """Yield what is listed and read of each kind of data, then what comes of what was under way and of changes."""
    if not ARCHIVE.is_file():
        archive(ARCHIVE)
    with zipfile.ZipFile(ARCHIVE) as packed:
        packed.extractall(place.work)
    data = place.work / "data"
    with at_time((place.work / "made_at.txt").read_text("utf-8")):
        app, stable = app_over(data), Stable({"work": place.work}, today=False)
        told = [*_kbs(app), *_chats(app, (place.work / LINK).read_text("utf-8")), *_measured(app), *_settings(app)]
        told.append(("words", files_with(data, [PURGED_WORD, "vacaciones"])))
        for name, value in told:  # with the times of the folder, which are always the same
            yield (
                Fact(f"kept/{name}", _plain(value))
                if name != "settings"
                else Fact("kept/settings", stable.value(value))
            )
        for name, value in [] if place.sample else _after(app, data):
            yield Fact(f"kept/after/{name}", stable.value(value))


@contextmanager
def at_time(made: str) -> Iterator[type[datetime]]:
    """Let the clock of the program stand where it stood a minute after a time, and go on from there; yield it."""
    shift = datetime.fromisoformat(made) + timedelta(minutes=1) - datetime.now(UTC)

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]  # its own now gives itself; arithmetic does not
            return datetime.now(tz) + shift

    with patch.object(clock, "datetime", Shifted), patch.object(clock, "_latest", datetime.min.replace(tzinfo=UTC)):
        yield Shifted


def _kbs(app: App) -> Iterator[tuple[str, JSON]]:
    for name, value in knowledge_bases(app).items():
        kb_id = value["id"]
        steps = app.kb_changes.history(kb_id)
        first = next(step.entry.version_id for step in reversed(steps) if step.kept)
        yield f"kb/{name}", value
        yield f"kb/{name}/history", [asdict(step) for step in steps]
        yield f"kb/{name}/difference", [asdict(one) for one in app.kb_changes.difference(kb_id, first)]
        yield f"kb/{name}/sets", [_set(one) for one in app.question_sets.sets(kb_id)]
        path = app.chat.questions_path(kb_id)
        yield f"kb/{name}/questions", path.read_text("utf-8").splitlines() if path.is_file() else []
        reviews = app.get(Reviews)
        waiting = [[one.question, one.outcome, one.item_id] for one in reviews.waiting(kb_id, "Eva")]
        yield f"kb/{name}/reviews", {"summary": asdict(reviews.summary(kb_id)), "waiting": waiting}
        promise = app.get(Promises).state(kb_id)
        yield f"kb/{name}/promise", {**asdict(promise), "applies": promise.applies} if promise else None
        effects = app.get(Effects)
        reports = [effects.report(kb_id, one.plan.effects_id).to_json() for one in effects.comparisons(kb_id)]
        yield f"kb/{name}/effects", reports
        yield (
            f"kb/{name}/results",
            [[one.result_id, one.set_name, len(one.rows)] for one in app.kb_evaluation.results(kb_id)],
        )


def _set(questions: Any) -> JSON:
    rows = [[*_plain(asdict(one)).values()] for one in questions.questions]
    return {"id": questions.set_id, "name": questions.name, "rows": rows}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str, ensure_ascii=False))


def _chats(app: App, token: str) -> Iterator[tuple[str, JSON]]:
    for head in app.chat.heads(VISITOR):
        found = app.chat.conversation(VISITOR, head.conversation_id)
        about = [found.kb_names, found.given_title, found.pinned, found.damaged]
        yield f"conversations/{found.title}", {"about": about, "turns": [_turn(app, turn) for turn in found.turns]}
        for form in ("json", "markdown"):
            text = app.chat.export(VISITOR, found.conversation_id, form, "es")
            yield f"conversations/{found.title}/{form}", [len(text), digest(text)]
    shared = app.get(AnswerLinks).shared_by(token)
    yield "link", [shared.turn.question, shared.turn.text, shared.kb_names, shared.ends_at]


def _turn(app: App, turn: Any) -> JSON:
    answer = turn.answer
    sources = [(source, app.answering.citation_now(source)) for source in (answer.sources if answer else ())]
    return {
        "question": turn.question,
        "state": [turn.state, turn.mode, turn.asked_at],
        "answer": [answer.outcome, answer.evidence, turn.text] if answer else None,
        "feedback": asdict(turn.feedback) if turn.feedback else None,
        "sources": [
            [_plain(asdict(source.place)), source.cited, _plain(asdict(now)) if now else None]
            for source, now in sources
        ],
    }


def _measured(app: App) -> Iterator[tuple[str, JSON]]:
    lines, damaged = app.archive.runs()
    notes = app.archive.notes()
    for line in lines:
        run = app.archive.run(line.run_id)
        note = notes.get(line.run_id)
        yield (
            f"runs/{line.run_id}",
            [line.dataset, line.queries, run.metrics, run.intervals, asdict(note) if note else None],
        )
    yield "runs", [[line.run_id for line in lines], damaged, [asdict(one) for one in app.archive.unfinished()]]
    yield "jobs", [[job.job_id, job.state, job.title, job.error_code] for job in app.runs.jobs()]
    compared = [line.run_id for line in lines if line.dataset == "valle_multihop"]
    yield "comparison", _plain(asdict(app.archive.compare(compared)))
    for tune in app.get(Tuner).tunes():
        yield f"tunes/{tune.tune_id}", [tune.state, tune.applied, _plain(asdict(app.get(Tuner).result(tune.tune_id)))]


def _settings(app: App) -> Iterator[tuple[str, JSON]]:
    rows = [(row.form.name, row.value, row.source) for row in app.live.rows()]
    yield "settings", {name: _plain([value, source]) for name, value, source in rows if source != "default"}
    yield "presets", [[one.name, dict(one.changes)] for one in app.presets.all() if one.own]


def _after(app: App, data: Path) -> Iterator[tuple[str, JSON]]:
    """Yield what comes of going on: a run, a draft, a restored version, a purge, a question about each."""
    [unfinished] = app.archive.unfinished()

    def resumed() -> JSON:
        run = app.runs.resume_now(unfinished.run_id)
        return [run.queries, run.metrics]

    # A run of an earlier version of the texts is not the same run any more, and says so.
    yield "resumed", [unfinished.recorded, _tried(resumed)]
    by_name = {record.kb_name: record.kb_id for record in app.kbs.records()}
    rules = by_name["Normas"]
    for question in ("¿Cuántos días laborables de vacaciones hay al año?", "¿De cuántos euros es la dieta completa?"):
        for number in [step.entry.number for step in app.kb_changes.history(rules) if step.kept]:
            answer = app.answering.ask_version(rules, question, str(number))
            yield f"asked/{number}/{question}", [answer.outcome, answer.text, answer.decision.evidence]
    yield "published", _tried(lambda: app.kb_changes.publish(rules).number)
    oldest = app.kb_changes.history(rules)[-1].entry.version_id
    yield "restored", _tried(lambda: app.kb_changes.restore(rules, oldest).number)
    yield "purged by a path it has left", _tried(lambda: asdict(app.kb_changes.purge(rules, ["rrhh/"])))
    yield "purged", _tried(lambda: asdict(app.kb_changes.purge(rules, ["vacaciones.md"])))
    yield "words", files_with(data, ["Se piden por escrito", "vacaciones"])
    yield "kbs", knowledge_bases(app)
    yield "conversations", [dict(_chats(app, (data.parent / LINK).read_text("utf-8")))]


def _tried(work: Any) -> JSON:
    try:
        return work()
    except ChatbotError as error:
        return error.code
