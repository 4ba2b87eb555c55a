"""The knowledge bases' half of the App: files taken in the background, what a KB holds, its name, a new index."""

from __future__ import annotations

import json
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.sources import KbFile, Place, place_of
from chatbot_mvp.errors import KbNotFound, KbUnreadable
from chatbot_mvp.jobs.manager import JobManager, JobState, JobStatus
from chatbot_mvp.knowledge_base.intake import FileState, Intake
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.suggestions import suggest_questions
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk, Progress, ProgressCallback

_KEPT = 20  # ended jobs whose states stay on disk


@dataclass(frozen=True)
class Upload:
    """Files on their way to a knowledge base, or how that ended."""

    job: JobStatus
    files: tuple[FileState, ...]
    """Empty for an index that is built anew."""
    kb_id: str
    """Of what became of them; "" before, and where nothing did."""


@dataclass(frozen=True)
class Repeated:
    """A chunk whose text the knowledge base has more than once."""

    chunk: Chunk
    """The first of them."""
    times: int


@dataclass(frozen=True)
class KbContents:
    """What a knowledge base is made of."""

    files: tuple[KbFile, ...]
    chunks: tuple[Chunk, ...]
    repeated: tuple[Repeated, ...]
    """The most frequent first."""


class Library:
    """Safe to share between sessions; holds nothing of one user."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        store: KbStore,
        build: Callable[[str, ProgressCallback], object],
        forget: Callable[[str], None],
        delete: Callable[[str], None],
    ) -> None:
        """
        Args:
            build: the indexes of a knowledge base.
            forget: its indexes, in memory and on disk.
            delete: it and all that hangs on it.
        """
        self._settings = settings
        self._store = store
        self._build = build
        self._forget = forget
        self._delete = delete
        self._folder = settings().kb_jobs_dir
        # Its own queue: an upload does not wait for an hour's benchmark.
        self._jobs = JobManager(self._folder)
        self._files: dict[str, tuple[KbFile, ...]] = {}
        self._suggested: dict[tuple[str, str, int], tuple[str, ...]] = {}
        self._lock = threading.Lock()

    # --- files into a knowledge base

    def take(self, files: Sequence[tuple[str, bytes]], kb_name: str = "") -> str:
        """Make one knowledge base of one or more files, in the background; the job's id.

        What cannot be used is left out with its reason, as is a file that repeats another. A stop leaves nothing.

        Args:
            files: (name, content).
            kb_name: by default made of the files' names.
        """
        settings = self._settings()
        names = [PurePath(name).name for name, _ in files]
        intake = Intake(names, settings.kb_max_chars, settings.kb_max_upload_mb, settings.kb_max_pages)

        def work(job_id: str, progress: ProgressCallback) -> None:
            def told(phase: str) -> None:
                self._write(job_id, intake.states, "")
                progress(Progress(phase, intake.done, len(names)))

            parsed = intake.read([content for _, content in files], told)
            if not parsed:
                return
            known = {record.kb_id for record in self._store.records()}
            try:
                with self._store.keeping(parsed, settings.kb_max_chars, kb_name) as record:
                    intake.kept(self._store.files(record.kb_id), settings.kb_max_chars)
                    told("kb_index")
                    try:
                        self._build(record.kb_id, progress)
                    except BaseException:
                        if record.kb_id not in known:
                            self._delete(record.kb_id)
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
        record = self._store.record(kb_id)

        def work(job_id: str, progress: ProgressCallback) -> None:
            self._forget(kb_id)
            self._store.recount(kb_id)
            self._build(kb_id, progress)
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

    # --- what is there

    def contents(self, kb_id: str) -> KbContents:
        """
        Raises:
            KbNotFound, KbUnreadable
        """
        chunks = chunk_document(self._store.document(kb_id))
        first: dict[str, Chunk] = {}
        count: Counter[str] = Counter()
        for chunk in chunks:
            key = " ".join(fold(chunk.text).split())
            first.setdefault(key, chunk)
            count[key] += 1
        repeated = tuple(Repeated(first[key], times) for key, times in count.most_common() if times > 1)
        return KbContents(self._store.files(kb_id), tuple(chunks), repeated)

    def place(self, kb_id: str, offset: int) -> Place | None:
        """The file and page that a character of a knowledge base is from; None where the KB is gone."""
        if kb_id not in self._files:
            try:
                self._files[kb_id] = self._store.files(kb_id)
            except (KbNotFound, KbUnreadable):
                return None
        return place_of(self._files[kb_id], offset)

    def rename(self, kb_id: str, kb_name: str) -> None:
        """Another name; a blank one changes nothing.

        Raises:
            KbNotFound, KbUnreadable
        """
        if name := " ".join(kb_name.split())[:120]:
            self._store.rename(kb_id, name)

    def suggested_questions(self, kb_id: str, limit: int = 4) -> tuple[str, ...]:
        """Questions that the knowledge base should answer, from its headings and definitions.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self._store.record(kb_id)
        key = (kb_id, record.sha256, limit)
        if key not in self._suggested:
            self._suggested[key] = suggest_questions(self._store.document(kb_id), record.language, limit)
        return self._suggested[key]

    # --- jobs

    def _submit(
        self,
        kind: str,
        title: str,
        work: Callable[[str, ProgressCallback], None],
        states: Sequence[FileState],
    ) -> str:
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        job_id = f"{moment}-{kind}-{secrets.token_hex(3)}"
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
        path = self._path(job_id)
        partial = path.with_suffix(".partial")
        entry: Mapping[str, object] = {"kb_id": kb_id, "files": [state.as_dict() for state in states]}
        with self._lock:
            partial.write_text(json.dumps(entry, ensure_ascii=False), "utf-8")
            partial.replace(path)

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
