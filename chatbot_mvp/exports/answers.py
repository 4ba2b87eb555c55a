"""Export a run's answers for other evaluators: predictions for the official HotpotQA script."""

from __future__ import annotations

import json

from chatbot_mvp.errors import NothingToExport
from chatbot_mvp.exports.base import Exported, FinishedRun

UNANSWERED = "it has no answer; run the benchmark with --generation"
"""Why there is nothing to write."""


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
    value = {"answer": answered, "sp": {query_id: [] for query_id in answered}}
    return Exported(
        {f"{run.run_id}_hotpotqa.json": json.dumps(value, ensure_ascii=False).encode()},
        {"left_out": len(run.result.per_query) - len(answered)},
    )
