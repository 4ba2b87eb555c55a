"""A run's answers for other evaluators: Ragas' JSON Lines and the official HotpotQA script's predictions."""

from __future__ import annotations

import json
from typing import Any

from chatbot_mvp.exports.exported import Exported, FinishedRun, context_ids


def to_ragas(run: FinishedRun) -> Exported:
    """``<run_id>_ragas.jsonl``: user_input, response, retrieved_contexts (title and text), reference.

    A question that was not answered is left out and counted: a metric over an absent answer would be an error, and over
    an empty one a wrong figure. A question without a reference has none in its row.
    """
    documents = {document.doc_id: document for document in run.dataset.documents}
    lines, left_out = [], 0
    for row in run.result.per_query:
        if row.response is None:
            left_out += 1
            continue
        texts = [documents[doc_id] for doc_id in context_ids(row) if doc_id in documents]
        sample: dict[str, Any] = {
            "user_input": row.question,
            "response": row.response,
            "retrieved_contexts": [f"{d.title}\n{d.text}" if d.title else d.text for d in texts],
        }
        if row.answer:
            sample["reference"] = row.answer
        lines.append(json.dumps(sample, ensure_ascii=False) + "\n")
    return Exported({f"{run.run_id}_ragas.jsonl": "".join(lines).encode()}, {"left_out": left_out})


def to_hotpotqa(run: FinishedRun) -> Exported:
    """``<run_id>_hotpotqa.json``: ``{"answer": {query_id: text}, "sp": {query_id: []}}`` for hotpot_evaluate_v1.py.

    Supporting facts are sentences, which a run over passages does not tell, so ``sp`` holds empty lists: the script's
    figures for them and its joint ones mean nothing here. Questions that were not answered are left out and counted.
    """
    answered = {row.query_id: row.response for row in run.result.per_query if row.response is not None}
    value = {"answer": answered, "sp": {query_id: [] for query_id in answered}}
    return Exported(
        {f"{run.run_id}_hotpotqa.json": json.dumps(value, ensure_ascii=False).encode()},
        {"left_out": len(run.result.per_query) - len(answered)},
    )
