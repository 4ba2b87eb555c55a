"""Serves knowledge bases to programs: the same calls as the commands of ``kb``, below ``/v1/knowledge_bases``.

A knowledge base is named by its id or its name. Replies are the JSON of the commands.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chatbot_mvp.app import App
from chatbot_mvp.documents.names import clean_name
from chatbot_mvp.errors import ChatbotError, KbChangeError, KbNotFound, UploadError
from chatbot_mvp.knowledge_base.changes import Change, Describe, Remove, about_of
from chatbot_mvp.knowledge_base.gathering import given_contents
from chatbot_mvp.knowledge_base.naming import CURRENT, move_named, path_named, version_named
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.telling import (
    differences_json,
    documents_json,
    kb_json,
    outcome_json,
    step_json,
)
from chatbot_mvp.knowledge_base.versions import KbDocument
from chatbot_mvp.server.errors import BadRequest
from chatbot_mvp.server.uploading import SentForm, read_form
from chatbot_mvp.storage.json_object import parse_json

T = TypeVar("T")

_MOST_JSON_BYTES = 1_000_000
_PLACES = 4
"""Changes that are received or wait at the same time, since each holds its files; one is made at a time."""
_ABOUT = frozenset({"title", "author", "source", "date", "tag"})
_CREATE = frozenset({"name", "into"}) | _ABOUT
_ADD = frozenset({"into", "note", "stage"}) | _ABOUT
_SYNC = frozenset({"into", "note", "stage", "yes", "dry_run"})
_STATUS = {
    "kb_document_not_found": 404,
    "kb_version_not_found": 404,
    "kb_nothing_staged": 404,
    "kb_original_not_kept": 404,
    "kb_path_taken": 409,
    "kb_name_taken": 409,
    "kb_name_ambiguous": 409,
    "kb_same_documents": 409,
    "kb_changed_meanwhile": 409,
    "kb_document_purged": 409,
    "kb_version_incomplete": 409,
    "kb_sync_removes_most": 409,
    "kb_quota_exceeded": 413,
    "upload_too_large": 413,
}


Handler = Callable[[Request], Awaitable[Response]]


class KbCalls:
    """The handlers. Safe for many requests at once."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._taken = 0
        self._lock = threading.Lock()

    def bounded(self, handler: Handler) -> Handler:
        """Wrap ``handler``: what changes something needs a place."""

        async def held(request: Request) -> Response:
            if request.method in ("GET", "HEAD"):
                return await handler(request)
            with self._place():
                return await handler(request)

        return held

    async def listed(self, request: Request) -> Response:
        """GET: all of them. POST: make one of the files of a form."""
        if request.method == "POST":
            form = await self._form(request, _CREATE)
            return await self._changed(lambda: self._create(form), 201)

        def listed() -> dict[str, Any]:
            store = self._app.kbs.store
            out = [{"kb_id": kb_id, "reason": str(error)} for kb_id, error in self._app.kbs.unreadable().items()]
            rows = [kb_json(store, one) for one in self._app.kbs.records()]
            return {"object": "list", "data": rows, **({"left_out": out} if out else {})}

        return JSONResponse(await _done(listed))

    async def one(self, request: Request) -> Response:
        """GET; PATCH: rename; DELETE."""
        name = request.path_params["kb"]
        if request.method == "PATCH":
            sent = await _object(request, {"name"})
            return await self._changed(lambda: self._rename(name, _text(sent, "name")))
        if request.method == "DELETE":
            return await self._changed(lambda: self._delete(name))
        return JSONResponse(await _done(lambda: kb_json(self._app.kbs.store, self._record(name))))

    async def documents(self, request: Request) -> Response:
        """GET: of a version. POST: add or replace files. PUT: make them equal to files, as ``KbFiling.sync``.
        PATCH: remove, move and describe, in one step."""
        name = request.path_params["kb"]
        if request.method == "PUT":
            form = await self._form(request, _SYNC)
            return await self._changed(lambda: self._sync(name, form))
        if request.method == "POST":
            form = await self._form(request, _ADD)
            return await self._changed(lambda: self._add(name, form))
        if request.method == "PATCH":
            sent = await _object(request, {"changes", "note", "stage"})
            return await self._changed(lambda: self._change(name, sent))

        def listed() -> dict[str, Any]:
            kb_id = self._record(name).kb_id
            store, version = self._app.kbs.store, self._version(kb_id, request)
            record = store.record(kb_id, version)
            return {
                "object": "list",
                "knowledge_base": kb_json(store, record),
                "data": documents_json(store.version(kb_id, version)),
            }

        return JSONResponse(await _done(listed))

    async def original(self, request: Request) -> Response:
        """GET: the file that a document was uploaded as. It is never shown as a page."""
        name, path = request.path_params["kb"], request.query_params.get("path", "")

        def found() -> bytes:
            kb_id = self._record(name).kb_id
            document = self._app.kb_documents.find(kb_id, path, self._version(kb_id, request))
            content = self._app.kbs.store.original(kb_id, document)
            if content is None:
                raise KbChangeError("kb_original_not_kept", kb_id=kb_id, path=path)
            return content

        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(await _done(found), media_type="application/octet-stream", headers=headers)

    async def history(self, request: Request) -> Response:
        """GET: the versions, the newest first."""

        def found() -> dict[str, Any]:
            record = self._record(request.path_params["kb"])
            steps = self._app.kb_changes.history(record.kb_id)
            base = kb_json(self._app.kbs.store, record)
            return {"object": "list", "knowledge_base": base, "data": [step_json(step) for step in steps]}

        return JSONResponse(await _done(found))

    async def difference(self, request: Request) -> Response:
        """GET: what changed from version ``a`` to ``b``, by default the current one."""
        a, b = (request.query_params.get(name, default) for name, default in (("a", ""), ("b", CURRENT)))
        if not a:
            raise BadRequest("Name the version to compare with, as in ?a=1.", code="missing", param="a")

        def found() -> dict[str, Any]:
            kb_id, store = self._record(request.path_params["kb"]).kb_id, self._app.kbs.store
            before, after = version_named(store, kb_id, a), version_named(store, kb_id, b)
            rows = differences_json(self._app.kb_changes.difference(kb_id, before, after))
            return {"kb_id": kb_id, "before": before, "after": after, "documents": rows}

        return JSONResponse(await _done(found))

    async def restore(self, request: Request) -> Response:
        """POST: the documents of an earlier version again."""
        name, sent = request.path_params["kb"], await _object(request, {"version", "note"})

        def restored() -> dict[str, Any]:
            kb_id = self._record(name).kb_id
            version = version_named(self._app.kbs.store, kb_id, str(sent.get("version") or ""))
            return self._told(self._app.kb_changes.restore(kb_id, version, _text(sent, "note", "")))

        if not sent.get("version"):
            raise BadRequest("Name the version.", code="missing", param="version")
        return await self._changed(restored)

    async def draft(self, request: Request) -> Response:
        """GET; POST: publish it; DELETE: drop it."""
        name, changes = request.path_params["kb"], self._app.kb_changes
        if request.method == "POST":
            sent = await _object(request, {"note"})
            return await self._changed(
                lambda: self._told(changes.publish(self._record(name).kb_id, _text(sent, "note", "")))
            )

        def dropped() -> dict[str, Any]:
            kb_id = self._record(name).kb_id
            changes.drop(kb_id)
            return self._told(self._record(kb_id))

        def shown() -> dict[str, Any]:
            kb_id, store = self._record(name).kb_id, self._app.kbs.store
            return self._told(store.record(kb_id, version_named(store, kb_id, "draft")))

        return await self._changed(dropped) if request.method == "DELETE" else JSONResponse(await _done(shown))

    # --- changes

    def _create(self, form: SentForm) -> dict[str, Any]:
        name = form.one("name") or ""
        if not clean_name(name):
            raise BadRequest("Give the knowledge base a name.", code="missing", param="name")
        files = given_contents(form.files, form.one("into") or "")
        outcome = self._app.kb_filing.create(name, files, _about(form))
        return outcome_json(self._app.kbs.store, outcome)

    def _add(self, name: str, form: SentForm) -> dict[str, Any]:
        files, stage = given_contents(form.files, form.one("into") or ""), _flag(form, "stage")
        kb_id, note = self._record(name).kb_id, form.one("note") or ""
        outcome = self._app.kb_filing.add(kb_id, files, _about(form), note, stage)
        return outcome_json(self._app.kbs.store, outcome)

    def _sync(self, name: str, form: SentForm) -> dict[str, Any]:
        into, note, dry_run = form.one("into") or "", form.one("note") or "", _flag(form, "dry_run")
        kb_id, files = self._record(name).kb_id, given_contents(form.files, into)
        outcome = self._app.kb_filing.sync(kb_id, files, into, note, _flag(form, "stage"), _flag(form, "yes"), dry_run)
        return {**outcome_json(self._app.kbs.store, outcome), **({"dry_run": True} if dry_run else {})}

    def _change(self, name: str, sent: Mapping[str, Any]) -> dict[str, Any]:
        kb_id, stage, rows = self._record(name).kb_id, sent.get("stage", False), sent.get("changes")
        if not isinstance(stage, bool):
            raise BadRequest("stage is true or false.", code="invalid", param="stage")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise BadRequest("changes is a list of objects, at least one.", code="invalid", param="changes")
        there = self._app.kbs.store.to_change(kb_id, stage)[0].documents
        changes = [_change(there, row) for row in rows]
        return self._told(self._app.kb_changes.change(kb_id, changes, note=_text(sent, "note", ""), stage=stage))

    def _rename(self, name: str, new: str) -> dict[str, Any]:
        kb_id = self._record(name).kb_id
        if not clean_name(new):
            raise BadRequest("The new name is blank.", code="missing", param="name")
        return self._told(self._app.kbs.rename(kb_id, new))

    def _delete(self, name: str) -> dict[str, Any]:
        record = self._record(name)
        self._app.kbs.delete(record.kb_id)
        return {"deleted": record.kb_id, "kb_name": record.kb_name}

    # --- parts

    async def _form(self, request: Request, known: frozenset[str]) -> SentForm:
        return await read_form(request, known, self._app.settings.kb_max_upload_mb)

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Hold a place for a change, from before its files are received. Used in the event loop only."""
        if self._taken >= _PLACES:
            told = f"The server has {_PLACES} changes at work, its limit. Try again in a moment."
            raise BadRequest(told, 503, "server_error", "too_many_changes")
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    async def _changed(self, work: Callable[[], dict[str, Any]], status: int = 200) -> Response:
        def one_at_a_time() -> dict[str, Any]:
            with self._lock:
                return work()

        return JSONResponse(await _done(one_at_a_time), status)

    def _record(self, name: str) -> KbRecord:
        return self._app.kbs.named(name)

    def _version(self, kb_id: str, request: Request) -> str:
        return version_named(self._app.kbs.store, kb_id, request.query_params.get("version", CURRENT))

    def _told(self, record: KbRecord) -> dict[str, Any]:
        return kb_json(self._app.kbs.store, record)


async def _done(work: Callable[[], T]) -> T:
    """Return what ``work`` gives, in a thread of its own; its errors get the status of their kind."""
    try:
        return await run_in_threadpool(work)
    except ChatbotError as error:
        if not isinstance(error, (KbNotFound, KbChangeError, UploadError)):
            raise
        status = 404 if isinstance(error, KbNotFound) else _STATUS.get(error.code, 400)
        raise BadRequest(str(error), status, code=error.code) from error


def _flag(form: SentForm, name: str) -> bool:
    value = form.one(name) or "false"
    if value not in ("true", "false"):
        raise BadRequest(f"{name} is true or false.", code="invalid", param=name)
    return value == "true"


def _about(form: SentForm) -> dict[str, Any]:
    return about_of(form.one("title"), form.one("author"), form.one("source"), form.one("date"), form.fields.get("tag"))


def _change(there: tuple[KbDocument, ...], row: Mapping[str, Any]) -> Change:
    """Return the change that an object names: {"remove"}, {"move", "to"}, or {"describe", "title" …}."""
    keys = set(row)
    if keys == {"remove"}:
        return Remove(path_named(there, _text(row, "remove")))
    if keys == {"move", "to"}:
        return move_named(there, _text(row, "move"), _text(row, "to"))
    if "describe" in keys and {"describe"} < keys <= {"describe", "title", "author", "source", "date", "tags"}:
        tags = row.get("tags")
        if tags is not None and not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
            raise BadRequest("tags is a list of texts.", code="invalid", param="changes")
        title, author, source, day = (
            _text(row, name) if name in row else None for name in ("title", "author", "source", "date")
        )
        return Describe(path_named(there, _text(row, "describe")), about_of(title, author, source, day, tags))
    told = 'A change is {"remove": PATH}, {"move": PATH, "to": PATH}, or {"describe": PATH, "tags": [...]}.'
    raise BadRequest(told, code="invalid", param="changes")


def _text(sent: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = sent.get(name, default)
    if not isinstance(value, str):
        raise BadRequest(f"{name} is a text.", code="invalid", param=name)
    return value


async def _object(request: Request, known: set[str]) -> dict[str, Any]:
    """Return the JSON object that a request carries; {} for an empty body."""
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > _MOST_JSON_BYTES:
            raise BadRequest(f"The request is larger than {_MOST_JSON_BYTES} bytes.", 413, code="request_too_large")
    try:
        found = parse_json(raw) if raw.strip() else {}
    except ValueError as error:
        raise BadRequest(f"The request is no JSON: {error}", code="not_json") from error
    if not isinstance(found, dict):
        raise BadRequest("The request is no JSON object.", code="not_json")
    if unknown := sorted(set(found) - known):
        legal = ", ".join(sorted(known))
        raise BadRequest(f"There is no field {unknown[0]!r}; legal: {legal}.", code="unknown_field", param=unknown[0])
    return found
