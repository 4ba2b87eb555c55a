"""Export a run's answers for other evaluators: JSON Lines for Ragas, predictions for the official HotpotQA script."""

from __future__ import annotations

import json
from typing import Any

from chatbot_mvp.errors import NothingToExport
from chatbot_mvp.exports.base import Exported, FinishedRun, context_ids

_UNANSWERED = "it has no answer; run the benchmark with --generation"


def to_ragas(run: FinishedRun) -> Exported:
    """Write ``<run_id>_ragas.jsonl``: a line per question with Ragas' columns, the ids of question and documents among
    them; a retrieved context is title and text.

    Unanswered questions are left out and counted in ``left_out``: Ragas would fail on a missing answer, and score an
    empty one wrongly. Rows without a reference answer have no ``reference``, those without relevant documents no
    ``reference_context_ids``.

    Raises:
        NothingToExport: no question was answered.
    """
    lines, left_out = [], 0
    for row in run.result.per_query:
        if row.response is None:
            left_out += 1
            continue
        texts = [found for doc_id in context_ids(row) if (found := run.dataset.document(doc_id)) is not None]
        sample: dict[str, Any] = {
            "id": row.query_id,
            "user_input": row.question,
            "response": row.response,
            "retrieved_contexts": [f"{d.title}\n{d.text}" if d.title else d.text for d in texts],
        }
        if row.answer:
            sample["reference"] = row.answer
        sample["retrieved_context_ids"] = [document.doc_id for document in texts]
        if row.gold:
            sample["reference_context_ids"] = list(row.gold)
        lines.append(json.dumps(sample, ensure_ascii=False) + "\n")
    if not lines:
        raise NothingToExport(run_id=run.run_id, form="ragas", reason=_UNANSWERED)
    return Exported({f"{run.run_id}_ragas.jsonl": "".join(lines).encode()}, {"left_out": left_out})


def to_hotpotqa(run: FinishedRun) -> Exported:
    """Write ``<run_id>_hotpotqa.json`` for hotpot_evaluate_v1.py: ``{"answer": {id: text}, "sp": {id: []}}``.

    Supporting facts are sentences, but a run retrieves passages, so ``sp`` has empty lists. Ignore the script's
    supporting-fact and joint figures. Unanswered questions are left out and counted in ``left_out``.

    Raises:
        NothingToExport: no question was answered.
    """
    answered = {row.query_id: row.response for row in run.result.per_query if row.response is not None}
    if not answered:
        raise NothingToExport(run_id=run.run_id, form="hotpotqa", reason=_UNANSWERED)
    value = {"answer": answered, "sp": {query_id: [] for query_id in answered}}
    return Exported(
        {f"{run.run_id}_hotpotqa.json": json.dumps(value, ensure_ascii=False).encode()},
        {"left_out": len(run.result.per_query) - len(answered)},
    )
