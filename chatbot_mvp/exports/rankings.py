"""Export a run for other evaluators: TREC text files, JSON for ranx and ir_measures, a BEIR folder, HotpotQA answers.

Each function raises NothingToExport if the run has nothing to write in its format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from chatbot_mvp.errors import NothingToExport
from chatbot_mvp.exports.base import Exported, FinishedRun
from chatbot_mvp.metrics.ranking.measures import trec_order

UNANSWERED = "it has no answer; run the benchmark with --generation"
"""Why there is nothing to write."""
_BLANK = re.compile(r"[\s%]")


def to_trec(run: FinishedRun) -> Exported:
    """Write ``<run_id>.run`` (query Q0 document rank score tag) and ``<run_id>.qrels`` (query 0 document grade).

    The score is 1 / rank, because evaluators sort by score and would break ties of the original scores differently.
    White space and % in ids are percent-encoded in both files, because white space separates the columns.
    """
    judged = [
        f"{_token(query)} 0 {_token(doc_id)} {grade}"
        for query, grades in _judgements(run).items()
        for doc_id, grade in grades.items()
    ]
    ranked = _run_lines(run, _rankings(run, "trec"))
    return Exported({f"{run.run_id}.run": ranked, f"{run.run_id}.qrels": _text(judged)})


def to_trec_scores(run: FinishedRun) -> Exported:
    """Write ``<run_id>.scores.run``, a TREC run file with the recorded scores of the retrieval.

    Evaluators sort by these scores. ``reordered`` counts the queries that they rank in another order than the run:
    a reranker changes the order but not the recorded score, and equal scores are ordered by document id.
    """
    recorded = run.scores()
    rankings: dict[str, dict[str, float]] = {}
    for row in run.result.per_query:
        scores = recorded.get(row.query_id, {})
        if row.retrieved and all(doc_id in scores for doc_id in row.retrieved):
            rankings[row.query_id] = {doc_id: scores[doc_id] for doc_id in row.retrieved}
    if not rankings:
        reason = "its records have no scores of its rankings"
        raise NothingToExport(run_id=run.run_id, form="trec_scores", reason=reason)
    reordered = sum(list(ranking) != list(trec_order(ranking)) for ranking in rankings.values())
    return Exported({f"{run.run_id}.scores.run": _run_lines(run, rankings)}, {"reordered": reordered})


def to_json(run: FinishedRun) -> Exported:
    """Write ``<run_id>_run.json`` and ``<run_id>_qrels.json``: query -> document -> score or grade.

    ``ranx.Run.from_file``, ``ranx.Qrels.from_file`` and ir_measures read this form.
    """
    files = {"run": _rankings(run, "json"), "qrels": _judgements(run)}
    return Exported({f"{run.run_id}_{name}.json": _json(value) for name, value in files.items()})


def to_beir(run: FinishedRun) -> Exported:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``: the run's questions and the whole corpus."""
    judged = _judgements(run)
    if not judged:
        raise NothingToExport(run_id=run.run_id, form="beir", reason="its questions have no judgement")
    asked = {row.query_id for row in run.result.per_query}
    corpus = [{"_id": d.doc_id, "title": d.title, "text": d.text} for d in run.dataset.documents]
    queries = [
        {
            "_id": q.query_id,
            "text": q.text,
            "metadata": {name: getattr(q, name) for name in ("answer", "answer_type", "question_type", "level")},
        }
        for q in run.dataset.queries
        if q.query_id in asked
    ]
    qrels = ["query-id\tcorpus-id\tscore"]
    qrels += [f"{q}\t{doc_id}\t{grade}" for q, grades in judged.items() for doc_id, grade in grades.items()]
    return Exported(
        {"corpus.jsonl": _json_lines(corpus), "queries.jsonl": _json_lines(queries), "qrels/test.tsv": _text(qrels)}
    )


def _rankings(run: FinishedRun, form: str) -> dict[str, dict[str, float]]:
    """Return query id -> document id -> 1 / rank.

    Raises:
        NothingToExport: the run ranked no document for any query.
    """
    if not any(row.retrieved for row in run.result.per_query):
        raise NothingToExport(run_id=run.run_id, form=form, reason="it retrieved nothing")
    return {
        row.query_id: {doc_id: 1 / rank for rank, doc_id in enumerate(row.retrieved, 1)} for row in run.result.per_query
    }


def _run_lines(run: FinishedRun, rankings: Mapping[str, Mapping[str, float]]) -> bytes:
    """Return the lines of a TREC run file; each ranking is best first."""
    return _text(
        [
            f"{_token(query)} Q0 {_token(doc_id)} {rank} {score!r} {run.manifest.fingerprint}"
            for query, documents in rankings.items()
            for rank, (doc_id, score) in enumerate(documents.items(), 1)
        ]
    )


def _judgements(run: FinishedRun) -> dict[str, dict[str, int]]:
    """Return the judgements of the run's questions. Queries without judgements are left out: evaluators reject them."""
    qrels = run.dataset.qrels
    return {row.query_id: dict(grades) for row in run.result.per_query if (grades := qrels.get(row.query_id, {}))}


def _token(text: str) -> str:
    return _BLANK.sub(lambda match: quote(match[0], safe=""), text)


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _json_lines(rows: Sequence[object]) -> bytes:
    return b"".join(_json(row) + b"\n" for row in rows)


def to_hotpotqa(run: FinishedRun) -> Exported:
    """Write ``<run_id>_hotpotqa.json`` for hotpot_evaluate_v1.py: ``{"answer": {id: text}, "sp": {id: []}}``.

    Supporting facts are sentences, but a run retrieves passages, so ``sp`` has empty lists. Ignore the script's
    supporting-fact and joint figures. Unanswered questions are left out and counted in ``left_out``.

    Raises:
        NothingToExport: no question was answered.
    """
    answered = {row.query_id: row.response for row in run.result.per_query if row.response is not None}
    if not answered:
        raise NothingToExport(run_id=run.run_id, form="hotpotqa", reason=UNANSWERED)
    content = _json({"answer": answered, "sp": {query_id: [] for query_id in answered}})
    return Exported({f"{run.run_id}_hotpotqa.json": content}, {"left_out": len(run.result.per_query) - len(answered)})
