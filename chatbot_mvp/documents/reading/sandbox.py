"""Read one untrusted file in a separate, restricted process.

The process has limited time and memory, and no secrets in its environment. Two fences keep it from everything else:

- Python's audit hook refuses sockets, other programs, signals, SQLite, ``ctypes``, and files outside the libraries. It
  stops code that a document makes Python run. It does not stop machine code, as after a memory error in a parser of C.
- Linux from version 5.13 on (Landlock) refuses in the kernel, for any code: files outside the libraries; from 6.7 on
  TCP connections; from 6.12 on signals to other processes. UDP, other system calls and starting a copy of itself stay
  possible to machine code. On other systems the audit hook is the only fence.

``python -m chatbot_mvp.documents.reading.sandbox KIND MAX_PAGES NAME`` reads the file from stdin and writes JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chatbot_mvp.documents.reading.confinement import confine
from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted
from chatbot_mvp.errors import ChatbotError, UploadDamaged, UploadExpands, UploadTooSlow, all_errors
from chatbot_mvp.storage.json_object import parse_json

READ_SECONDS = 300
"""Time limit for one file by the clock: thirty times what 1,400 pages take on an idle machine."""
CPU_SECONDS = 15
"""Limit of the processor's time for a file and for the first page of a PDF."""
CPU_SECONDS_PER_PAGE = 0.5
"""What each page of a PDF adds to it, so that one hostile page cannot take the time of a whole book."""
MEMORY_MB = 500
"""Limit of the process' own memory, on systems that support it."""
ADDRESSES_MB = 2_000
"""Limit of its address space, which libraries take a part of without using it."""

_POLL_S = 0.2
_ROOT = Path(__file__).resolve().parents[3]
_DENIED = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile"),
    *("os.kill", "signal.pthread_kill", "sqlite3.", "ctypes."),
)
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.")


def read_apart(
    kind: str,
    name: str,
    content: bytes,
    max_pages: int,
    check: Callable[[], None] = lambda: None,
    seconds: float = READ_SECONDS,
) -> Extracted:
    """Read a file of ``kind`` (".pdf", ".docx", ".html").

    Args:
        check: called a few times a second; an exception from it ends the reading.
        seconds: time limit.

    Raises:
        UploadError: the file cannot be read, or exceeds a limit.
        MissingPackage: the reader of its format is not installed.
    """
    # A minimal environment: a compromised reader must not find any key in it.
    kept = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {"PYTHONPATH": str(_ROOT), "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", __name__, kind, str(max_pages), name]
    deadline = time.monotonic() + seconds
    # Pass the content in a file: a pipe holds less than most documents and would block the loop that checks the time.
    with tempfile.TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        process = subprocess.Popen(
            command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    output, _ = process.communicate(timeout=_POLL_S)
                    break
                check()
                if time.monotonic() > deadline:
                    raise UploadTooSlow(name=name, seconds=round(seconds))
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return _answer(kind, name, output, process.returncode)


def _answer(kind: str, name: str, output: bytes, code: int) -> Extracted:
    try:
        answer = parse_json(output)
    except ValueError as error:
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            raise UploadTooSlow(name=name, seconds=CPU_SECONDS) from error
        raise UploadDamaged(name=name, kind=kind, reason=f"its reader ended with {code}") from error
    if "code" in answer:
        raise next(cls for cls in all_errors() if cls.code == answer["code"])(**answer["params"])
    return Extracted(answer["text"], tuple(answer["page_starts"]), answer["empty_pages"])


def _read(
    kind: str, name: str, content: bytes, max_pages: int, allow_pages: Callable[[int], None] = lambda pages: None
) -> Extracted:
    """Read the file with the reader of its format, inside the restricted process.

    Args:
        allow_pages: called with the number of pages of a PDF before they are read.

    Raises:
        UploadError: the file cannot be read, or its text is too large.
        MissingPackage: the reader's package is not installed.
    """
    from chatbot_mvp.documents.reading import docx, html, pdf

    try:
        if kind == ".pdf":
            found = pdf.read_pdf(name, content, max_pages, allow_pages)
        elif kind == ".docx":
            found = docx.read_docx(name, content)
        else:
            found = html.read_html(name, content)
    except ChatbotError:
        raise
    except _OutOfTimeError as error:
        raise UploadTooSlow(name=name, seconds=math.ceil(time.process_time())) from error
    except MemoryError as error:
        raise UploadExpands(name=name, limit_mb=MEMORY_MB) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".strip(": ")[:200]
        raise UploadDamaged(name=name, kind=kind, reason=reason) from error
    if len(found.text) > MAX_TEXT_CHARS:
        raise UploadExpands(name=name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
    return found


class _OutOfTimeError(BaseException):
    """Not an Exception, because readers catch those of damaged pages and go on."""


def _out_of_time(*_: object) -> None:
    raise _OutOfTimeError


def _allow_pages(pages: int) -> None:
    """Let the reading take the time that a document of which ``pages`` pages are read may need."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        seconds = min(READ_SECONDS, CPU_SECONDS + round(CPU_SECONDS_PER_PAGE * pages))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _lock_up(kind: str = ".pdf") -> None:
    """Restrict this process for good: it can only read the files of its libraries."""
    # On systems without these limits, the parent process still enforces the time limit.
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES_MB * 1_000_000, ADDRESSES_MB * 1_000_000))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MB * 1_000_000, MEMORY_MB * 1_000_000))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXCPU, _out_of_time)
        # A signal comes at the first limit. Code that does not return to Python is ended at the second one.
        last = READ_SECONDS if kind == ".pdf" else CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, last + 5))
    readable = [str(Path(entry).resolve()) + os.sep for entry in sys.path if entry and Path(entry).resolve() != _ROOT]
    readable.append(str(_ROOT / "chatbot_mvp") + os.sep)
    confine([*readable, sys.base_prefix])

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith((*_DENIED, *_CHANGES)):
            raise PermissionError(f"{event} is not allowed here")
        if event == "open" and isinstance(args[0], str | bytes):
            path = os.path.abspath(os.fsdecode(args[0]))  # noqa: PTH100 -- pathlib would open nothing, but costs more
            mode = args[1] if len(args) > 1 and isinstance(args[1], str) else "r"
            if set(mode) & set("wax+") or not path.startswith(tuple(readable)):
                raise PermissionError(f"{path} may not be opened here")

    sys.addaudithook(hook)


def main() -> None:
    kind, max_pages, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    content = sys.stdin.buffer.read()
    sys.setrecursionlimit(20_000)
    _lock_up(kind)
    try:
        answer: dict[str, Any] = asdict(_read(kind, name, content, max_pages, _allow_pages))
    except ChatbotError as error:
        answer = {"code": error.code, "params": error.params}
    out = io.TextIOWrapper(sys.stdout.buffer, "utf-8", errors="surrogatepass")
    json.dump(answer, out)  # ASCII
    out.flush()


if __name__ == "__main__":
    main()
