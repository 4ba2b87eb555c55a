"""A run's rankings and judgements for other evaluators: TREC's text files, JSON for ranx and ir_measures, BEIR."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from chatbot_mvp.exports.exported import Exported, FinishedRun

_BLANK = re.compile(r"[\s%]")


def to_trec(run: FinishedRun) -> Exported:
    """``<run_id>.run`` (query Q0 document rank score tag) and ``<run_id>.qrels`` (query 0 document grade).

    The score is 1 / rank: evaluators sort by score and would break ties of the real ones in their own ways. White space
    and % in an id are percent-encoded, in both files alike, as columns end at white space.
    """
    lines = [
        f"{_token(query)} Q0 {_token(doc_id)} {rank} {score!r} {run.manifest.fingerprint}"
        for query, documents in _rankings(run).items()
        for rank, (doc_id, score) in enumerate(documents.items(), 1)
    ]
    judged = [
        f"{_token(query)} 0 {_token(doc_id)} {grade}"
        for query, grades in _judgements(run).items()
        for doc_id, grade in grades.items()
    ]
    return Exported({f"{run.run_id}.run": _text(lines), f"{run.run_id}.qrels": _text(judged)})


def to_json(run: FinishedRun) -> Exported:
    """``<run_id>_run.json`` and ``<run_id>_qrels.json``: query -> document -> score or grade.

    As ``ranx.Run.from_file`` and ``ranx.Qrels.from_file`` read them, and as ir_measures takes them.
    """
    files = {"run": _rankings(run), "qrels": _judgements(run)}
    return Exported(
        {f"{run.run_id}_{name}.json": (json.dumps(value, ensure_ascii=False)).encode() for name, value in files.items()}
    )


def to_beir(run: FinishedRun) -> Exported:
    """``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``: the run's questions over its whole corpus."""
    asked = {row.query_id for row in run.result.per_query}
    corpus = [{"_id": d.doc_id, "title": d.title, "text": d.text} for d in run.dataset.documents]
    queries = [
        {
            "_id": q.query_id,
            "text": q.text,
            "metadata": {
                "answer": q.answer,
                "answer_type": q.answer_type,
                "question_type": q.question_type,
                "level": q.level,
            },
        }
        for q in run.dataset.queries
        if q.query_id in asked
    ]
    qrels = ["query-id\tcorpus-id\tscore"]
    qrels += [f"{q}\t{doc_id}\t{grade}" for q, grades in _judgements(run).items() for doc_id, grade in grades.items()]
    return Exported(
        {"corpus.jsonl": _json_lines(corpus), "queries.jsonl": _json_lines(queries), "qrels/test.tsv": _text(qrels)}
    )


def _rankings(run: FinishedRun) -> dict[str, dict[str, float]]:
    return {
        row.query_id: {doc_id: 1 / rank for rank, doc_id in enumerate(row.retrieved, 1)} for row in run.result.per_query
    }


def _judgements(run: FinishedRun) -> dict[str, dict[str, int]]:
    """Of the run's questions; those without any are left out, as evaluators take an empty set for an error."""
    qrels = run.dataset.qrels
    return {row.query_id: dict(grades) for row in run.result.per_query if (grades := qrels.get(row.query_id, {}))}


def _token(text: str) -> str:
    return _BLANK.sub(lambda match: quote(match[0], safe=""), text)


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _json_lines(rows: Sequence[Mapping[str, object]]) -> bytes:
    return _text([json.dumps(row, ensure_ascii=False) for row in rows])
