"""Turn uploaded files into knowledge bases and rebuild indexes, in background jobs."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from chatbot_mvp.documents.names import clean_name, clean_path
from chatbot_mvp.errors import FileOfLaterVersion, KbNotWritten, LimitError, UploadError
from chatbot_mvp.jobs.manager import UNFINISHED, JobManager, JobState, JobStatus
from chatbot_mvp.jobs.states import StateFiles
from chatbot_mvp.knowledge_base.changing import KbChanges
from chatbot_mvp.knowledge_base.intake import FileState, Intake
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.memory import known_chars, require_memory
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.clock import sortable_stamp
from chatbot_mvp.storage.files import make_folder, write_atomically
from chatbot_mvp.storage.formats import JOB, complete, known_version
from chatbot_mvp.types import Progress, ProgressCallback

MOST_FILES = 200
"""Files of one session that can wait at the same time."""
MOST_MB = 200
"""Their size together, in megabytes (10^6 bytes). A single file can be as large as KB_MAX_UPLOAD_MB allows."""
MOST_KBS = 100
"""Knowledge bases that one visitor may have uploaded and that still exist."""

_KEPT = 20  # ended jobs whose states stay on disk
_TURN_S = 10.0  # a job that has read files for longer gives way to the jobs of other sessions


@dataclass(frozen=True)
class Upload:
    """A background job that makes a knowledge base of files, or rebuilds an index: its state or its outcome."""

    job: JobStatus
    files: tuple[FileState, ...]
    """State of each file; empty for a rebuilt index."""
    kb_id: str
    """Id of the knowledge base that was made; "" until then, and if none was made."""
    owner: str = ""
    """The session that started it, as in ``Uploads.take``. Only it and administrators may see names and stop it."""
    into: str = ""
    """Id of the knowledge base that the files are added to; "" if they become a new one."""
    staged: bool = False
    """Whether they are added to its draft."""


class _Owners:
    """Notes which session uploaded a knowledge base, so that one visitor cannot fill the server.

    There is one small file per knowledge base; none for those that commands and samples made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, kb_id: str, owner: str) -> None:
        make_folder(self._folder)
        write_atomically(self._folder / kb_id, owner)

    def count(self, owner: str, existing: Collection[str]) -> int:
        """Return how many of the existing knowledge bases this owner uploaded, and forget those that are deleted."""
        found = 0
        for path in self._folder.glob("[!.]*"):
            if path.name not in existing:
                path.unlink(missing_ok=True)
            elif path.read_text("utf-8") == owner:
                found += 1
        return found


class Uploads:
    """Starts, reports and stops the jobs. Safe to share between sessions: holds no state of a single user."""

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases, changes: KbChanges) -> None:
        self._live = live
        self._kbs = kbs
        self._changes = changes
        self._folder = live.current.kb_jobs_dir
        # A separate queue, so that an upload does not wait for a long benchmark.
        self._jobs = JobManager(self._folder)
        self._states = StateFiles()
        self._owners = _Owners(self._folder / "owners")
        kbs.parsed.prune()
        kbs.pictures.prune()

    @performs(Action.UPLOAD)
    def take(self, files: Sequence[tuple[str, bytes]], kb_name: str = "", owner: str = "") -> str:
        """Make one knowledge base of one or more files in the background, and return the job's id.

        The job ends when the knowledge base can be asked; its vectors follow. A job gives way to those of other
        sessions between two files.

        Unusable files and repeated files are left out; their states say why. A job that does not end leaves nothing
        that can be searched. The files that it has read are kept for a day: the same upload continues behind them.

        Args:
            files: (name, content).
            kb_name: name of the knowledge base; by default made from the files' names.
            owner: the session that uploads the files.

        Raises:
            UploadError (upload_queue_full): too many files of this session are waiting; nothing was started.
            LimitError (too_many_knowledge_bases): this session has uploaded as many as it may; nothing was started.
            UploadError (upload_needs_memory): there is too little memory for as many characters; nothing was started.
            KbNotWritten: the disk is full or refuses to write; nothing was started.
        """
        self._require_share(owner)
        intake = self._intake(files, owner)
        names = [state.name for state in intake.states]
        title = clean_name(kb_name) or clean_name(", ".join(names))

        def keep(found: Sequence[NewDocument], report: Callable[[str], None], progress: ProgressCallback) -> str:
            def kept(record: KbRecord, is_new: bool) -> None:
                intake.kept(self._kbs.store.files(record.kb_id), self._kbs.limits[0])
                if owner and is_new:
                    self._owners.note(record.kb_id, owner)
                report("kb_index")

            kb_id = self._kbs.make(found, kb_name, kept, progress).kb_id
            intake.indexed()
            return kb_id

        return self._read_then(title, intake, keep, owner)

    @performs(Action.CHANGE_KB)
    def add_to(self, kb_id: str, files: Sequence[tuple[str, bytes]], owner: str = "", stage: bool = False) -> str:
        """Add files to a knowledge base in the background, and return the job's id.

        Each replaces the document under its path. Until the new version can be asked, the one before answers; a job
        that does not end leaves that one.

        Args:
            files: (path, content).
            stage: let the new version wait as a draft.

        Raises:
            KbNotFound, KbUnreadable, and what ``take`` raises; nothing was started.
        """
        record = self._kbs.store.record(kb_id)
        intake = self._intake(files, owner, kb_id, stage)

        def keep(found: Sequence[NewDocument], report: Callable[[str], None], progress: ProgressCallback) -> str:
            intake.kept_all()
            report("kb_index")
            changed = self._changes.change(kb_id, new=found, stage=stage, progress=progress)
            intake.kept(self._kbs.store.files(kb_id, changed.version), self._live.current.kb_max_chars)
            intake.indexed()
            return kb_id

        return self._read_then(record.kb_name, intake, keep, owner, kb_id, stage)

    def _intake(self, files: Sequence[tuple[str, bytes]], owner: str, kb_id: str = "", stage: bool = False) -> Intake:
        """Check that there is room for some files, and return what reads them."""
        self._require_room(files, owner)
        require_memory(known_chars(files, self._live.current.kb_max_chars))
        named = [(clean_path(name), content) for name, content in files]
        documents = self._kbs.store.to_change(kb_id, stage)[0].documents if kb_id else ()
        given, require = dict(named), self._kbs.store.require_unpurged(kb_id)
        # A file that is there under its own path says so of that one, whatever other document has the same text.
        known = [(one.sha256, one.path) for one in sorted(documents, key=lambda one: one.path in given)]
        return Intake(named, self._kbs.limits, self._kbs.parsed, known, [one.path for one in documents], require)

    def _read_then(
        self,
        title: str,
        intake: Intake,
        keep: Callable[[Sequence[NewDocument], Callable[[str], None], ProgressCallback], str],
        owner: str,
        into: str = "",
        staged: bool = False,
    ) -> str:
        """Submit the job that reads the files and lets ``keep`` make a knowledge base of them; return its id."""

        def work(job_id: str, progress: ProgressCallback) -> object:
            began = time.monotonic()

            def report(phase: str) -> None:
                self._states.write(self._path(job_id), _entry(owner, intake.states, into=into, staged=staged))
                progress(Progress(phase, intake.done, len(intake.states)))

            def gives_way() -> bool:
                return time.monotonic() - began > _TURN_S and self._jobs.others_wait(owner)

            try:
                found = intake.read(report, gives_way)
                if found is None:
                    return UNFINISHED
                if found:
                    limit = self._live.current.kb_max_chars
                    require_memory(min(limit, sum(len(each.parsed.text) for each in found)))
                    kb_id = keep(found, report, progress)
                    self._states.write(self._path(job_id), _entry(owner, intake.states, kb_id, into, staged))
            except BaseException:
                intake.stopped()
                self._states.write(self._path(job_id), _entry(owner, intake.states, into=into, staged=staged))
                raise
            return None

        return self._submit("upload", title, work, intake.states, owner, into, staged)

    def _require_room(self, files: Sequence[tuple[str, bytes]], owner: str) -> None:
        waiting = [file.size for upload in self.uploads(owner) for file in upload.files if file.active]
        sizes = [*waiting, *(len(content) for _, content in files)]
        most_mb = max(MOST_MB, self._live.current.kb_max_upload_mb)
        if len(sizes) > MOST_FILES or (len(sizes) > 1 and sum(sizes) > most_mb * 1_000_000):
            raise UploadError(
                "upload_queue_full",
                files=len(sizes),
                mb=round(sum(sizes) / 1e6, 1),
                most_files=MOST_FILES,
                most_mb=most_mb,
            )

    def _require_share(self, owner: str) -> None:
        if not owner:
            return
        existing = {record.kb_id for record in self._kbs.store.records()}
        if len(self.uploads(owner)) + self._owners.count(owner, existing) >= MOST_KBS:
            raise LimitError("too_many_knowledge_bases", limit=MOST_KBS)

    @performs(Action.CHANGE_KB)
    def reindex(self, kb_id: str, owner: str = "") -> str:
        """Delete and rebuild the indexes and vectors of a knowledge base in the background; return the job's id.

        Raises:
            KbNotFound, KbUnreadable, KbNotWritten
        """
        record = self._kbs.store.record(kb_id)

        def work(job_id: str, progress: ProgressCallback) -> None:
            self._kbs.forget_index(kb_id)
            self._kbs.store.recount(kb_id)
            self._kbs.growing(kb_id, progress)
            self._states.write(self._path(job_id), _entry(owner, (), kb_id))

        return self._submit("reindex", record.kb_name, work, (), owner)

    @performs(Action.READ)
    def upload(self, job_id: str) -> Upload | None:
        """Return a job with the state of each file; None if there is no such job."""
        status = self._jobs.status(job_id)
        return None if status is None else self._upload(status)

    @performs(Action.READ)
    def uploads(self, owner: str | None = None) -> list[Upload]:
        """Return the queued and running jobs of one session, or of all if ``owner`` is None, newest first."""
        active = [self._upload(status) for status in self._jobs.statuses() if status.active]
        return [upload for upload in active if owner in (None, upload.owner)]

    @performs(Action.STOP_UPLOAD)
    def stop(self, job_id: str) -> None:
        """Ask a job to stop at its next clean place."""
        self._jobs.stop(job_id)

    # --- jobs

    def _submit(
        self,
        kind: str,
        title: str,
        work: Callable[[str, ProgressCallback], object],
        states: Sequence[FileState],
        owner: str,
        into: str = "",
        staged: bool = False,
    ) -> str:
        job_id = f"{sortable_stamp()}-{kind}-{secrets.token_hex(3)}"

        def writing(progress: ProgressCallback) -> object:
            with self._reported(title):
                return work(job_id, progress)

        with self._reported(title):
            make_folder(self._folder)
            self._prune()
            self._states.create(self._path(job_id), _entry(owner, states, into=into, staged=staged))
            self._jobs.submit(job_id, title, writing, owner)
        return job_id

    @contextmanager
    def _reported(self, title: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            path, reason = error.filename or self._live.current.data_dir, error.strerror or str(error)
            raise KbNotWritten(name=title, path=str(path), reason=reason) from error

    def _upload(self, status: JobStatus) -> Upload:
        try:
            path = self._path(status.job_id)
            written = known_version(self._states.read(path), path, JOB)
            # What 1.0.0 did not write yet may be missing.
            later = {"replaces": False, "lost": {}, "original": "", "about": {}}
            files = tuple(FileState(**complete({**later, **row}, FileState)) for row in written["files"])
            return Upload(
                status,
                ended(files, status.state),
                written["kb_id"],
                written["owner"],
                written.get("into", ""),
                written.get("staged", False),
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError, FileOfLaterVersion):
            return Upload(status, (), "")

    def _prune(self) -> None:
        old = sorted((status for status in self._jobs.statuses() if not status.active), key=lambda s: s.job_id)
        for status in old[: -_KEPT or None]:
            for path in self._folder.glob(f"{status.job_id}.*"):
                path.unlink(missing_ok=True)

    def _path(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.files"


def _entry(
    owner: str, states: Sequence[FileState], kb_id: str = "", into: str = "", staged: bool = False
) -> dict[str, object]:
    files = [asdict(state) for state in states]
    return {"kb_id": kb_id, "owner": owner, "into": into, "staged": staged, "files": files}


def ended(files: tuple[FileState, ...], state: JobState) -> tuple[FileState, ...]:
    """The files' states as they are when their job is over: nothing is on its way any more."""
    if state in ("queued", "running", "stopping"):
        return files
    return tuple(file.stopped() if file.active else file for file in files)
