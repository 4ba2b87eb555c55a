"""Log one line of search metrics per question to ``logs/retrieval_metrics.jsonl``, by default without the question."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.quality import average_relevance, was_reranked
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.storage.formats import CHAT_LOG, VERSION
from chatbot_mvp.storage.jsonl import append_lines
from chatbot_mvp.text import fold

log = logging.getLogger(__name__)


class MetricsLog:
    """Appends to one file. If writing fails, the line is lost and a warning is logged."""

    def __init__(self, path: Path, log_queries: bool) -> None:
        """
        Args:
            log_queries: also write the text of the questions.
        """
        self._path = path
        self._log_queries = log_queries

    def append(self, kb_id: str, question: str, answer: Answer, model_name: str) -> None:
        entry = self._entry(kb_id, question, answer, model_name)
        try:
            make_folder(self._path.parent)
            append_lines(self._path, [entry], sync=False)
        except (OSError, ValueError) as error:
            log.warning("the metrics of a question could not be written to %s: %s", self._path, error)

    def _entry(self, kb_id: str, question: str, answer: Answer, model_name: str) -> dict[str, Any]:
        trace, decision = answer.trace, answer.decision
        reranked = was_reranked(trace)
        entry = {
            VERSION: CHAT_LOG,
            "timestamp": utc_now(),
            "query_hash": hashlib.sha256(fold(question).encode("utf-8", "replace")).hexdigest()[:16],
            "kb_id": kb_id,
            "mode": answer.mode,
            "outcome": answer.outcome,
            "why": answer.why,
            "avg_similarity": average_relevance(trace),
            "evidence": round(decision.evidence, 4),
            "topic": trace.topic,
            "relevance": decision.relevance,
            "decided_by": decision.reason,
            "enough": decision.enough,
            "query_expanded": bool(trace.query_expanded),
            "followup": answer.search.how or None,
            "reranked": reranked,
            "method": answer.strategy + ("+reranking" if reranked else ""),
            "unsupported": sum(not statement.supported for statement in answer.statements),
            "seconds": round(answer.seconds, 4),
            "provider": model_name,
            "fell_back": answer.fell_back,
            "fingerprint": answer.fingerprint,
        }
        if self._log_queries:
            entry |= {"query": question, "searched": trace.query_expanded or trace.query}
        return entry
