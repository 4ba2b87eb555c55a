"""Whatever a file of the data folder holds, its readers give a value or an error of the project's tree."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("chatbot_mvp.wings.ragas")  # what it reads and writes is tried here, too

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.runs.lists import leaderboard
from chatbot_mvp.runs.records import RunFolder, run_folders
from chatbot_mvp.settings.model import load_settings
from tests.cases import draws
from tests.test_formats import ANSWERED, KB, KINDS, RETRIEVED, SESSION, UPLOADED, V1

# The files of these wings are among those that are read here.
Promises = pytest.importorskip("chatbot_mvp.wings.promise.service").Promises
Reviews = pytest.importorskip("chatbot_mvp.wings.review.service").Reviews

CONTENTS = {
    "deep lists": b"[" * 50_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "deep, but parsed by Python": b'{"queries": ' + b"[" * 400 + b"]" * 400 + b"}",
    "NaN": b'{"run_id": NaN, "kb_top_k": NaN}',
    "too large": b'{"a": 1e999, "b": ' + b"7" * 10_000 + b"}",
    "no UTF-8": b'{"a": "\xff\xfe"}',
    "zeros": b"\0" * 4_096,
    "NUL": b'{"run_id": "a\\u0000b", "kb_id": "\\u0000", "provider": "\\u0000", "settings": {"\\u0000": 1}}',
    "a list": b"[1, 2]",
    "a text": b'"x"',
    "null": b"null",
    "torn": b'{"run_id": "a',
    "nothing": b"",
}
SETTINGS = {"provider": "demo", "retrieval_strategy": "LEXICAL"}


def readers(app: App, data: Path) -> list[Callable[[], object]]:
    """Everything that pages and commands read when they are opened."""
    return [
        lambda: build_app(load_settings(data_dir=data, **SETTINGS)),
        lambda: app.settings.kb_top_k,
        lambda: app.presets.all(),
        lambda: app.archive.runs(),
        lambda: app.archive.notes(),
        lambda: app.archive.unfinished(),
        lambda: app.archive.run(ANSWERED),
        lambda: app.archive.compare([ANSWERED, RETRIEVED]),
        lambda: [leaderboard(field, field.metrics[0]) for field in app.archive.groups()],
        lambda: app.details.table(ANSWERED),
        lambda: app.details.records(ANSWERED, "q1"),
        lambda: app.details.latencies(ANSWERED),
        lambda: [list(folder.read_events("run_start")) for folder in run_folders(data / "results")],
        lambda: RunFolder(data / "results", ANSWERED).failed_queries(),
        lambda: app.kbs.records(),
        lambda: app.kbs.store.document(KB),
        lambda: app.kbs.store.files(KB),
        lambda: app.chat.conversations(SESSION, KB),
        lambda: [app.chat.export(SESSION, path.stem, "json", "es") for path in (data / "conversations").glob("*/*")],
        lambda: app.question_sets.sets(KB),
        lambda: app.get(Promises).state(KB),
        lambda: app.get(Reviews).summary(KB),
        lambda: app.kb_evaluation.results(KB),
        lambda: app.kb_evaluation.jobs(KB),
        lambda: app.question_sets.chat_questions(KB),
        lambda: app.uploads.upload(UPLOADED),
        lambda: app.uploads.uploads(),
        lambda: app.runs.jobs(),
    ]


def read_all(kind: str, data: Path, contents: Sequence[bytes]) -> None:
    for content in contents:
        for path in data.glob(kind):
            path.write_bytes(content)
        with suppress(ChatbotError):
            app = build_app(load_settings(data_dir=data, **SETTINGS))
            for read in readers(app, data):
                with suppress(ChatbotError):
                    read()


READ = [kind for kind in KINDS if not kind.endswith(("source.txt", ".sqlite"))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(len(READ)), ids=READ)
def test_no_content_of_a_file_breaks_what_reads_it(number: int, tmp_path: Path, clean_env: Path) -> None:
    """Each file gets two of the contents: a deep one, and another one of the rest."""
    data = Path(shutil.copytree(V1, tmp_path / "data"))
    contents = list(CONTENTS.values())
    read_all(READ[number], data, [contents[number % 3], contents[3 + number % (len(contents) - 3)]])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(READ)), ids=READ)
def test_none_of_all_contents_breaks_what_reads_it(number: int, tmp_path: Path, clean_env: Path) -> None:
    """In CI each file gets a quarter of the contents, the next one the next quarter."""
    parts = draws(1, 4)
    chosen = list(CONTENTS.values())[number % parts :: parts]
    read_all(READ[number], Path(shutil.copytree(V1, tmp_path / "data")), chosen)


@pytest.mark.parametrize(
    "kind", ["kb/*/evaluation/sets/*.json", "conversations/*/*.jsonl", "results/*/records.jsonl", "run_notes.jsonl"]
)
def test_a_lone_surrogate_in_any_text_is_read_and_written_again(kind: str, tmp_path: Path, clean_env: Path) -> None:
    data = Path(shutil.copytree(V1, tmp_path / "data"))
    for path in data.glob(kind):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if kind.endswith("l") else None
        texts = [_marked(value) for value in lines] if lines else [_marked(json.loads(path.read_bytes()))]
        path.write_text("\n".join(json.dumps(value) for value in texts) + "\n", "utf-8")
    app = build_app(load_settings(data_dir=data, **SETTINGS))
    for read in readers(app, data):
        with suppress(ChatbotError):
            repr(read()).encode("utf-8")
    app.live.change("retrieval_k", 7)
    app.presets.save("x\ud800", {"retrieval_k": 7})
    assert "x\ufffd" in {preset.name for preset in app.presets.all()}
    for questions in app.question_sets.sets(KB):
        with suppress(ChatbotError):
            app.question_sets.save(questions)


def _marked(value: object) -> object:
    """Append a lone surrogate to the texts that people and models write."""
    if isinstance(value, dict):
        free = ("question", "text", "note", "kb_name", "name", "answer", "generated_answer", "title", "paragraph")
        return {
            name: f"{part}\ud800" if name in free and isinstance(part, str) else _marked(part)
            for name, part in value.items()
        }
    return [_marked(part) for part in value] if isinstance(value, list) else value
