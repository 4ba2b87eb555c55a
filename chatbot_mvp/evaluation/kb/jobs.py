"""Background jobs that propose or run a knowledge base's questions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.jobs.manager import JobStatus
from chatbot_mvp.runs.records import RunFolder

PROPOSE, RUN = "propose", "run"


@dataclass(frozen=True)
class EvaluationJob:
    """A background job that proposes or runs questions about a knowledge base."""

    status: JobStatus
    kind: str
    """"propose" or "run"."""
    kb_id: str
    made: str
    """Id of the set that the job saves, or of the run, which is shown when it has finished."""


def job_of(status: JobStatus, results_dir: Path) -> EvaluationJob | None:
    """Return what a job of the queue does, by its run's manifest or its own id; None if it is none of these jobs."""
    folder = RunFolder(results_dir, status.job_id)
    if folder.path.is_dir():
        with suppress(ChatbotError, KeyError):
            return EvaluationJob(status, RUN, folder.manifest().evaluation["kb_id"], status.job_id)
    made, kind, kb_id = (*status.job_id.split("-", 2), "", "")[:3]
    return EvaluationJob(status, kind, kb_id, made) if kind in (PROPOSE, RUN) else None
