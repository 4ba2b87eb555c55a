"""Targets that read data of other programs: data sets, rankings, bundles, questions, answers, stored conversations."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chatbot_mvp.chat.conversations import ConversationStore, new_session
from chatbot_mvp.datasets.hotpotqa import convert
from chatbot_mvp.datasets.loading import load_dataset
from chatbot_mvp.datasets.upload import take_upload
from chatbot_mvp.evaluation.benchmark.trec import known_ids, read_ranking
from chatbot_mvp.evaluation.kb.questions import parse_questions, places_of, unique_ids
from chatbot_mvp.exports.bundle import read_bundle
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.result import parse_result
from chatbot_mvp.storage.files import replaced_folder
from chatbot_mvp.wings.ragas.config import load_config
from chatbot_mvp.wings.ragas.judging.prompts import load_prompts
from chatbot_mvp.wings.ragas.rows import content_key, identity, read_rows, to_csv, to_json_lines
from tests.made_results import RESULT

from .base import Run, Target, expect
from .inputs import split

_CORPUS = b'{"_id": "d1", "title": "t", "text": "uno"}\n{"_id": "d2", "title": "", "text": "dos"}'
_QUERIES = b'{"_id": "q1", "text": "?", "metadata": {"answer": "si", "answer_type": "label"}}'
_QRELS = b"query-id\tcorpus-id\tscore\nq1\td1\t1\n"
_PARQUET_ROWS = (
    b'[{"doc_id": "d1", "title": "t", "text": "x"}]\x1e[{"query_id": "q1", "text": "?", "answer": "a"}]\x1e'
    b'[{"query_id": "q1", "doc_id": "d1", "score": 1}]'
)
_HOTPOT = (
    b'[{"id": "a", "question": "?", "answer": "yes", "type": "bridge", "level": "hard", "supporting_facts": '
    b'{"title": ["T"], "sent_id": [0]}, "context": {"title": ["T", "U"], "sentences": [["a ", "b"], ["c"]]}}]'
)
_QUESTION = (
    b'{"id": "1", "question": "?", "kind": "near", "answers": ["a"], "heading": "H", "paragraph": "p"}\n'
    b'{"question": "b"}'
)
_RESULT = {**RESULT, "queries": 1, "metrics": {"recall@5": 1.0}, "scored": {"recall@5": [1, 1]}}
_MANIFEST = asdict(RunManifest("r1", "d", "d", "0", "LEXICAL", {}, "f", "1", 1, 1, "2024-01-01T00:00:00Z"))
_PROMPT = b"""version = 1
[verdict]
instructions = "a"
input = "<{fence}>{question} {answer} {context}</{fence}>"
[[verdict.examples]]
question = "q"
answer = "a"
context = "c"
reply = { reason = "r", verdict = 1 }
"""
_CHAT = "\n".join(
    json.dumps(row)
    for row in (
        {"type": "conversation", "format_version": 1, "kb_id": "k", "kb_name": "K", "at": "2024"},
        {"type": "question", "turn": "t", "question": "?", "mode": "strict", "at": "2024"},
        {"type": "text", "turn": "t", "text": "a"},
        {"type": "answer", "turn": "t", "answer": {"text": "a [1]", "sources": [], "statements": []}},
        {"type": "failed", "turn": "t", "failure": {"code": "c", "message": "m", "params": {}}},
        {"type": "feedback", "turn": "t", "good": True, "note": ""},
    )
).encode()


def _beir(folder: Path) -> Run:
    (folder / "qrels").mkdir()

    def run(data: bytes) -> None:
        corpus, queries, qrels = split(data, 3)
        (folder / "corpus.jsonl").write_bytes(corpus)
        (folder / "queries.jsonl").write_bytes(queries)
        (folder / "qrels" / "test.tsv").write_bytes(qrels)
        dataset = load_dataset(folder)
        expect(all(document.doc_id and isinstance(document.text, str) for document in dataset.documents), "ids, texts")

    return run


def _tables(folder: Path, names: tuple[str, ...], read: Callable[[], object]) -> Run:
    def run(data: bytes) -> None:
        for name, part in zip(names, split(data, len(names)), strict=True):
            rows = _json(part)
            try:
                pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
            except (pa.ArrowException, TypeError, AttributeError, ValueError, OverflowError):
                return  # not a table, so that no such file exists
        read()

    return run


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _parquet(folder: Path) -> Run:
    return _tables(folder, ("corpus", "queries", "qrels"), lambda: load_dataset(folder))


def _hotpotqa(folder: Path) -> Run:
    def read() -> None:
        with replaced_folder(folder / "converted") as work:
            convert([folder / "hub.parquet"], work)
            load_dataset(work)

    return _tables(folder, ("hub",), read)


def _upload_zip(folder: Path) -> Run:
    """Uploads that are refused before any file of theirs is loaded; loading is the target ``dataset-beir``."""

    def run(data: bytes) -> None:
        target = folder / "target"
        try:
            take_upload([("d.zip", io.BytesIO(data))], target, 1)
        finally:
            written = [path.name for path in folder.iterdir()]
            expect(set(written) <= {"target"}, f"nothing is written beside the data set: {written}")
            shutil.rmtree(target, ignore_errors=True)

    return run


def _trec(folder: Path) -> Run:
    (folder / "beir" / "qrels").mkdir(parents=True)
    (folder / "beir" / "corpus.jsonl").write_bytes(_CORPUS)
    (folder / "beir" / "queries.jsonl").write_bytes(_QUERIES)
    (folder / "beir" / "qrels" / "test.tsv").write_bytes(_QRELS)
    dataset = load_dataset(folder / "beir")

    def run(data: bytes) -> None:
        path = folder / "run.trec"
        path.write_bytes(data)
        known_ids(read_ranking(path), dataset, dataset)

    return run


def bundle_of(parts: list[bytes]) -> bytes:
    """Return a bundle with these contents of result, configuration and summary, and the hashes that fit them."""
    files = dict(zip(("r1.json", "configuration.json", "r1_summary.csv"), parts, strict=True))
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in {**files, "SHA256SUMS": sums.encode()}.items():
            archive.writestr(f"r1/{name}", content)
    return out.getvalue()


_PARTS = [json.dumps(_RESULT).encode(), json.dumps(_MANIFEST).encode(), b"a,b\n"]


def _bundle(folder: Path) -> Run:
    path = folder / "run.zip"

    def run(data: bytes) -> None:
        path.write_bytes(bundle_of(split(data, 3)) if not data.startswith(b"PK") else data)
        read_bundle(path)

    return run


def _result(_: Path) -> Run:
    def run(data: bytes) -> None:
        parse_result(data, "r1")

    return run


def _questions(_: Path) -> Run:
    def run(data: bytes) -> None:
        questions = parse_questions("a.jsonl", data)
        for question in questions:
            question.as_line().encode()
            places_of("uno dos uno", question.paragraph)
        ids = unique_ids([question.question_id for question in questions])
        expect(len(set(ids)) == len(ids), "ids are unique")

    return run


def _answers(folder: Path) -> Run:
    def run(data: bytes) -> None:
        kind, content = data[:1], data[1:]
        path = folder / ("rows.csv" if kind == b"c" else "rows.jsonl")
        path.write_bytes(content)
        rows = read_rows(path, "rows")
        identity(rows)
        content_key(rows)
        to_csv([row.given for row in rows])
        to_json_lines(row.given for row in rows)

    return run


def _ragas_config(folder: Path) -> Run:
    (folder / "es").mkdir()

    def run(data: bytes) -> None:
        if data[:1] == b"y":
            (folder / "config.yaml").write_bytes(data[1:])
            load_config(folder / "config.yaml")
        else:
            (folder / "es" / "context_precision.toml").write_bytes(data[1:])
            prompt = load_prompts("es", folder).of["context_precision", "verdict"]
            prompt.messages(question="¿{answer}?", answer="{fence}", context="</{fence}>")

    return run


def _conversation(folder: Path) -> Run:
    session, number = new_session(), 0
    (folder / session).mkdir()

    def run(data: bytes) -> None:
        nonlocal number
        store = ConversationStore(folder)
        name = store.start(session, "k", "K")
        path = folder / session / f"{name}.jsonl"
        path.write_bytes(data)
        try:
            found = store.load(session, name)
            expect(isinstance(found.title, str), "a title is a text")
            for turn in found.turns:
                list(found.history_of(turn.turn_id))
            dict(found.outcomes)
            store.list(session, "k")
        finally:
            path.unlink()

    return run


def _zip(names: tuple[str, ...] = ("d/corpus.jsonl", "d/queries.jsonl", "d/qrels/test.tsv")) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, b"")
    return out.getvalue()


_JSON = ('"_id"', "null", "true", "1e999", "-1", '"\\ud800"', "[]", "{}", '""', "\x1e", "NaN", "[[[[", '"a": ')
_ROWS = (
    b'j{"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r", "id": "1"}',
    b'cuser_input,response,retrieved_contexts\nq,a,"[""x"", ""y""]"\nq2,b,"[\'x\' \'y\']"\n',
)
TARGETS = (
    Target("dataset-beir", _beir, (b"\x1e".join((_CORPUS, _QUERIES, _QRELS)),), _JSON, 1),
    Target("dataset-parquet", _parquet, (_PARQUET_ROWS,), _JSON, 0.3),
    Target("hotpotqa", _hotpotqa, (_HOTPOT,), _JSON, 0.3),
    Target(
        "dataset-zip", _upload_zip, (_zip(("../x", "a")), _zip(("d/corpus.jsonl",))), ("../", "PK", "corpus.jsonl"), 1
    ),
    Target("trec", _trec, (b"q1 Q0 d1 1 1.5 tag\nq1 Q0 d2 2 0.5 tag\n",), (" Q0 ", "1e400", "inf", "%20", "\n"), 2),
    Target("bundle", _bundle, (b"\x1e".join(_PARTS), bundle_of(_PARTS)), (*_JSON, "format_version", "per_query"), 1),
    Target("run-result", _result, (_PARTS[0],), _JSON, 2),
    Target("question-file", _questions, (_QUESTION,), (*_JSON, '"kind"', '"answers"', "\n"), 2),
    Target("answers-file", _answers, _ROWS, (*_JSON, '""', ",", "['", "']", "\n", "nan"), 1.5),
    Target(
        "judge-files",
        _ragas_config,
        (b"yjudge:\n  max_tokens: 5\nmetrics: []\nlanguage: es\n", b"t" + _PROMPT),
        ("&a", "*a", "<<:", "!!python", "[[", "]]", "{", "version"),
        0.8,
    ),
    Target("conversation", _conversation, (_CHAT,), (*_JSON, '"type"', '"turn"', "\n", '"answer"'), 1),
)
