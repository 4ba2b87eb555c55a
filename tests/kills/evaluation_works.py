"""Tunes, exchanges with a bucket, promises and reviews, while ``tests.kills.app`` kills them; see ``works``."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from chatbot_mvp.wings.promise.service import Promises
from chatbot_mvp.wings.review.service import Reviews
from chatbot_mvp.wings.review.verdicts import question_id, state_of, verdict_of
from chatbot_mvp.wings.sharing.service import Sharing
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import TuneOptions, TuneResult
from tests.fakes import FakeEmbedder, fake_app
from tests.kills.works import QUESTION, SESSION, SOURCE, Say, Work, make_room, told

BUCKET_VARIABLES = ("CHAOS_S3_ENDPOINT", "CHAOS_S3_KEY", "CHAOS_S3_SECRET", "CHAOS_S3_BUCKET")
"""Environment variables that name the bucket of ``SyncWork``."""
SPACE = 'retrieval_strategy = ["LEXICAL", "BRIDGE"]\n'
REVIEWER = "Ana"
_BEGINNINGS = ("", "Dime: ", "Por favor: ", "Otra vez: ", "Y ahora: ", "Repito: ")
"""Of questions that ask the same; a number in them would be missed in the document."""
_NOTES = "run_notes.jsonl"


def outcome(result: TuneResult) -> str:
    """Return what two tunes of the same plan have in common."""
    return repr((result.verdict, result.winner, result.runner_up, len(result.rounds)))


class TuneWork(Work):
    """Tunes over the bundled data set; the next process resumes what a kill has left."""

    pieces = 1.2

    def app(self, data: Path) -> App:
        settings = load_settings(data_dir=data, retrieval_strategy="SIMPLE_VECTOR", provider="demo")
        return fake_app(settings, embedder=lambda _: FakeEmbedder())

    def work(self, app: App, say: Say, number: int) -> None:
        progress = told(say)
        say("phase", "", "plan")
        left = [state.tune_id for state in app.get(Tuner).tunes() if state.result is None]
        if not left:
            space = app.settings.data_dir / "space.toml"
            space.parent.mkdir(parents=True, exist_ok=True)
            space.write_text(SPACE, "utf-8")
            plan = app.get(Tuner).plan("valle_multihop", options=TuneOptions(space=space))
            left = [app.get(Tuner).create(plan)]
        result = app.get(Tuner).resume_now(left[0], progress)
        say("phase", "", "end")
        say("done", left[0], outcome(result))

    def check(self, app: App) -> tuple[list[str], int]:
        found = []
        states = {state.tune_id: state for state in app.get(Tuner).tunes()}
        whole = next(iter(self.done.values()), None)
        for tune_id, state in states.items():
            if state.result is not None and whole is not None and outcome(state.result) != whole:
                found.append(f"{tune_id} has another result")
        found += [f"{tune_id} is lost" for tune_id in self.done if not (s := states.get(tune_id)) or not s.result]
        if sum(state.result is None for state in states.values()) > 1:
            found.append("a new tune began beside an unfinished one")
        return found, 0


class SyncWork(Work):
    """A server that adds, deletes and notes, and exchanges with a bucket. The check is a second server on it."""

    def app(self, data: Path) -> App:
        endpoint, key, secret, bucket = (os.environ[name] for name in BUCKET_VARIABLES)
        settings = load_settings(
            data_dir=data,
            retrieval_strategy="LEXICAL",
            provider="demo",
            minio_endpoint=endpoint,
            minio_access_key=key,
            minio_secret_key=secret,
            minio_bucket_name=bucket,
            data_root=f"s3://{bucket}/chaos",
        )
        return fake_app(settings, embedder=lambda _: FakeEmbedder())

    def work(self, app: App, say: Say, number: int) -> None:
        make_room(app, say, most=4)
        say("phase", "", "add")
        record = app.kbs.add(f"manual-{number}.md", f"# {number}\n\n{SOURCE}".encode())
        say("done", record.kb_id, "kept")
        append_lines(app.settings.data_dir / _NOTES, [{"run_id": f"n-{number}", "note": f"{number}", "tags": []}])
        say("done", f"n-{number}", "noted")
        say("phase", "", "exchange")
        app.get(Sharing).exchange("apply")
        say("phase", "", "exchanged")

    def check(self, app: App) -> tuple[list[str], int]:
        other = self.app(app.settings.data_dir.with_name("other"))
        for each in (app, other, app, other):
            each.get(Sharing).exchange("apply")  # many deletions at once wait for a yes
        found, damaged = [], 0
        for name, each in (("this server", app), ("the other", other)):
            ids = {record.kb_id for record in each.kbs.records()}
            rows, torn = read_lines(each.settings.data_dir / _NOTES)
            damaged += torn
            ids |= {str(row.get("run_id")) for row in rows}
            for key, state in self.done.items():
                if state == "deleted" and key in ids:
                    found.append(f"{key} is there again on {name}")
                elif state != "deleted" and key not in ids and key not in self.begun:
                    found.append(f"{key} is lost on {name}")
        conflicts = list((app.settings.data_dir / "conflicts").rglob("*.*"))
        return found + [f"{path.name} was set aside" for path in conflicts], damaged


class PromiseWork(Work):
    """Promises of changing levels from one result."""

    def work(self, app: App, say: Say, number: int) -> None:
        say("phase", "", "evaluate")
        records = app.kbs.records() or [
            app.kbs.add("manual.md", f"{SOURCE}\n{SOURCE[10:]}\nFin del manual.\n".encode())
        ]
        kb_id = records[0].kb_id
        sets = app.question_sets.sets(kb_id)
        if not sets:
            asked = SetQuestion(KbQuestion("q", QUESTION, "far"))
            sets = [app.question_sets.save(replace(app.question_sets.empty_set(kb_id, "mías"), questions=(asked,)))]
        results = app.kb_evaluation.results(kb_id)
        if not results:
            app.kb_evaluation.evaluate(kb_id, sets[0].set_id)
            results = app.kb_evaluation.results(kb_id)
        for step in range(5):
            level = (1 + (number + step) % 40) / 100
            say("phase", "", "promise")
            say("begun", "level", level)
            app.get(Promises).make(kb_id, results[0].result_id, level)
            say("done", "level", level)

    def check(self, app: App) -> tuple[list[str], int]:
        records = app.kbs.records()
        state = app.get(Promises).state(records[0].kb_id) if records else None
        if state is not None and state.changed:
            return [f"the promise is taken back: {state.changed}"], 0
        return self.wrong({"level": state.promise.level if state else None}), 0


class ReviewWork(Work):
    """Verdicts of one reviewer on six answers, again and again."""

    _known: frozenset[str] = frozenset()
    """Ids of answers; one that has its verdict does not wait any more."""

    def work(self, app: App, say: Say, number: int) -> None:
        records = app.kbs.records() or [app.kbs.add("manual.md", SOURCE.encode())]
        kb_id = records[0].kb_id
        conversations = app.chat.conversations(SESSION, kb_id)
        asked = {turn.question for one in conversations for turn in one.turns}
        for beginning in _BEGINNINGS:
            if (question := beginning + QUESTION) not in asked:
                say("phase", "", "ask")
                conversation = app.chat.start(SESSION, kb_id, records[0].kb_name)
                app.chat.begin(SESSION, conversation, question, UserContext()).join(20.0)
        reviews = app.get(Reviews)
        self._known |= {*self.done, *(item.item_id for item in reviews.waiting(kb_id, "nobody else"))}
        for step, item in enumerate(reviews.item(kb_id, one) for one in sorted(self._known)):
            verdict = verdict_of(("right", "wrong", "should_refuse")[(number + step) % 3])
            if item.outcome != "answered" or verdict is None:
                continue
            say("phase", "", "judge")
            say("begun", item.item_id, verdict)
            reviews.judge(kb_id, item, verdict, REVIEWER)
            say("done", item.item_id, verdict)

    def check(self, app: App) -> tuple[list[str], int]:
        records = app.kbs.records()
        path = app.settings.kb_dir / records[0].kb_id / "evaluation" / "reviews.jsonl" if records else None
        if path is None or not path.is_file():
            return [f"{len(self.done)} verdicts are lost"] if self.done else [], 0
        kb_id = records[0].kb_id
        rows, damaged = read_lines(path)
        state = state_of(rows)
        given: dict[str, Any] = {item: one.verdict for (item, _), one in state.given.items()}
        found = self.wrong({item: given.get(item) for item in {*self.done, *given}})
        if not state.given:
            return found, damaged
        # The next line brings the set up to date.
        sets = [one.set_id for one in app.question_sets.sets(kb_id)]
        if len(sets) > 1:
            found.append(f"{len(sets)} sets take the labels")
        app.get(Reviews).choose_set(kb_id, state.set_id or sets[0])
        labels = {one.question.question_id: one.question for one in app.question_sets.sets(kb_id)[0].questions}
        for (item, _), one in state.given.items():
            label = labels.get(question_id(item))
            if label != (replace(one.label, document=label.document) if label and one.label else one.label):
                found.append(f"the label of {item} is {label}, not {one.label}")
        return found, damaged


EVALUATION_WORKS: dict[str, type[Work]] = {
    "tune": TuneWork,
    "sync": SyncWork,
    "promise": PromiseWork,
    "review": ReviewWork,
}
