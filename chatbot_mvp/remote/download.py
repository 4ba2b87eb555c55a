"""Download one file by HTTP into a partial file, resume it after failures, and rename it when complete."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

_TRIES = 4


def download(
    url: str,
    target: Path,
    failed: Callable[[str], ChatbotError],
    progress: ProgressCallback = ignore_progress,
    pause: float = 1.0,
    sha256: str = "",
) -> None:
    """Download ``url`` to ``target``, resuming from ``<target>.part`` if an earlier attempt left it.

    Checks the size, and the SHA-256 if it is known or the server sends one (``X-Linked-ETag``, as the public hub does).

    Args:
        failed: makes the error, given its ``reason``; raised after four attempts, or one that a retry cannot help.
        progress: called in the phase "download" with bytes; may raise to stop.
        pause: seconds before the second attempt; doubled for each further one.
        sha256: of the file, in hexadecimal; "" to believe the server.
    """
    make_folder(target.parent)
    timeout = httpx.Timeout(60, connect=10)
    # A compressed transfer cannot be resumed, and its size cannot be checked.
    headers = {"Accept-Encoding": "identity"}
    with httpx.Client(follow_redirects=True, timeout=timeout, headers=headers) as client:
        for attempt in range(1, _TRIES + 1):
            try:
                _attempt(client, url, target, progress, sha256)
                return
            except _Broken as error:
                if error.final or attempt == _TRIES:
                    raise failed(str(error)) from error
                time.sleep(pause * 2 ** (attempt - 1))
            except OSError as error:
                _forget(target)  # on a full disk, what has come would keep it full
                raise failed(f"it cannot be kept: {error}") from error


def _forget(target: Path) -> None:
    for ending in ("part", "etag"):
        with suppress(OSError):
            target.with_name(f"{target.name}.{ending}").unlink(missing_ok=True)


class _Broken(Exception):
    """An attempt failed. ``final`` is True if a retry cannot help."""

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


def _attempt(client: httpx.Client, url: str, target: Path, progress: ProgressCallback, known: str) -> None:
    part = target.with_name(f"{target.name}.part")
    note = target.with_name(f"{target.name}.etag")
    etag = note.read_text("utf-8") if note.is_file() and part.is_file() else ""
    have = part.stat().st_size if etag else 0
    # If-Range: the server sends the rest if the version is unchanged, else the whole new file.
    headers = {"Range": f"bytes={have}-", "If-Range": etag} if have else {}
    started = time.monotonic()
    try:
        with client.stream("GET", url, headers=headers) as reply:
            if reply.status_code == 416 and have:
                part.unlink()
                raise _Broken("what had arrived is no beginning of the file")
            _refuse(reply)
            begin = have if reply.status_code == 206 else 0
            size, sha256 = _size(reply, begin), known or _sha256(reply)
            # Only a strong ETag guarantees identical bytes.
            strong = reply.headers.get("ETag", "")
            note.write_text("" if strong.startswith("W/") else strong, "utf-8")
            done = begin
            with part.open("ab" if begin else "wb") as file:
                for piece in reply.iter_raw():
                    file.write(piece)
                    done += len(piece)
                    if size is not None and done > size:
                        break  # refused below, by its size
                    progress(Progress("download", done, size or 0, time.monotonic() - started, begin))
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise _Broken(f"that is no address: {error}", final=True) from error
    except httpx.HTTPError as error:
        here = part.stat().st_size if part.is_file() else 0
        raise _Broken(f"the connection broke or could not be made, {here} bytes are here ({error})") from error
    _check(part, size, sha256)
    part.replace(target)
    note.unlink()


def _refuse(reply: httpx.Response) -> None:
    status = reply.status_code
    if status in (200, 206):
        return
    said = f"the server answered {status} {reply.reason_phrase}".rstrip()
    if status == 404:
        said += "; there is no such file"
    raise _Broken(said, final=400 <= status < 500 and status not in (408, 425, 429))


def _size(reply: httpx.Response, begin: int) -> int | None:
    """Return the size of the whole file in bytes as the server states it, or None."""
    if reply.status_code == 206:
        match = re.fullmatch(r"bytes (\d{1,18})-\d+/(\d{1,18})", reply.headers.get("Content-Range", ""))
        if match is None or int(match[1]) != begin:
            raise _Broken("the server sent another part than the one asked for")
        return int(match[2])
    length = reply.headers.get("Content-Length", "")
    return int(length) if re.fullmatch("[0-9]{1,18}", length) else None


def _sha256(reply: httpx.Response) -> str:
    """Return the checksum that the hub sends with its redirect to the file; "" if it sends none."""
    for answer in (*reply.history, reply):
        if match := re.fullmatch(r'"?([0-9a-f]{64})"?', answer.headers.get("X-Linked-ETag", "")):
            return match[1]
    return ""


def _check(part: Path, size: int | None, sha256: str) -> None:
    found = part.stat().st_size
    if size is not None and found < size:
        raise _Broken(f"the connection ended after {found} of {size} bytes")
    with part.open("rb") as file:
        wrong = (size is not None and found > size) or (
            sha256 and hashlib.file_digest(file, "sha256").hexdigest() != sha256
        )
    if wrong:
        part.unlink()
        raise _Broken("what arrived is not the file: its size or checksum differ")
