"""KB runs as results of question sets, and the figures that ``kb evaluate`` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import ChatbotError, KbResultNotFound
from chatbot_mvp.evaluation.kb.corpus import QUESTIONS
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.evaluation.kb.results import FoundPassage, KbResult, ResultRow
from chatbot_mvp.metrics.decisions import UNANSWERABLE
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.payloads import RETRIEVE, retrieved_of
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.storage.file_cache import FileCache

_KEPT = 50_000_000
"""Total size in bytes of the result files whose content is cached, because a page reads them each time it is drawn."""


class KbRunResults:
    """Reads finished KB runs as results. Safe to share between sessions."""

    def __init__(self, results_dir: Path) -> None:
        self._root = results_dir
        self._read: FileCache[KbResult] = FileCache(_KEPT)

    def all(self, kb_id: str, lines: Sequence[RunLine]) -> list[KbResult]:
        """Return the results of a knowledge base among the listed runs. Unreadable ones are left out."""
        found = []
        for line in lines:
            if line.kind == KB and line.dataset.startswith(f"{kb_id}/"):
                try:
                    found.append(self.load(kb_id, line.run_id))
                except KbResultNotFound:
                    continue
        return found

    def load(self, kb_id: str, run_id: str) -> KbResult:
        """Read a run as a result.

        Raises:
            KbResultNotFound: there is no such finished run over this knowledge base, or a file is unreadable.
        """
        folder = RunFolder(self._root, run_id)
        try:
            found = self._read.get(folder.result_path, lambda: _read(folder))
        except (ChatbotError, OSError, KeyError, ValueError, TypeError) as error:
            raise KbResultNotFound(kb_id=kb_id, result_id=run_id) from error
        if found.kb_id != kb_id:
            raise KbResultNotFound(kb_id=kb_id, result_id=run_id)
        return found


def kb_figures(result: RunResult) -> dict[str, Any]:
    """Return the figures of a KB run, as ``kb evaluate`` prints them. A figure that cannot be computed is None.

    Returns:
        ``questions`` {kind: n}; ``accepted`` {kind: share with evidence >= KB_MIN_EVIDENCE}; ``hit@1``, ``hit@3``,
        ``mrr`` and ``useful`` over the questions whose paragraph is in the knowledge base; ``scored`` their number;
        ``auroc`` {near, far}: evidence of the answerable against those; ``seconds_per_question_p50``, ``_p95``.
    """
    accepted: dict[str, list[float]] = {}
    for row in result.per_query:
        if (answered := row.metrics.get("accepted")) is not None:
            accepted.setdefault(row.question_type, []).append(answered)
        elif (refused := row.metrics.get("refused")) is not None:
            accepted.setdefault(row.question_type, []).append(1 - refused)
    return {
        "questions": dict(Counter(row.question_type or "unknown" for row in result.per_query)),
        "accepted": {kind: sum(values) / len(values) for kind, values in accepted.items()},
        **{name: result.metrics.get(name) for name in ("hit@1", "hit@3", "mrr", "useful")},
        "scored": result.scored.get("mrr", (0, 0))[0],
        "auroc": {kind: result.auroc.get(kind) for kind in UNANSWERABLE},
        **{f"seconds_per_question_{name}": result.question_seconds.get(name) for name in ("p50", "p95")},
    }


def _read(folder: RunFolder) -> KbResult:
    manifest, result = folder.manifest(), folder.result()
    records, _ = folder.records(RETRIEVE)
    questions = {one.question_id: one for one in load_questions(folder.path / QUESTIONS)}
    return _result(manifest, result, records, questions)


def _result(
    manifest: RunManifest,
    result: RunResult,
    records: Mapping[str, QueryRecord],
    questions: Mapping[str, KbQuestion],
) -> KbResult:
    """Return a run as a result. Questions whose retrieval failed have no evidence and are left out."""
    rows = []
    for row in result.per_query:
        if row.evidence is None:
            continue
        retrieved = retrieved_of(records[row.query_id])
        ranks = [rank for rank, doc_id in enumerate(row.retrieved, 1) if doc_id in row.gold]
        rows.append(
            ResultRow(
                questions[row.query_id],
                row.evidence,
                tuple(FoundPassage(*passage) for passage in retrieved.passages),
                retrieved.places,
                next(iter(ranks), None),
                sum(retrieved.seconds.values()),
            )
        )
    facts = manifest.evaluation
    return KbResult(
        manifest.run_id,
        facts["kb_id"],
        facts["kb_sha256"],
        facts["set_id"],
        facts["set_name"],
        manifest.started_at,
        manifest.fingerprint,
        manifest.strategy,
        manifest.settings_masked["kb_min_evidence"],
        tuple(rows),
        kb_figures(result),
        facts["automatic"],
    )
