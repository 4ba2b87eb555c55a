"""Turn uploaded files into knowledge bases and rebuild indexes, in background jobs."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from chatbot_mvp.jobs.manager import JobManager, JobState, JobStatus
from chatbot_mvp.knowledge_base.intake import FileState, Intake
from chatbot_mvp.knowledge_base.memory import require_memory
from chatbot_mvp.knowledge_base.service import KnowledgeBases
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.clock import sortable_stamp
from chatbot_mvp.storage.files import write_json
from chatbot_mvp.storage.json_object import VERSION, parse_json
from chatbot_mvp.types import Progress, ProgressCallback

_KEPT = 20  # ended jobs whose states stay on disk


@dataclass(frozen=True)
class Upload:
    """A background job that makes a knowledge base of files, or rebuilds an index: its state or its outcome."""

    job: JobStatus
    files: tuple[FileState, ...]
    """State of each file; empty for a rebuilt index."""
    kb_id: str
    """Id of the knowledge base that was made; "" until then, and if none was made."""


class Uploads:
    """Starts, reports and stops the jobs. Safe to share between sessions: holds no state of a single user."""

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases) -> None:
        self._live = live
        self._kbs = kbs
        self._folder = live.current.kb_jobs_dir
        # A separate queue, so that an upload does not wait for a long benchmark.
        self._jobs = JobManager(self._folder)
        kbs.parsed.prune()

    def take(self, files: Sequence[tuple[str, bytes]], kb_name: str = "") -> str:
        """Make one knowledge base of one or more files in the background, and return the job's id.

        The job ends when the knowledge base can be asked; its vectors follow.

        Unusable files and repeated files are left out; their states say why. A job that does not end leaves nothing
        that can be searched. The files that it has read are kept for a day: the same upload continues behind them.

        Args:
            files: (name, content).
            kb_name: name of the knowledge base; by default made from the files' names.

        Raises:
            UploadNeedsMemory: there is too little memory for as many characters; nothing was started.
        """
        settings = self._live.current
        require_memory(files, settings.kb_max_chars)
        names = [PurePath(name).name for name, _ in files]
        limits = (settings.kb_max_chars, settings.kb_max_upload_mb, settings.kb_max_pages)
        intake = Intake(names, *limits, self._kbs.parsed)

        def work(job_id: str, progress: ProgressCallback) -> None:
            def report(phase: str) -> None:
                self._write(job_id, intake.states, "")
                progress(Progress(phase, intake.done, len(names)))

            parsed = intake.read([content for _, content in files], report)
            if not parsed:
                return
            known = {record.kb_id for record in self._kbs.store.records()}
            try:
                with self._kbs.store.keeping(parsed, settings.kb_max_chars, kb_name) as record:
                    intake.kept(self._kbs.store.files(record.kb_id), settings.kb_max_chars)
                    report("kb_index")
                    try:
                        self._kbs.growing(record.kb_id, progress)
                    except BaseException:
                        if record.kb_id not in known:
                            self._kbs.delete(record.kb_id, keep_parsed=True)
                        raise
            except BaseException:
                # After a stop, a full disk or a failed index, everything is as it was before the upload.
                intake.stopped()
                with suppress(OSError):
                    self._write(job_id, intake.states, "")
                raise
            # Its vectors are computed in a thread of its own, so that the next upload does not wait for them.
            intake.indexed()
            self._write(job_id, intake.states, record.kb_id)

        title = kb_name.strip() or (names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}")
        return self._submit("upload", title, work, intake.states)

    def reindex(self, kb_id: str) -> str:
        """Delete and rebuild the indexes and vectors of a knowledge base in the background; return the job's id.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self._kbs.store.record(kb_id)

        def work(job_id: str, progress: ProgressCallback) -> None:
            self._kbs.forget_index(kb_id)
            self._kbs.store.recount(kb_id)
            self._kbs.growing(kb_id, progress)
            self._write(job_id, (), kb_id)

        return self._submit("reindex", record.kb_name, work, ())

    def upload(self, job_id: str) -> Upload | None:
        """Return a job with the state of each file; None if there is no such job."""
        status = self._jobs.status(job_id)
        return None if status is None else self._upload(status)

    def uploads(self) -> list[Upload]:
        """Return the queued and running jobs of all sessions, newest first."""
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
            written = parse_json(self._path(status.job_id).read_bytes())
            files = tuple(FileState(**row) for row in written["files"])
            return Upload(status, ended(files, status.state), written["kb_id"])
        except (OSError, ValueError, TypeError, KeyError):
            return Upload(status, (), "")

    def _write(self, job_id: str, states: Sequence[FileState], kb_id: str) -> None:
        entry = {VERSION: 1, "kb_id": kb_id, "files": [state.as_dict() for state in states]}
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
