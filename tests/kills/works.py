"""What the application does while ``tests.kills.app`` kills it, and how to see that nothing of it was lost."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSet, QuestionSetStore, SetQuestion
from chatbot_mvp.knowledge_base.changes import Remove
from chatbot_mvp.knowledge_base.versions import KEPT, NewDocument
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.runs.notes import RunNotes
from chatbot_mvp.runs.records import RunFolder, run_folders
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import ProgressCallback
from tests.fakes import FakeEmbedder, fake_app

Said = list[list[Any]]
"""What a process has reported: lists that begin with "begun", "done", "phase" or "ready"."""
Say = Callable[..., None]

SESSION = "0123456789abcdef"
SOURCE = "# Manual\n\n## Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones.\n"
QUESTION = "¿De cuántos días laborables de vacaciones dispone cada persona?"
ANSWER = "Cada persona dispone de 23 días laborables de vacaciones. [1]"
_TURNS = 20
"""Turns after which a new conversation begins."""


def app_over(data: Path) -> App:
    """Build the application as a process that starts does, with a fake embedding model and the built-in answers."""
    settings = load_settings(
        data_dir=data,
        retrieval_strategy="HYBRID",
        mteb_dataset_name="valle_multihop",
        eval_max_queries=6,
        generation_enabled=True,
    )
    return fake_app(settings, embedder=lambda _: FakeEmbedder(), chat_model=DemoModel)


class Work(ABC):
    """Something that the application does again and again, and how to see that nothing of it was lost."""

    pieces = 2.5
    """A process is killed within the time of so many pieces of work."""

    def __init__(self) -> None:
        self.done: dict[str, Any] = {}
        """Name -> the value that was last reported as done."""
        self.begun: dict[str, list[Any]] = {}
        """Name -> the values that were reported as begun since then."""

    def learn(self, said: Said) -> None:
        """Take what a killed process has reported."""
        for kind, name, value in said:
            if kind == "begun":
                self.begun.setdefault(name, []).append(value)
            elif kind == "done":
                self.done[name] = value
                self.begun.pop(name, None)

    def app(self, data: Path) -> App:
        """Build the application over a data folder."""
        return app_over(data)

    @abstractmethod
    def work(self, app: App, say: Say, number: int) -> None:
        """Do one piece of work. ``number`` is another one each time."""

    @abstractmethod
    def check(self, app: App) -> tuple[list[str], int]:
        """Return (what is not as reported, number of damaged lines)."""

    def wrong(self, found: dict[str, Any]) -> list[str]:
        """Compare values on disk with the reported ones: the last done, or one that was begun after it."""
        legal = {name: [self.done.get(name), *self.begun.get(name, [])] for name in found}
        return [
            f"{name} is {value!r}, not one of {legal[name]}"
            for name, value in found.items()
            if value not in legal[name]
        ]


class SettingsWork(Work):
    """Settings, presets, question sets and tags."""

    def work(self, app: App, say: Say, number: int) -> None:
        value = 1 + number % 40
        sets = QuestionSetStore(app.settings.kb_dir)
        say("phase", "", "setting")
        say("begun", "setting", value)
        app.live.change("kb_top_k", value)
        say("done", "setting", value)
        say("phase", "", "preset")
        say("begun", "preset", value)
        app.presets.save("p", {"retrieval_k": value})
        say("done", "preset", value)
        say("phase", "", "set")
        say("begun", "set", value)
        questions = tuple(SetQuestion(KbQuestion(str(row), QUESTION)) for row in range(value))
        known = sets.all("kb")
        made = QuestionSet("2026-set", "kb", "Set", "0", known[0].changed_at if known else "", questions)
        sets.save(made)
        say("done", "set", value)
        say("phase", "", "note")
        say("begun", "note", value)
        notes = RunNotes(app.settings.run_notes_path)
        before = notes.all().get("run")
        notes.write("run", str(value), before.note if before else "")
        say("done", "note", value)

    def check(self, app: App) -> tuple[list[str], int]:
        own = [preset.changes["retrieval_k"] for preset in app.presets.all() if preset.own]
        sets = QuestionSetStore(app.settings.kb_dir).all("kb")
        note = RunNotes(app.settings.run_notes_path).all().get("run")
        found = {
            "setting": app.settings.kb_top_k if app.settings.app_settings_path.is_file() else None,
            "preset": own[0] if own else None,
            "set": len(sets[0].questions) if sets else None,
            "note": int(note.note) if note else None,
        }
        return self.wrong(found), 0


class ChatWork(Work):
    """Questions, their answers and ratings, in one conversation after the other."""

    def work(self, app: App, say: Say, number: int) -> None:
        kbs = app.kbs.records() or [app.kbs.add("manual.md", SOURCE.encode())]
        kept = app.chat.conversations(SESSION, kbs[0].kb_id)
        if kept and len(kept[0].turns) < _TURNS:
            conversation = kept[0].conversation_id
        else:
            conversation = app.chat.start(SESSION, kbs[0].kb_id, kbs[0].kb_name)
        say("phase", "", "ask")
        live = app.chat.begin(SESSION, conversation, QUESTION, UserContext())
        key = f"{conversation}/{live.turn_id}"
        say("done", key, "asked")
        say("phase", "", "answer")
        live.join(20.0)
        say("done", key, "answered")
        app.chat.rate(SESSION, conversation, live.turn_id, True)
        say("done", key, "rated")

    def check(self, app: App) -> tuple[list[str], int]:
        found, damaged = [], 0
        for conversation in {key.partition("/")[0] for key in self.done}:
            read = app.chat.conversation(SESSION, conversation)
            damaged += read.damaged
            turns = {turn.turn_id: turn for turn in read.turns}
            for turn in read.turns:
                if turn.question != QUESTION or not ANSWER.startswith(turn.text):
                    found.append(f"{conversation}/{turn.turn_id} is {turn.question!r}: {turn.text!r}")
            for key, state in self.done.items():
                if not key.startswith(conversation):
                    continue
                kept = turns.get(key.partition("/")[2])
                answered = kept is not None and kept.state == "done" and kept.text == ANSWER
                rated = kept is not None and kept.feedback is not None
                if kept is None or (state != "asked" and not answered) or (state == "rated" and not rated):
                    found.append(f"{key} was {state}, and is {kept}")
        return found, damaged


def make_room(app: App, say: Say, most: int = 6) -> None:
    """Delete a knowledge base if there are ``most``, the number that are kept."""
    known = app.kbs.records()
    if len(known) >= most:
        say("phase", "", "delete")
        say("begun", known[-1].kb_id, "deleted")
        app.kbs.delete(known[-1].kb_id)
        say("done", known[-1].kb_id, "deleted")


class UploadWork(Work):
    """Uploads of three files each, and deleted knowledge bases."""

    def work(self, app: App, say: Say, number: int) -> None:
        make_room(app, say)
        files = [(f"{part}-{number}.md", f"# {part} {number}\n\n{SOURCE * 20}".encode()) for part in "abc"]
        say("phase", "", "read")
        job = app.uploads.take(files)
        while (upload := app.uploads.upload(job)) is None or upload.job.active:
            if upload is not None and upload.job.phase:
                say("phase", "", upload.job.phase)
            time.sleep(0.005)
        if upload.job.state != "done":
            raise RuntimeError(f"{upload}")
        say("done", upload.kb_id, "kept")

    def check(self, app: App) -> tuple[list[str], int]:
        found = []
        records = {record.kb_id: record for record in app.kbs.records()}
        for kb_id, record in records.items():
            text = app.kbs.store.document(kb_id).text
            if text_hash(text) != record.sha256 or len(app.kbs.store.files(kb_id)) != 3:
                found.append(f"{kb_id} is not whole")
            if len(app.kbs.chunks(kb_id)) != record.chunks:
                found.append(f"{kb_id} has other chunks")
        for kb_id, state in self.done.items():
            deleting = kb_id in self.begun
            if kb_id in records and state == "deleted":
                found.append(f"{kb_id} is there again")
            if kb_id not in records and state == "kept" and not deleting:
                found.append(f"{kb_id} is lost")
        found += [f"{upload.job} runs on" for upload in app.uploads.uploads()]
        return found, 0


class DocumentWork(Work):
    """Documents that come, change and go, drafts that are published or dropped, and versions restored."""

    def work(self, app: App, say: Say, number: int) -> None:
        kbs = app.kbs.records() or [app.kbs.add("a.md", SOURCE.encode())]
        kb_id, changes = kbs[0].kb_id, app.kb_changes
        documents = [document(f"{part}.md", f"# {part} {number}\n\n{SOURCE * 20}") for part in "bc"]
        say("phase", "", "change")
        self._step(app, say, kb_id, lambda: changes.change(kb_id, new=documents))
        say("phase", "", "stage")
        self._step(app, say, kb_id, lambda: changes.change(kb_id, new=[document("d.md", str(number))], stage=True))
        say("phase", "", "publish" if number % 2 else "drop")
        self._step(app, say, kb_id, lambda: changes.publish(kb_id) if number % 2 else changes.drop(kb_id))
        say("phase", "", "remove")
        self._step(app, say, kb_id, lambda: changes.change(kb_id, [Remove("b.md")]))
        say("phase", "", "restore")
        before = changes.history(kb_id)[1].entry.version_id
        self._step(app, say, kb_id, lambda: changes.restore(kb_id, before))

    def _step(self, app: App, say: Say, kb_id: str, step: Callable[[], object]) -> None:
        number = len(app.kb_changes.history(kb_id))
        say("begun", kb_id, number + 1)
        step()
        say("done", kb_id, len(app.kb_changes.history(kb_id)))

    def check(self, app: App) -> tuple[list[str], int]:
        problems = []
        steps = {}
        for record in app.kbs.records():
            history = app.kb_changes.history(record.kb_id)
            steps[record.kb_id] = len(history)
            if len(app.kbs.chunks(record.kb_id)) != record.chunks:
                problems.append(f"{record.kb_id} has other chunks")
            staged = app.kb_changes.staged(record.kb_id)
            names = [step.entry.version_id for step in history if step.kept] + ([staged.version_id] if staged else [])
            for name in names:
                text = app.kbs.store.document(record.kb_id, name).text
                if text_hash(text) != app.kbs.store.record(record.kb_id, name).sha256:
                    problems.append(f"version {name} of {record.kb_id} is not whole")
            if len([step for step in history[:KEPT] if step.kept]) != min(KEPT, len(history)):
                problems.append(f"a version of {record.kb_id} is lost")
        problems += [f"{kb_id} is lost" for kb_id in self.done if kb_id not in steps]
        return problems + self.wrong(steps), 0


def document(path: str, text: str) -> NewDocument:
    return NewDocument(path, ParsedText(text, "utf-8", len(text), False), text.encode())


def figures(result: RunResult) -> str:
    """Return what two runs of the same questions have in common."""
    rows = [(row.query_id, sorted(row.metrics.items())) for row in result.per_query]
    return repr((sorted(result.metrics.items()), sorted(result.scored.items()), rows))


def told(say: Say) -> ProgressCallback:
    return lambda state: say("phase", "", state.phase)


class RunWork(Work):
    """Benchmark runs; the next process resumes what a kill has left."""

    def work(self, app: App, say: Say, number: int) -> None:
        progress = told(say)
        say("phase", "", "prepare")
        results = app.settings.results_dir
        left = [folder.run_id for folder in run_folders(results) if folder.state() == "unfinished"]
        result = app.runs.resume_now(left[0], progress) if left else app.runs.run_now(progress)
        say("phase", "", "end")
        say("done", result.run_id, figures(result))

    def check(self, app: App) -> tuple[list[str], int]:
        found, damaged = [], 0
        results, listed = app.settings.results_dir, [line.run_id for line in app.archive.runs()[0]]
        whole = next(iter(self.done.values()), None)
        for folder in run_folders(results):
            damaged += folder.all_records()[1]
            if folder.finished:
                result = app.archive.run(folder.run_id)
                if whole is not None and figures(result) != whole:
                    found.append(f"{folder.run_id} has another result")
                if listed.count(folder.run_id) != 1:
                    found.append(f"{folder.run_id} is listed {listed.count(folder.run_id)} times")
            elif folder.state() == "running":
                found.append(f"{folder.run_id} runs on")
        found += [f"{run_id} is lost" for run_id in self.done if not RunFolder(results, run_id).finished]
        return found, damaged


WORKS: dict[str, type[Work]] = {
    "settings": SettingsWork,
    "chats": ChatWork,
    "uploads": UploadWork,
    "documents": DocumentWork,
    "runs": RunWork,
}
