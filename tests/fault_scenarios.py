"""The writes that ``tests.faults`` lets fail: one per kind of file that the application keeps."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from chatbot_mvp.app import build_app
from chatbot_mvp.chat.conversation import Turn
from chatbot_mvp.chat.conversations import ConversationStore
from chatbot_mvp.chat.feedback import add_question
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.errors import QuestionSetNotFound, RunNotFound
from chatbot_mvp.evaluation.benchmark.presets import Presets
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSet, QuestionSetStore, SetQuestion
from chatbot_mvp.knowledge_base.changes import Put, applied
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import KEPT, NewDocument
from chatbot_mvp.knowledge_base.writing import documents_of
from chatbot_mvp.llm.base import Completion, Usage
from chatbot_mvp.llm.reply_cache import ReplyCache
from chatbot_mvp.runs.line import append_submission, read_submissions
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.notes import RunNotes
from chatbot_mvp.runs.records import QueryRecord, RunFolder, run_folders
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.storage.jsonl import read_lines
from tests.faults import Scenario
from tests.made_results import made_result
from tests.waiting import wait_until

SESSION, CONVERSATION, SET, RUN = "0123456789abcdef", "20260101-000000-000-abcdef", "2026-set", "20260101_run"
LONG = "palabra " * 400

MANIFEST = RunManifest(RUN, "d", "d", "0", "LEXICAL", {}, "f", "1", 2, 3, "2026")


def _live(data: Path) -> LiveSettings:
    return LiveSettings(load_settings(data_dir=data))


def _settings(data: Path) -> list[Any]:
    now = _live(data).current
    return [now.kb_top_k, now.retrieval_k]


def _say(data: Path, kind: str, **fields: Any) -> None:
    ConversationStore(data / "conversations").append(
        SESSION, CONVERSATION, {"type": kind, "turn": "t1", **fields}, durable=True
    )


def _conversation(data: Path) -> Any:
    found = ConversationStore(data / "conversations").load(SESSION, CONVERSATION)
    return [[turn.question, turn.text] for turn in found.turns]


def _begin_conversation(data: Path) -> None:
    _say(data, "conversation", format_version=1, kb_id="kb", kb_name="KB", at="2026")
    _say(data, "question", question=LONG, mode="strict", at="2026")


def _begun_conversation(data: Path) -> Any:
    found = ConversationStore(data / "conversations").list(SESSION, "kb")
    return [one.kb_name for one in found]


def _turn(number: int) -> Turn:
    return Turn("t", f"{number} {LONG}", "strict", "2026")


def _feedback(data: Path) -> Path:
    return data / "kb" / "kb" / "questions.jsonl"


def _notes(data: Path) -> Any:
    found = RunNotes(data / "run_notes.jsonl").all().get(RUN)
    return [found.tags, found.note] if found else None


def _write_note(data: Path) -> None:
    notes = RunNotes(data / "run_notes.jsonl")
    found = notes.all().get(RUN)
    if found is None or found.note != LONG.strip():
        notes.write(RUN, LONG, found.note if found else "")


def _kbs(data: Path) -> Any:
    store = KbStore(data / "kb")
    return [[one.kb_name, len(store.document(one.kb_id).text), len(store.files(one.kb_id))] for one in store.records()]


def _upload(data: Path, name: str) -> None:
    KbStore(data / "kb").add(name, f"# {name}\n\n{LONG}".encode(), 100_000, 10)


def _undone_upload(data: Path, name: str) -> None:
    """Upload a file whose indexing fails, so that all is put back as it was, and then upload it again."""
    content = f"# {name}\n\n{LONG}".encode()
    parsed = parse_upload(name, content, 100_000, 10)
    with suppress(ZeroDivisionError), KbStore(data / "kb").keeping([(name, parsed)], 100_000):
        raise ZeroDivisionError
    _upload(data, name)


def _delete(data: Path) -> None:
    store = KbStore(data / "kb")
    for record in store.records():
        if record.kb_name == "a.md":
            store.delete(record.kb_id)


def _living(data: Path) -> Any:
    """The texts of the current version, the number of its step, and the texts of the draft."""
    store = KbStore(data / "kb")
    [record] = store.records()
    staged = store.staged(record.kb_id)
    draft = store.document(record.kb_id, staged.version_id).text if staged else ""
    return [store.document(record.kb_id).text, record.number, draft]


def _change(data: Path, *texts: str, stage: bool = False) -> None:
    """Replace the first document and add one; publish it or let it wait as the draft. Done again, it does nothing."""
    store = KbStore(data / "kb")
    [record] = store.records()
    store.upgrade(record.kb_id)
    staged = store.staged(record.kb_id)
    base = store.version(record.kb_id, staged.version_id if staged and stage else "")
    new = [
        NewDocument(path, ParsedText(text, "utf-8", len(text), False), text.encode())
        for path, text in zip((base.documents[0].path, "zeta.md"), texts, strict=False)
    ]
    documents = applied(record.kb_id, base.documents, [Put(one) for one in documents_of(new)])
    if documents == base.documents:
        return
    version = store.draft(record.kb_id, documents, 100_000, new)
    if stage:
        store.stage(record.kb_id, version, base.version_id)
    else:
        store.publish(record.kb_id, version, base.version_id, "changed")
        store.collect(record.kb_id, lambda _: False)


def _many_changes(data: Path) -> None:
    _upload(data, "a.md")
    for number in range(KEPT):
        _change(data, f"El texto {number}.")


def _publish(data: Path) -> None:
    store = KbStore(data / "kb")
    [record] = store.records()
    if staged := store.staged(record.kb_id):
        store.publish(record.kb_id, store.version(record.kb_id, staged.version_id), staged.base, "published")


def _join(data: Path) -> None:
    folder = next((data / "kb").glob("*/kb.json")).parent
    KbStore(data / "kb").join(folder.name, (data / "theirs.json").read_bytes())


def _two_machines(data: Path) -> None:
    """Change one knowledge base on two machines. The other one's files arrive here, but for its head."""
    _upload(data, "a.md")
    folder = next((data / "kb").glob("*/kb.json")).parent
    shutil.copytree(data / "kb", data / "other" / "kb")
    _change(data / "other", LONG, "Lo del otro.")
    _change(data, "Lo mío.")
    mine = (folder / "kb.json").read_bytes()
    shutil.copytree(data / "other" / "kb", data / "kb", dirs_exist_ok=True)
    shutil.move(folder / "kb.json", data / "theirs.json")
    (folder / "kb.json").write_bytes(mine)


def _format_1(data: Path) -> None:
    shutil.copytree(Path(__file__).parent / "fixtures" / "v1" / "kb", data / "kb")


def _job(data: Path, name: str) -> None:
    """Upload a file as the pages do, with its job, and wait until it can be asked."""
    app = build_app(load_settings(data_dir=data, retrieval_strategy="LEXICAL", provider="demo"))
    job_id = app.uploads.take([(name, f"# {name}\n\n{LONG}".encode())])
    found = wait_until(lambda: (found := app.uploads.upload(job_id)) and not found.job.active and found, 30, "the job")
    if found.job.error_code:
        raise JobFailed(found.job.error_code)
    for file in found.files:
        if file.code:
            raise JobFailed(file.code)
    if found.job.state != "done":
        raise AssertionError(f"the job is {found.job.state} and names no error")


class JobFailed(Exception):
    """A job ended with an error; it has the error's code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def _asked(data: Path) -> Any:
    """The knowledge bases that can be asked, each with the number of passages found."""
    app = build_app(load_settings(data_dir=data, retrieval_strategy="LEXICAL", provider="demo"))
    return [
        [one.kb_name, len(app.kbs.pipeline(one.kb_id).retrieve(["palabra"])[0].chunks_final)]
        for one in app.kbs.records()
    ]


def _rename(data: Path) -> None:
    store = KbStore(data / "kb")
    store.rename(store.records()[0].kb_id, "Otra")


def _save_set(data: Path, count: int) -> None:
    store = QuestionSetStore(data / "kb")
    try:
        found = store.load("kb", SET)
    except QuestionSetNotFound:
        found = QuestionSet(SET, "kb", "Set", "0")
    store.save(replace(found, questions=tuple(SetQuestion(KbQuestion(str(n), LONG)) for n in range(count))))


def _set(data: Path) -> Any:
    return [len(found.questions) for found in QuestionSetStore(data / "kb").all("kb")]


def _record(data: Path, query_id: str) -> None:
    folder = RunFolder(data / "results", RUN)
    if query_id not in folder.records("retrieve")[0]:
        folder.append_records([QueryRecord(RUN, query_id, "retrieve", "ok", {"text": LONG})])


def _create_run(data: Path) -> None:
    folder = RunFolder(data / "results", RUN)
    try:
        folder.manifest()
    except RunNotFound:
        # A process that died may have left the folder without its manifest; a run then gets another id.
        if folder.path.exists():
            folder.path.rename(folder.path.with_name("left"))
        folder.create(MANIFEST)


def _runs(data: Path) -> Any:
    found = run_folders(data / "results")
    return [[folder.manifest().dataset, folder.finished, len(folder.records("retrieve")[0])] for folder in found]


def _finish(data: Path) -> None:
    folder = RunFolder(data / "results", RUN)
    folder.renew()
    folder.finish(made_result(run_id=RUN, queries=2, documents=3, metrics={"mrr": 0.5}))


def _submit(data: Path, run_id: str) -> None:
    append_submission(data / "submissions.jsonl", made_result(run_id=run_id, metrics={"mrr": 0.5}, started_at=run_id))


def _keep_reply(data: Path, key: bytes) -> None:
    completion = Completion(LONG, "model", 0.0, "stop", Usage(1, 2))
    ReplyCache(data / "cache" / "replies.sqlite").put(key, completion)


def _replies(data: Path) -> Any:
    cache = ReplyCache(data / "cache" / "replies.sqlite")
    return [cache.get(key) is not None for key in (b"1", b"2")]


def _nothing(_: Path) -> None:
    pass


SCENARIOS = {
    "first setting": Scenario(_nothing, lambda data: _live(data).change("kb_top_k", 3), _settings),
    "setting": Scenario(
        lambda data: _live(data).change("kb_top_k", 3), lambda data: _live(data).change("retrieval_k", 7), _settings
    ),
    "preset": Scenario(
        lambda data: Presets(data / "p.json").save("a", {"retrieval_k": 1}),
        lambda data: Presets(data / "p.json").save("b", {"retrieval_k": 2}),
        lambda data: [preset.name for preset in Presets(data / "p.json").all() if preset.own],
    ),
    "new conversation": Scenario(
        _nothing,
        lambda data: _say(data, "conversation", format_version=1, kb_id="kb", kb_name="KB", at="2026"),
        _begun_conversation,
    ),
    "answer": Scenario(
        _begin_conversation,
        lambda data: _conversation(data)[0][1] or _say(data, "text", text=LONG),
        _conversation,
    ),
    "marked question": Scenario(
        lambda data: add_question(_feedback(data), _turn(1), None),
        lambda data: add_question(_feedback(data), _turn(2), "near"),
        lambda data: [row["question"] for row in read_lines(_feedback(data))[0]],
    ),
    "tag": Scenario(
        lambda data: RunNotes(data / "run_notes.jsonl").tag(RUN, ["a"]),
        lambda data: RunNotes(data / "run_notes.jsonl").tag(RUN, ["b"], ["a"]),
        _notes,
    ),
    "note": Scenario(lambda data: RunNotes(data / "run_notes.jsonl").tag(RUN, ["a"]), _write_note, _notes),
    "first upload": Scenario(_nothing, lambda data: _upload(data, "b.md"), _kbs),
    "equal upload": Scenario(
        lambda data: (_upload(data, "a.md"), _upload(data, "b.md")), lambda data: _upload(data, "a.md"), _kbs
    ),
    "first upload, undone and done": Scenario(_nothing, lambda data: _undone_upload(data, "b.md"), _kbs),
    "equal upload, undone and done": Scenario(
        lambda data: (_upload(data, "a.md"), _upload(data, "b.md")), lambda data: _undone_upload(data, "a.md"), _kbs
    ),
    "deleted knowledge base": Scenario(lambda data: (_upload(data, "a.md"), _upload(data, "b.md")), _delete, _kbs),
    "upload by a job": Scenario(lambda data: _job(data, "a.md"), lambda data: _job(data, "b.md"), _asked),
    "renamed knowledge base": Scenario(lambda data: _upload(data, "a.md"), _rename, _kbs),
    "changed documents": Scenario(
        lambda data: _upload(data, "a.md"), lambda data: _change(data, "Otro.", "Uno más."), _living
    ),
    "changed documents, old ones collected": Scenario(_many_changes, lambda data: _change(data, "El último."), _living),
    "draft": Scenario(
        lambda data: _upload(data, "a.md"), lambda data: _change(data, "Otro.", "Uno más.", stage=True), _living
    ),
    "published draft": Scenario(
        lambda data: (_upload(data, "a.md"), _change(data, "Otro.", stage=True)), _publish, _living
    ),
    "heads of two machines": Scenario(_two_machines, _join, _living),
    "changed documents of format 1": Scenario(_format_1, lambda data: _change(data, "Otro.", "Uno más."), _living),
    "new question set": Scenario(_nothing, lambda data: _save_set(data, 2), _set),
    "question set": Scenario(lambda data: _save_set(data, 2), lambda data: _save_set(data, 3), _set),
    "new run": Scenario(_nothing, _create_run, _runs),
    "record of a run": Scenario(
        lambda data: (_create_run(data), _record(data, "q1")), lambda data: _record(data, "q2"), _runs
    ),
    "result of a run": Scenario(_create_run, _finish, _runs),
    "submission": Scenario(
        lambda data: _submit(data, "a"),
        lambda data: _submit(data, "b"),
        lambda data: [run.run_id for run in read_submissions(data / "submissions.jsonl")[0]],
    ),
    "cached reply": Scenario(lambda data: _keep_reply(data, b"1"), lambda data: _keep_reply(data, b"2"), _replies),
    "first cached reply": Scenario(_nothing, lambda data: _keep_reply(data, b"2"), _replies),
}
for _path in Path(__file__).parent.glob("wings/*/fault_scenarios.py"):
    SCENARIOS |= import_module(f"tests.wings.{_path.parent.name}.fault_scenarios").SCENARIOS
