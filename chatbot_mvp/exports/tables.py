"""Write a finished run as CSV: a summary of one line, and details with one line per query.

None (not scored, or not part of the run) becomes an empty cell.
"""

from __future__ import annotations

from typing import Any

from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.storage.csv_text import csv_text
from chatbot_mvp.storage.files import write_atomically

_IDENTITY = ("run_id", "dataset", "strategy", "fingerprint", "queries", "documents")
_COUNTS = ("abstentions", "rerank_failures", "reranker_rescue_count", "damaged_records")
_OF_QUESTION = ("query_id", "question", "answer", "answer_type", "question_type", "level")


def write_summary_csv(folder: RunFolder, result: RunResult) -> None:
    """Write ``<run_id>_summary.csv``: each mean with its number of scored queries and its 95 % interval."""
    row: dict[str, Any] = {name: getattr(result, name) for name in _IDENTITY}
    if result.corpus_slice:
        row |= {"corpus_slice": result.corpus_slice, "gold_missing": result.gold_missing}
    for name, mean in result.metrics.items():
        row[name] = mean
        row[f"{name}_scored"] = result.scored.get(name, (0, 0))[0]
        row[f"{name}_low"], row[f"{name}_high"] = result.intervals.get(name) or (None, None)
    row |= {name: count for name in _COUNTS if (count := getattr(result, name)) is not None}
    row |= {f"auroc_{kind}": value for kind, value in result.auroc.items()}
    if result.generator:
        row |= {"generator": result.generator, "judge": result.judge}
    write_atomically(folder.path / f"{folder.run_id}_summary.csv", csv_text([row]))


def write_detail_csv(folder: RunFolder, result: RunResult) -> None:
    """Write ``<run_id>_detail.csv``: each query with its metrics, document ids (separated by "|") and failure cause."""
    # Unanswered queries have fewer metrics than answered ones, so collect the names over all rows.
    names = list(dict.fromkeys(name for item in result.per_query for name in item.metrics))
    rows = []
    for item in result.per_query:
        case = AnswerCase(item.response, item.answer, item.answer_type)
        context = item.generation_doc_ids
        rows.append(
            {
                **{name: getattr(item, name) for name in _OF_QUESTION},
                "primary_metric_type": "accuracy" if case.is_label else "f1",
                "generated_answer": item.response,
                **{name: item.metrics.get(name) for name in names},
                "retrieved": "|".join(item.retrieved),
                "gold": "|".join(item.gold),
                "generation_doc_ids": None if context is None else "|".join(context),
                "reranked": item.reranked,
                "cause": item.cause,
                **({"evidence": item.evidence} if result.kind == KB else {}),
                "abstained": item.abstained if result.generator else None,
                "error": item.error,
            }
        )
    write_atomically(folder.path / f"{folder.run_id}_detail.csv", csv_text(rows))
