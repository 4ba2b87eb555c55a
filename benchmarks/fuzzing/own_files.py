"""Targets that read files of the project and its users: spaces, baselines, presets, labels, backups, shared roots."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.embedding.own.model_files import read_options
from chatbot_mvp.evaluation.benchmark.presets import Presets
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSet, QuestionSetStore
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.llm.prices import load_prices
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.runs.notes import RunNotes
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.saved import read_choices
from chatbot_mvp.storage.formats import PROMISE, REVIEWS, known_version
from chatbot_mvp.storage.json_object import InvalidJson, read_object
from chatbot_mvp.storage.jsonl import parsed_lines
from chatbot_mvp.wings.backup.reading import open_backup
from chatbot_mvp.wings.backup.writing import MANIFEST
from chatbot_mvp.wings.gate.baseline import read_baseline
from chatbot_mvp.wings.promise.promise import promise_of
from chatbot_mvp.wings.promise.repeats import normalized
from chatbot_mvp.wings.ragas.config import load_config
from chatbot_mvp.wings.ragas.judging.package_files import PACKAGE_FILES, read_package_prompt
from chatbot_mvp.wings.review.verdicts import reviewer_key, state_of, visible_name, with_labels
from chatbot_mvp.wings.sharing.exchange import LEDGER, MARKER, Exchange, read_ledger
from chatbot_mvp.wings.tune.space import read_space
from chatbot_mvp.wings.tune.store import TuneFolder

from .base import Run, Target, expect
from .inputs import split

_DATA = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "v1"
_VERDICT = {
    "type": "verdict",
    "verdict_id": "v-1",
    "item_id": "0" * 12,
    "verdict": "right",
    "reviewer": "Ana",
    "at": "2026-01-01T00:00:00Z",
    "question": "?",
    "answer": "a",
    "outcome": "answered",
    "kind": "answerable",
    "paragraph": "p",
    "heading": "h",
}
_REVIEWS = "\n".join(
    json.dumps({"format_version": 1, **row})
    for row in (
        {"type": "set", "set_id": "s"},
        _VERDICT,
        {**_VERDICT, "type": "decision"},
        {"type": "written", "item_id": "0" * 12, "set_id": "s", "label": ""},
        {"type": "undo", "verdict_id": "v-1"},
    )
).encode()
_PROMISE = {
    "format_version": 1,
    **dict.fromkeys(("level", "confidence", "threshold", "strictest", "bound"), 0.5),
    **dict.fromkeys(("answered", "wrong", "refused", "answerable", "missing", "left_out"), 1),
    "far": {"held": True, "answered": 0, "total": 1, "missing": 0},
    "basis": {**dict.fromkeys(("result_id", "set_id", "set_name", "questions_sha256", "kb_sha256"), "x")}
    | {"fingerprint": "f", "mix": {"far": 1}},
    "scores": [0.5],
    "made_at": "2026",
    "unit": "question",
    **dict.fromkeys(("documents", "least", "labels", "repeated", "sources", "parts"), 1),
}
_BASELINE = {
    "format_version": 1,
    "created_at": "2026",
    "source": {"kb": "k"},
    "gated": ["recall@5"],
    "measured": {
        **dict.fromkeys(("kind", "dataset", "content_sha256", "strategy", "fingerprint", "code_version"), "x"),
        "runs": ["r"],
        "failed": 0,
        "questions": {"q": {"scores": {"recall@5": 1.0}, "noise": {}, "digest": "0"}},
    },
}
_PACKAGE = {
    "language": "spanish",
    "instruction": "i",
    "examples": [{"input": {"question": "q", "answer": "a", "context": "c"}, "output": {"reason": "r", "verdict": 1}}],
}


def _sample(pattern: str) -> bytes:
    """Return a small file of a real data folder."""
    return min(_DATA.glob(pattern), key=lambda path: path.stat().st_size).read_bytes()


_JSON = ('"type"', '"format_version"', "null", "1e999", "-1", '"\\ud800"', "[]", "{}", "\n", "NaN", "[[[[", '"a": ')


def _file(folder: Path, name: str, read: Callable[[Path], object]) -> Run:
    path = folder / name

    def run(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    return run


def _package(folder: Path) -> Run:
    files = list(PACKAGE_FILES)

    def read(path: Path) -> None:
        for file in files[:2]:
            prompt = read_package_prompt(path, file)
            expect(isinstance(prompt.hash, int), "a file has a hash")
            prompt.messages(**dict.fromkeys(file.fields, "¿{answer}?"))

    return _file(folder, "prompt_spanish.json", read)


def _space(folder: Path) -> Run:
    def run(data: bytes) -> None:
        path = folder / ("space.json" if data[:1] == b"j" else "space.toml")
        path.write_bytes(data[1:])
        read_space(path)

    return run


def _tables(folder: Path) -> Run:
    """Tables that administrators write: options of an embedding model, and prices."""

    def run(data: bytes) -> None:
        (folder / "table.toml").write_bytes(data[1:])
        (read_options if data[:1] == b"o" else load_prices)(folder / "table.toml")

    return run


def _choices(folder: Path) -> Run:
    def read(path: Path) -> None:
        names = [preset.name for preset in Presets(path).all()]
        expect(all(isinstance(name, str) for name in names), "names of presets")
        RunNotes(path).all()
        try:
            read_choices(path)
        except InvalidJson:  # ``LiveSettings`` warns of it
            return

    return _file(folder, "choices.json", read)


def _reviews(folder: Path) -> Run:
    def run(data: bytes) -> None:
        rows, _ = parsed_lines(data)
        state = state_of([known_version(row, folder, REVIEWS) for row in rows])
        state.disputed()
        expect(state.last_of("") is None or reviewer_key("") == "", "nobody has no verdict")
        labels = with_labels(QuestionSet("s", "k", "n", "0"), state.pending())
        [each.question.as_line() for each in labels.questions]
        text = data.decode("utf-8", "replace")[:10_000]  # names and questions are short
        expect(reviewer_key(visible_name(text)) == reviewer_key(text), "the shown name is the same person")
        expect(normalized(normalized(text)) == normalized(text), "a normal form stays")

    return run


def _promise(folder: Path) -> Run:
    def read(path: Path) -> None:
        try:
            found = promise_of(read_object(path, PROMISE))
        except (InvalidJson, KeyError, TypeError):  # as ``Promises.state`` does
            return
        expect(isinstance(found.made, bool), "a promise is made or not")

    return _file(folder, "promise.json", read)


def _set(folder: Path) -> Run:
    store = QuestionSetStore(folder)
    saved = store.save(QuestionSet("", "k", "n", "0", questions=()))
    path = next(folder.rglob(f"{saved.set_id}.json"))

    def run(data: bytes) -> None:
        path.write_bytes(data)
        [KbQuestion.as_line(one) for one in store.load("k", saved.set_id).kept]

    return run


def _stored(folder: Path) -> Run:
    """Files of a knowledge base, a run and a tune, which a backup or a bucket may bring."""
    kb, run_folder, tune = folder / "kb" / "k-1", folder / "results" / "r1", folder / "tunes" / "t1"
    for each in (kb, run_folder, tune):
        each.mkdir(parents=True)
    (kb / "source.txt").write_text("# A\n\nuno\n", "utf-8")
    store = KbStore(folder / "kb")
    kept = store.keep([("a.md", ParsedText("uno", "utf-8", 3, False))], 1_000)
    [version] = (folder / "kb" / kept.kb_id / "versions").iterdir()

    def run(data: bytes) -> None:
        kind, content = data[:1], data[1:]
        if kind == b"k":
            (kb / "kb.json").write_bytes(content)
            store.records()
            store.record("k-1")
        elif kind == b"f":
            (kb / "files.json").write_bytes(content)
            store.files("k-1")
        elif kind == b"v":
            version.write_bytes(content)
            KbStore(folder / "kb").document(kept.kb_id)
        elif kind == b"h":
            store.join(kept.kb_id, content)
        elif kind == b"m":
            (run_folder / "manifest.json").write_bytes(content)
            RunFolder(folder / "results", "r1").manifest()
        elif kind == b"r":
            (run_folder / "records.jsonl").write_bytes(content)
            RunFolder(folder / "results", "r1").all_records()
        else:
            (tune / "plan.json").write_bytes(content)
            TuneFolder(folder / "tunes", "t1").plan()

    return run


def backup_of(manifest: bytes, content: bytes) -> bytes:
    """Return a zip with this manifest and one file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(MANIFEST, manifest)
        archive.writestr("data/kb/a/source.txt", content)
    return out.getvalue()


def _backup(folder: Path) -> Run:
    def read(path: Path) -> None:
        with open_backup(path) as backup:
            for entry in (*backup.data, *backup.secrets):
                expect(".." not in entry.name.split("/"), "a name stays in the folder")
                backup.copy(entry)

    def run(data: bytes) -> None:
        path = folder / "backup.zip"
        path.write_bytes(data if data.startswith(b"PK") else backup_of(*split(data, 2)))
        read(path)

    return run


class _Root(Storage):
    """A bucket whose marker and one shared file are the input."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        super().__init__(lambda: None, "memory")
        self.contents = contents

    def files(self, url: S3Url) -> list[RemoteFile]:
        return [RemoteFile(path, len(content), "e") for path, content in self.contents.items()]

    def read(self, url: S3Url, file: RemoteFile, begin: int) -> Iterator[bytes]:
        yield self.contents[file.path][begin:]

    def put(self, content: BinaryIO | bytes, url: S3Url, expected: str | None) -> str:
        return "e"

    def delete(self, url: S3Url, expected: str) -> None:
        return None


def _shared(folder: Path) -> Run:
    beside = {one.name for one in folder.parent.iterdir()}

    def run(data: bytes) -> None:
        marker, ledger, lines, path = split(data, 4)
        (folder / LEDGER).write_bytes(ledger)
        read_ledger(folder / LEDGER)
        (folder / "run_notes.jsonl").write_bytes(b"")
        name = path.decode("utf-8", "replace")[:80]
        Exchange(folder, _Root({MARKER: marker, "run_notes.jsonl": lines, name: b"x"}), S3Url("b", "t")).once()
        found = {one.name for one in folder.parent.iterdir()}
        expect(found == beside, f"nothing is written beside the folder: {found - beside}")

    return run


def _yaml(folder: Path) -> Run:
    return _file(folder, "config.yaml", load_config)


_CONFIG = b"project: .\njudge:\n  model: m\n  max_tokens: 16\nmetrics: [faithfulness]\nlanguage: es\n"
_MANIFEST: dict[str, Any] = {
    "format_version": 1,
    "made_at": "",
    "version": "0",
    "files": {"data/kb/a/source.txt": {"size": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}},
}
TARGETS = (
    Target("ragas-package-prompt", _package, (json.dumps(_PACKAGE).encode(),), (*_JSON, '"examples"', '"input"'), 1),
    Target(
        "ragas-config",
        _yaml,
        (_CONFIG,),
        ("&a", "*a", "<<: ", "!!python/name:", "!!int ", "2024-99-99", "1_0", "0x", "[[", "? ", ": ", "- ", "|\n", "~"),
        0.5,
    ),
    Target(
        "tune-space",
        _space,
        (b"tretrieval_k = [5, 10]\npair = [{retrieval_k = 5, kb_top_k = 3}]\n", b'j{"retrieval_k": [5]}'),
        ("[[", "]]", "{", "=", "retrieval_strategy", "1e9", "2024-01-01", '"""'),
        0.5,
    ),
    Target(
        "tables",
        _tables,
        (
            b'opooling = "mean"\nmax_tokens = 512\n',
            b'p[[price]]\nprovider = "p"\nmodel = "m"\ninput = 1\noutput = 1\ndate = 2026-01-01\nsource = "s"\n',
        ),
        ("[[price]]", "=", "nan", "inf", "1e999", "2024-01-01", "[[[["),
        0.5,
    ),
    Target("gate-baseline", lambda f: _file(f, "b.json", read_baseline), (json.dumps(_BASELINE).encode(),), _JSON, 0.5),
    Target(
        "saved-choices",
        _choices,
        (b'{"settings": {"kb_top_k": 3}, "provider": "demo"}',),
        _JSON,
        0.5,
    ),
    Target("review-file", _reviews, (_REVIEWS,), (*_JSON, '"verdict"', '"decision"', '"undo"', "\u200b"), 0.5),
    Target("promise-file", _promise, (json.dumps(_PROMISE).encode(),), (*_JSON, '"far"', '"basis"'), 0.5),
    Target("question-set", _set, (_sample("kb/*/evaluation/sets/*.json"),), (*_JSON, '"questions"', '"origin"'), 0.5),
    Target(
        "stored-files",
        _stored,
        (
            b"k" + _sample("kb/*/kb.json"),
            b"f" + _sample("kb/*/files.json"),
            b'v{"format_version": 2, "version_id": "a", "documents": [], "files": []}',
            b'h{"format_version": 2, "kb_id": "a", "history": [], "staged": null}',
            b"m" + _sample("results/*/manifest.json"),
            b"r" + _sample("results/*/records.jsonl"),
            b"t{}",
        ),
        (*_JSON, '"query_id"'),
        0.5,
    ),
    Target(
        "backup",
        _backup,
        (json.dumps(_MANIFEST).encode() + b"\x1eabc", backup_of(json.dumps(_MANIFEST).encode(), b"abc")),
        (*_JSON, "../", "PK", '"files"', '"sha256"'),
        0.5,
    ),
    Target(
        "shared-root",
        _shared,
        (
            b'{"format_version": 1, "root": "r"}\x1e{"files": {"a": [1, 2, "e"]}, "root": "r"}'
            b'\x1e{"a": 1}\x1ekb/k/kb.json',
        ),
        (*_JSON, '"files"', "../", "kb/", "results/", "\x1e"),
        0.2,
    ),
)
