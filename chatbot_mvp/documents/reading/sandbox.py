"""Read one untrusted file in a separate, restricted process.

The process has limited time and memory, and no secrets in its environment. Two fences keep it from everything else:

- Python's audit hook refuses sockets, other programs, signals, SQLite, ``ctypes``, and files outside the libraries. It
  stops code that a document makes Python run. It does not stop machine code, as after a memory error in a parser of C.
- Linux from version 5.13 on (Landlock) refuses in the kernel, for any code: files outside the libraries; from 6.7 on
  TCP connections; from 6.12 on signals to other processes. UDP, other system calls and starting a copy of itself stay
  possible to machine code. On other systems the audit hook is the only fence.

``python -m chatbot_mvp.documents.reading.sandbox JOB`` reads the file from stdin. ``JOB`` is a ``Job`` as JSON. It
writes one JSON object, or one line for each page if only some pages are to be read. Added readers run here, too.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from chatbot_mvp.documents.reading.confinement import confine, readable_folders
from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted
from chatbot_mvp.documents.reading.fences import tell
from chatbot_mvp.documents.reading.reader import CPU_SECONDS_PER_PAGE, MEMORY_MB, GivenFile, PageReader
from chatbot_mvp.documents.reading.readers import reading_of
from chatbot_mvp.errors import ChatbotError, ReaderFailed, UploadError, all_errors
from chatbot_mvp.plugins.kinds import attribute
from chatbot_mvp.storage.json_object import parse_json

READ_SECONDS = 300
"""Time limit for one file by the clock: thirty times what 1,400 pages take on an idle machine."""
CPU_SECONDS = 15
"""Limit of the processor's time for a file and for the first page of a PDF."""
ADDRESSES_MB = 2_000
"""Limit of its address space, which libraries take a part of without using it."""
OUTPUT_MB = 500
"""Limit of what the process writes, on systems that support it."""
_log = logging.getLogger(__name__)
_POLL_S = 0.2
_ROOT = Path(__file__).resolve().parents[3]
_DENIED = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile"),
    *("os.kill", "signal.pthread_kill", "sqlite3.", "ctypes."),
)
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.")


class OutOfTimeError(BaseException):
    """Not an Exception, because readers catch those of damaged pages and go on."""


def read_with(source: str, kind: str, file: GivenFile) -> Extracted:
    """Read a file with a reader, inside the restricted process.

    Args:
        source: "module:function" of the reader.
        kind: the format's name in errors.

    Raises:
        UploadError: the file cannot be read, or its text is too large.
        ReaderFailed: it lacks a module, or was refused a file or a call. The document comes as bytes: no fault of it.
    """
    try:
        found = attribute(source)(file)
        if not isinstance(found, Extracted):
            raise TypeError(f"{source} returned a {type(found).__name__}, not Extracted")
    except OutOfTimeError as error:
        raise UploadError("upload_too_slow", name=file.name, seconds=math.ceil(time.process_time())) from error
    except MemoryError as error:
        raise UploadError("upload_expands", name=file.name, limit_mb=MEMORY_MB) from error
    except Exception as error:
        refused = _refusal_in(error)
        if isinstance(error, ChatbotError) and refused is None:
            raise
        parameters = {"name": file.name, "kind": kind, "reason": _reason(refused or error)}
        if refused is not None or isinstance(error, ImportError):
            raise ReaderFailed(**parameters) from error
        raise UploadError("upload_damaged", **parameters) from error
    if len(found.text) > MAX_TEXT_CHARS:
        raise UploadError("upload_expands", name=file.name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
    return found


def _refusal_in(error: BaseException | None) -> PermissionError | None:
    """Return what was refused to a reader that failed, whatever its libraries made of it."""
    while error is not None and not isinstance(error, PermissionError):
        error = error.__cause__ or error.__context__
    return error


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip(": ")[:200]


def read_pages(
    source: str,
    file: GivenFile,
    pages: Sequence[int],
    options: Mapping[str, Any],
    write: Callable[[dict[str, Any]], None],
) -> None:
    """Read some pages with a reader of pages, and write each as soon as it is read; then ``file.on_pages`` is called.

    A failure is written, too, and ends the reading.
    """
    try:
        for done, (page, text) in enumerate(attribute(source)(file, list(pages), **options), 1):
            write({"page": page, "text": text[:MAX_TEXT_CHARS]})
            file.on_pages(done)
    except (Exception, OutOfTimeError) as error:  # noqa: BLE001 -- the pages that were read are kept
        write({"failed": _reason(error)})


@dataclass(frozen=True, slots=True)
class Job:
    """What the process has to do."""

    kind: str
    name: str
    max_pages: int
    source: str
    """"module:function" of the reader."""
    pages: tuple[int, ...] = ()
    """Numbers from 1 of the pages to read; empty for the whole file."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of a reader of pages."""
    cpu_seconds_per_page: float = 0.0
    """0 for a reader that tells no pages."""
    memory_mb: int = MEMORY_MB
    loads: tuple[str, ...] = ()
    """As in ``PageReader``."""

    @property
    def most_seconds(self) -> float:
        """Limit of the time for all pages."""
        return max(READ_SECONDS, CPU_SECONDS + self.cpu_seconds_per_page * len(self.pages))


def read_apart(
    kind: str,
    name: str,
    content: bytes,
    max_pages: int,
    check: Callable[[], None] = lambda: None,
    seconds: float = READ_SECONDS,
    reader: str = "",
) -> Extracted:
    """Read a file of ``kind``: a suffix that has a reader (".pdf", ".docx", ".html", or one that is added).

    Args:
        check: called a few times a second; an exception from it ends the reading.
        seconds: time limit.
        reader: as in ``readers.reading_of``.

    Raises:
        UploadError: the file cannot be read, or exceeds a limit.
        ReaderFailed: the reader cannot work here, whatever the file.
    """
    found = reading_of(kind, reader)
    per_page = CPU_SECONDS_PER_PAGE if found.has_pages else 0.0
    job = Job(kind, name, max_pages, found.read, cpu_seconds_per_page=per_page, loads=found.loads)
    with _started(job, content, subprocess.PIPE) as process:
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=_POLL_S)
                break
            check()
            if time.monotonic() > deadline:
                raise UploadError("upload_too_slow", name=name, seconds=round(seconds))
    return _answer(kind, name, output, process.returncode)


def read_pages_apart(
    reader: PageReader,
    name: str,
    content: bytes,
    pages: Sequence[int],
    check: Callable[[], None] = lambda: None,
    on_page: Callable[[int, int], None] = lambda done, total: None,
) -> dict[int, str]:
    """Read some pages of a file. What was read before a failure or at a limit is returned, and a warning is logged.

    Args:
        pages: their numbers from 1.
        check: called a few times a second; an exception from it ends the reading.
        on_page: called with (pages read, pages to read) whenever a page was read.

    Returns:
        Page number -> its text, of the pages that have one.
    """
    parts = (dict(reader.options()), reader.cpu_seconds_per_page, reader.memory_mb, reader.loads)
    job = Job(reader.suffix, name, len(pages), reader.read, tuple(pages), *parts)
    deadline = time.monotonic() + 4 * job.most_seconds
    with tempfile.TemporaryFile() as given, _started(job, content, given) as process:
        done, ended = 0, False
        while not ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_POLL_S)
            ended = process.poll() is not None or time.monotonic() > deadline
            lines = _lines(given)
            if len(lines) > done:
                done = len(lines)
                on_page(min(done, len(pages)), len(pages))
            check()
    texts = {line["page"]: str(line["text"]) for line in lines if line.get("page") in pages}
    reasons = [str(line["failed"]) for line in lines if "failed" in line]
    if process.returncode != 0 and not reasons:
        reasons = [f"its process ended with {process.returncode}"]
    if reasons:
        _log.warning("%s: %r stopped after %d of %d pages: %s", name, reader.name, len(texts), len(pages), reasons[0])
    return {page: text for page, text in texts.items() if text.strip()}


def _lines(given: IO[bytes]) -> list[dict[str, Any]]:
    """Return the whole lines that the process has written so far."""
    size = os.fstat(given.fileno()).st_size
    whole = os.pread(given.fileno(), size, 0).rpartition(b"\n")[0]
    return [line for row in whole.splitlines() if isinstance(line := parse_json(row), dict)]


@contextlib.contextmanager
def _started(job: Job, content: bytes, output: int | IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process; it is ended with the block."""
    # A minimal environment: a compromised reader must not find any key in it.
    kept = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    places = os.pathsep.join([str(_ROOT), *_place_of(job.source)])
    environment |= {"PYTHONPATH": places, "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", __name__, json.dumps(asdict(job))]
    # Pass the content in a file: a pipe holds less than most documents and would block the loop that checks the time.
    with tempfile.TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=output, stderr=subprocess.DEVNULL, env=environment)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _place_of(source: str) -> list[str]:
    """Return the folder that an added reader's package is in; none for the program's own."""
    package = source.partition(":")[0].partition(".")[0]
    found = find_spec(package) if package != "chatbot_mvp" else None
    if found is None:
        return []
    places = found.submodule_search_locations or [found.origin or ""]
    return [str(Path(place).resolve().parent) for place in places if place]


def _answer(kind: str, name: str, output: bytes, code: int) -> Extracted:
    try:
        answer = parse_json(output)
    except ValueError as error:
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            raise UploadError("upload_too_slow", name=name, seconds=CPU_SECONDS) from error
        reason = f"its reader ended with {code}"
        if code == 1:  # by an exception of Python, which the reading itself never lets through
            raise ReaderFailed(name=name, kind=kind, reason=reason) from error
        raise UploadError("upload_damaged", name=name, kind=kind, reason=reason) from error
    tell(answer.pop("fences"))
    if "code" in answer:
        raise all_errors()[answer["code"]](answer["code"], **answer["params"])
    return Extracted(**answer | {"page_starts": tuple(answer["page_starts"])})


def _out_of_time(*_: object) -> None:
    raise OutOfTimeError


def _allow_pages(job: Job, pages: int) -> None:
    """Let the reading take the time that a document of which ``pages`` pages are read may need."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        seconds = min(job.most_seconds, CPU_SECONDS + round(job.cpu_seconds_per_page * pages))
        resource.setrlimit(resource.RLIMIT_CPU, (round(seconds), resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _lock_up(job: Job) -> dict[str, Any]:
    """Restrict this process for good: it can only read the files of its libraries. Return its ``Fences``."""
    per_page, memory_mb, limits = job.cpu_seconds_per_page, job.memory_mb, False
    # On systems without these limits, the parent process still enforces the time limit.
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        addresses_mb = ADDRESSES_MB * max(1, memory_mb / MEMORY_MB)
        for limit, mb in (
            (resource.RLIMIT_AS, addresses_mb),
            (resource.RLIMIT_DATA, memory_mb),
            (resource.RLIMIT_FSIZE, OUTPUT_MB),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(limit, (round(mb * 1_000_000), round(mb * 1_000_000)))
        signal.signal(signal.SIGXCPU, _out_of_time)
        # A signal comes at the first limit. Code that does not return to Python is ended at the second one.
        first = CPU_SECONDS + (round(per_page) if job.pages else 0)
        last = max(first, round(job.most_seconds)) if per_page else CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (first, last + 5))
        limits = True
    readable = readable_folders(_ROOT, sys.path)
    landlock = confine([*readable, sys.base_prefix])

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith((*_DENIED, *_CHANGES)):
            raise PermissionError(f"{event} is not allowed here")
        if event == "open" and isinstance(args[0], str | bytes):
            path = os.path.abspath(os.fsdecode(args[0]))  # noqa: PTH100 -- pathlib would open nothing, but costs more
            mode = args[1] if len(args) > 1 and isinstance(args[1], str) else "r"
            if set(mode) & set("wax+") or not path.startswith(tuple(readable)):
                raise PermissionError(f"{path} may not be opened here")

    sys.addaudithook(hook)
    return {"landlock": landlock, "limits": limits}


def main() -> None:
    job = Job(**json.loads(sys.argv[1]))
    content = sys.stdin.buffer.read()
    sys.setrecursionlimit(20_000)
    for module in job.loads:
        import_module(module)
    fences = _lock_up(job)
    out = io.TextIOWrapper(sys.stdout.buffer, "utf-8", errors="surrogatepass")

    def write(answer: dict[str, Any]) -> None:
        out.write(f"{json.dumps(answer)}\n")  # ASCII
        out.flush()

    if job.pages:
        file = GivenFile(job.name, content, job.max_pages, lambda pages: _allow_pages(job, pages + 1))
        read_pages(job.source, file, job.pages, job.options, write)
        return
    try:
        file = GivenFile(job.name, content, job.max_pages, lambda pages: _allow_pages(job, pages))
        write({**asdict(read_with(job.source, job.kind, file)), "fences": fences})
    except ChatbotError as error:
        write({"code": error.code, "params": error.params, "fences": fences})


if __name__ == "__main__":
    main()
