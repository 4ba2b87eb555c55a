"""Export a run's answers for Ragas itself, as JSON Lines."""

from __future__ import annotations

import json
from typing import Any

from chatbot_mvp.errors import NothingToExport
from chatbot_mvp.exports.base import Exported, ExportFormat, FinishedRun, context_ids
from chatbot_mvp.exports.rankings import UNANSWERED


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
        raise NothingToExport(run_id=run.run_id, form="ragas", reason=UNANSWERED)
    return Exported({f"{run.run_id}_ragas.jsonl": "".join(lines).encode()}, {"left_out": left_out})


EXPORT = ExportFormat("ragas", to_ragas, "answered questions as Ragas reads them", needs_answers=True)
