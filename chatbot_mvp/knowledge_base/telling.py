"""Knowledge bases, documents, versions and outcomes as JSON values: the same for commands and over HTTP."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from chatbot_mvp.documents.blocks import begins_block, blocks
from chatbot_mvp.knowledge_base.changing import Step
from chatbot_mvp.knowledge_base.differences import DocumentDifference
from chatbot_mvp.knowledge_base.filing import FileOutcome, Outcome
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import KbDocument, Version
from chatbot_mvp.storage.clock import now


def kb_json(store: KbStore, record: KbRecord) -> dict[str, Any]:
    """Return a knowledge base as a version has it. Raises KbNotFound or KbUnreadable."""
    staged = store.staged(record.kb_id)
    return {
        "kb_id": record.kb_id,
        "kb_name": record.kb_name,
        "version": record.number,
        "version_id": record.version,
        "documents": len(store.documents(record.kb_id, record.version)),
        "chars": record.chars,
        "kb_truncated": record.kb_truncated,
        "languages": list(record.languages),
        "changed_at": record.added_at,
        "draft": asdict(staged) if staged else None,
    }


def documents_json(version: Version) -> list[dict[str, Any]]:
    """Return the documents of a version, in the order of its text."""
    searched = {file.name for file in version.files}
    return [{**_document(one), "searched": one.path in searched} for one in version.documents]


def _document(document: KbDocument) -> dict[str, Any]:
    return {
        "path": document.path,
        "title": document.title,
        "author": document.author,
        "source": document.source,
        "date": document.created,
        "tags": list(document.tags),
        "bytes": document.bytes,
        "chars": document.original_chars,
        "pages": len(document.page_starts),
        "sha256": document.sha256,
        "original": bool(document.original),
        "reader": document.reader,
        "lost": lost_of(document),
        "updated_at": document.updated_at,
        "age_days": age_days(document),
    }


def lost_of(document: KbDocument) -> dict[str, int]:
    """Return what of a document's file is not in its text, with its pages without text."""
    pages = {"empty_pages": document.empty_pages} if document.empty_pages else {}
    return {**dict(document.lost), **pages}


def lacks(document: KbDocument, page: int | None = None) -> bool:
    """Return whether something that a document says could not be read: not what was left out on purpose.

    Args:
        page: of what is asked for: a page that could not be read counts only beside it, where its text may go on.
    """
    unread = ("bytes", "charts", "embedded", "empty_pages", "unreadable")
    if page is None or document.kb_truncated or not lost_of(document).keys().isdisjoint(unread[:3]):
        return document.kb_truncated or not lost_of(document).keys().isdisjoint(unread)
    starts = (*document.page_starts, document.original_chars)
    return any(starts[one - 1] == starts[one] for one in range(max(1, page - 1), min(page + 2, len(starts))))


def text_json(document: KbDocument, text: str) -> dict[str, Any]:
    """Return what was read of a document, as text and in blocks."""
    parts = [
        {"kind": _kind(text[start:end]), "start": start, "end": end, "text": text[start:end]}
        for start, end in blocks(text)
    ]
    if document.page_starts:
        parts = [{**part, "page": bisect_right(document.page_starts, int(str(part["start"])))} for part in parts]
    return {**_document(document), "words": len(text.split()), "text": text, "blocks": parts}


def _kind(block: str) -> str:
    if block.startswith("#"):
        return "heading"
    if block.startswith(("```", "~~~")):
        return "code"
    return "item" if begins_block(block.partition("\n")[0]) else "paragraph"


def age_days(document: KbDocument) -> int:
    """Return the whole days since its content came."""
    return max(0, (now() - datetime.fromisoformat(document.updated_at)).days)


def step_json(step: Step) -> dict[str, Any]:
    return {**asdict(step.entry), "current": step.current, "kept": step.kept}


def differences_json(found: Sequence[DocumentDifference]) -> list[dict[str, Any]]:
    return [asdict(one) for one in found]


def outcome_json(store: KbStore, outcome: Outcome) -> dict[str, Any]:
    """Return what became of files. Unchanged documents are counted, not listed."""
    documents = {one.path: one for one in store.documents(outcome.record.kb_id, outcome.record.version)}
    return {
        **kb_json(store, outcome.record),
        "changed": outcome.changed,
        "complete": outcome.complete,
        "counts": outcome.counts,
        "files": [
            {name: value for name, value in {**asdict(row), **_read_as(row, documents)}.items() if value}
            for row in outcome.files
            if row.what != "unchanged"
        ],
        "ignored": list(outcome.ignored),
    }


def _read_as(row: FileOutcome, documents: Mapping[str, KbDocument]) -> dict[str, Any]:
    """Return what was read of a file that became a document."""
    found = documents.get(row.path)
    if found is None or row.what not in ("added", "replaced"):
        return {}
    return {
        "chars": found.original_chars,
        "pages": len(found.page_starts),
        "reader": found.reader,
        "lost": lost_of(found),
    }
