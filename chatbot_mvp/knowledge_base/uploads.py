"""Files that become knowledge bases, and indexes that are built again, in the background."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from chatbot_mvp.jobs.manager import JobManager, JobState, JobStatus
from chatbot_mvp.knowledge_base.intake import FileState, Intake
from chatbot_mvp.knowledge_base.service import KnowledgeBases
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.clock import sortable_stamp
from chatbot_mvp.storage.files import write_json
from chatbot_mvp.types import Progress, ProgressCallback

_KEPT = 20  # ended jobs whose states stay on disk


@dataclass(frozen=True)
class Upload:
    """Files on their way to a knowledge base, or how that ended."""

    job: JobStatus
    files: tuple[FileState, ...]
    """Empty for an index that is built anew."""
    kb_id: str
    """Of what became of them; "" before, and where nothing did."""


class Uploads:
    """Safe to share between sessions; holds nothing of one user."""

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases) -> None:
        self._live = live
        self._kbs = kbs
        self._folder = live.current.kb_jobs_dir
        # Its own queue: an upload does not wait for an hour's benchmark.
        self._jobs = JobManager(self._folder)

    def take(self, files: Sequence[tuple[str, bytes]], kb_name: str = "") -> str:
        """Make one knowledge base of one or more files, in the background; the job's id.

        What cannot be used is left out with its reason, as is a file that repeats another. A stop leaves nothing.

        Args:
            files: (name, content).
            kb_name: by default made of the files' names.
        """
        settings = self._live.current
        names = [PurePath(name).name for name, _ in files]
        intake = Intake(names, settings.kb_max_chars, settings.kb_max_upload_mb, settings.kb_max_pages)

        def work(job_id: str, progress: ProgressCallback) -> None:
            def told(phase: str) -> None:
                self._write(job_id, intake.states, "")
                progress(Progress(phase, intake.done, len(names)))

            parsed = intake.read([content for _, content in files], told)
            if not parsed:
                return
            known = {record.kb_id for record in self._kbs.store.records()}
            try:
                with self._kbs.store.keeping(parsed, settings.kb_max_chars, kb_name) as record:
                    intake.kept(self._kbs.store.files(record.kb_id), settings.kb_max_chars)
                    told("kb_index")
                    try:
                        self._kbs.pipeline(record.kb_id, progress)
                    except BaseException:
                        if record.kb_id not in known:
                            self._kbs.delete(record.kb_id)
                        raise
            except BaseException:
                # A stop, a full disk, an index that cannot be built: what was not there before is gone again.
                intake.stopped()
                with suppress(OSError):
                    self._write(job_id, intake.states, "")
                raise
            intake.indexed()
            self._write(job_id, intake.states, record.kb_id)

        title = kb_name.strip() or (names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}")
        return self._submit("upload", title, work, intake.states)

    def reindex(self, kb_id: str) -> str:
        """Drop the indexes and vectors of a knowledge base and build them anew, in the background; the job's id.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self._kbs.store.record(kb_id)

        def work(job_id: str, progress: ProgressCallback) -> None:
            self._kbs.forget_index(kb_id)
            self._kbs.store.recount(kb_id)
            self._kbs.pipeline(kb_id, progress)
            self._write(job_id, (), kb_id)

        return self._submit("reindex", record.kb_name, work, ())

    def upload(self, job_id: str) -> Upload | None:
        """A job with the state of each file; None if there is no such job."""
        status = self._jobs.status(job_id)
        return None if status is None else self._upload(status)

    def uploads(self) -> list[Upload]:
        """Those that are queued or running, of all sessions, the newest first."""
        return [self._upload(status) for status in self._jobs.statuses() if status.active]

    def stop(self, job_id: str) -> None:
        """Ask a job to stop at its next clean place."""
        self._jobs.stop(job_id)

    # --- jobs

    def _submit(
        self,
        kind: str,
        title: str,
        work: Callable[[str, ProgressCallback], None],
        states: Sequence[FileState],
    ) -> str:
        job_id = f"{sortable_stamp()}-{kind}-{secrets.token_hex(3)}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._prune()
        self._write(job_id, states, "")
        self._jobs.submit(job_id, title, lambda progress: work(job_id, progress))
        return job_id

    def _upload(self, status: JobStatus) -> Upload:
        try:
            written = json.loads(self._path(status.job_id).read_text("utf-8"))
            files = tuple(FileState(**row) for row in written["files"])
            return Upload(status, ended(files, status.state), written["kb_id"])
        except (OSError, ValueError, TypeError, KeyError):
            return Upload(status, (), "")

    def _write(self, job_id: str, states: Sequence[FileState], kb_id: str) -> None:
        entry = {"kb_id": kb_id, "files": [state.as_dict() for state in states]}
        write_json(self._path(job_id), entry, indent=None, durable=False)

    def _prune(self) -> None:
        old = sorted((status for status in self._jobs.statuses() if not status.active), key=lambda s: s.job_id)
        for status in old[: -_KEPT or None]:
            for path in self._folder.glob(f"{status.job_id}.*"):
                path.unlink(missing_ok=True)

    def _path(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.files"


def ended(files: tuple[FileState, ...], state: JobState) -> tuple[FileState, ...]:
    """The files' states as they are when their job is over: nothing is on its way any more."""
    if state in ("queued", "running", "stopping"):
        return files
    return tuple(file.stopped() if file.active else file for file in files)
