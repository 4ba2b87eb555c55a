"""Reads files that a client sends as a form, within bounds."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from chatbot_mvp.knowledge_base.uploads import MOST_FILES, MOST_MB
from chatbot_mvp.server.errors import BadRequest

_MOST_FIELDS = 50
_FIELD_BYTES = 100_000


@dataclass(frozen=True)
class SentForm:
    """What a form of a client holds."""

    files: list[tuple[str, bytes]]
    """(name with folders, content) of each part called "file"."""
    fields: dict[str, list[str]]

    def one(self, name: str) -> str | None:
        """Return the value of a field; None if it was not sent."""
        return self.fields[name][-1] if name in self.fields else None


async def read_form(request: Request, known: frozenset[str], max_mb: int) -> SentForm:
    """Return the files and fields of a multipart form.

    Args:
        known: names of the fields that are obeyed; others are refused.
        max_mb: KB_MAX_UPLOAD_MB; all files together may have that or ``MOST_MB``, whichever is more.

    Raises:
        BadRequest: it is no such form, is too large, or has a field that is not known.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise BadRequest("Send the files as multipart/form-data, in parts called 'file'.", 415, code="not_a_form")
    bounded = _Bounded(request, max(MOST_MB, max_mb) * 1_000_000)
    files: list[tuple[str, bytes]] = []
    fields: dict[str, list[str]] = {}
    try:
        async with bounded.form(max_files=MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=_FIELD_BYTES) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    if name != "file":
                        raise _unknown(name, known)
                    files.append((value.filename or "", await value.read()))
                elif name not in known:
                    raise _unknown(name, known)
                else:
                    fields.setdefault(name, []).append(value)
    except HTTPException as error:
        raise BadRequest(str(error.detail), 400, code="form_unreadable") from error
    if not files:
        raise BadRequest("The form has no part called 'file'.", 400, code="no_file", param="file")
    return SentForm(files, fields)


class _Bounded(Request):
    """A request whose body is refused once it is too large; large files are kept in temporary files meanwhile."""

    def __init__(self, request: Request, most: int) -> None:
        super().__init__(request.scope, request.receive)
        self._most = most

    async def stream(self) -> AsyncGenerator[bytes, None]:
        received = 0
        async for part in super().stream():
            received += len(part)
            if received > self._most:
                told = f"The request is larger than {self._most} bytes."
                raise BadRequest(told, 413, code="request_too_large")
            yield part


def _unknown(name: str, known: frozenset[str]) -> BadRequest:
    legal = ", ".join(sorted({"file", *known}))
    return BadRequest(f"There is no field {name!r}; legal: {legal}.", 400, code="unknown_field", param=name)
