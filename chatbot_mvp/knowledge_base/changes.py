"""Changes to the list of documents of a knowledge base, and how two changes made at once become one list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from chatbot_mvp.documents.names import clean_name, clean_path
from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.knowledge_base.versions import KbDocument

ABOUT = ("title", "author", "source", "created", "tags")
"""Fields of a document that people may change without a new file."""
_PATHS_TOLD = 20


@dataclass(frozen=True)
class Put:
    """Add a document, or replace the one under its path, which keeps its metadata where the new one says nothing."""

    document: KbDocument
    said: Collection[str] = ()
    """The fields of ABOUT that the new one says, so that an empty value clears the field."""


@dataclass(frozen=True)
class Remove:
    """Remove the document under a path, or all those under a folder ("rrhh/")."""

    path: str


@dataclass(frozen=True)
class Move:
    """Give a document another path, or put it into a folder ("rrhh/"), or rename a folder ("rrhh/" to "personas/")."""

    path: str
    to: str


@dataclass(frozen=True)
class Describe:
    """Change metadata of the document under a path, or of all those under a folder."""

    path: str
    about: Mapping[str, Any] = field(default_factory=dict)
    """Values of some fields of ABOUT."""


Change = Put | Remove | Move | Describe


def applied(kb_id: str, documents: Iterable[KbDocument], changes: Sequence[Change]) -> tuple[KbDocument, ...]:
    """Return the documents after some changes, in the order of their paths.

    Raises:
        KbChangeError: kb_document_not_found, kb_path_taken, or kb_would_be_empty.
    """
    now = {document.path: document for document in documents}
    for change in changes:
        if isinstance(change, Put):
            now[change.document.path] = _kept_about(change, now.get(change.document.path))
            continue
        for path in _named(kb_id, now, change.path):
            found = now.pop(path)
            if isinstance(change, Move):
                to = clean_path(_moved(path, change)) or path
                if to in now:
                    raise KbChangeError("kb_path_taken", kb_id=kb_id, path=to)
                now[to] = replace(found, path=to)
            elif isinstance(change, Describe):
                now[path] = replace(found, **{name: change.about[name] for name in ABOUT if name in change.about})
    if not now:
        raise KbChangeError("kb_would_be_empty", kb_id=kb_id)
    return tuple(now[path] for path in sorted(now))


def merged(
    kb_id: str, base: Iterable[KbDocument], mine: Iterable[KbDocument], theirs: Iterable[KbDocument]
) -> tuple[KbDocument, ...]:
    """Return the documents with both changes that were made to ``base``.

    Raises:
        KbChangeError (kb_changed_meanwhile): both changed the document under one path, and not in the same way; so is
            a document that one removed and the other moved.
        KbChangeError (kb_would_be_empty): together they removed every document.
    """
    was, my, their = ({one.path: one for one in documents} for documents in (base, mine, theirs))
    found: dict[str, KbDocument] = {}
    for path in sorted({*was, *my, *their}):
        old, left, right = was.get(path), my.get(path), their.get(path)
        kept = right if _same(left, old) else left
        apart = old and not left and not right and _places(old, was, my) != _places(old, was, their)
        if apart or not (_same(left, old) or _same(right, old) or _same(left, right)):
            raise KbChangeError("kb_changed_meanwhile", kb_id=kb_id, path=path)
        if kept is not None:
            found[path] = kept
    if not found:
        raise KbChangeError("kb_would_be_empty", kb_id=kb_id)
    return tuple(found.values())


def _places(document: KbDocument, was: Mapping[str, KbDocument], now: Mapping[str, KbDocument]) -> set[str]:
    """Return the new paths that have a document's text."""
    return {path for path, one in now.items() if path not in was and one.sha256 == document.sha256}


def _same(one: KbDocument | None, other: KbDocument | None) -> bool:
    """Return whether two documents are equal but for the time when they came."""
    if one is None or other is None:
        return one is other
    return replace(one, updated_at=other.updated_at) == other


def _named(kb_id: str, now: Mapping[str, KbDocument], path: str) -> list[str]:
    """Return the paths that a change names: one document's, or those of a folder, whose name ends with "/"."""
    found = [one for one in now if one.startswith(path)] if path.endswith("/") else [path] * (path in now)
    if not found:
        raise document_not_found(kb_id, path, now)
    return found


def document_not_found(kb_id: str, path: str, paths: Iterable[str]) -> KbChangeError:
    """Return the error of a path that is not among the paths of a knowledge base; it names the first of those."""
    known = sorted(paths)
    legal = ", ".join(known[:_PATHS_TOLD]) + (" …" if len(known) > _PATHS_TOLD else "")
    return KbChangeError("kb_document_not_found", kb_id=kb_id, path=path, legal=legal)


def _moved(path: str, change: Move) -> str:
    if change.path.endswith("/"):
        return f"{change.to.rstrip('/')}/{path[len(change.path) :]}".lstrip("/")
    return change.to + path.rpartition("/")[2] if change.to.endswith("/") else change.to


def _kept_about(change: Put, old: KbDocument | None) -> KbDocument:
    new = change.document
    if old is None:
        return new
    # Of the same file, what people say of it outlasts what it says itself.
    one, other = (old, new) if new.original == old.original else (new, old)
    about = {
        name: getattr(new, name) if name in change.said else getattr(one, name) or getattr(other, name)
        for name in ABOUT
    }
    # The same text again is no change: its age stays.
    return replace(new, **about, updated_at=old.updated_at if new.sha256 == old.sha256 else new.updated_at)


def about_of(
    title: str | None = None,
    author: str | None = None,
    source: str | None = None,
    created: str | None = None,
    tags: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the metadata that is given, as ``Describe`` and ``NewDocument`` take it; "" and () clear a field.

    Raises:
        KbChangeError (kb_date_invalid): ``created`` is not a day.
    """
    if created:
        try:
            created = date.fromisoformat(created).isoformat()
        except ValueError as error:
            raise KbChangeError("kb_date_invalid", date=created) from error
    texts = {"title": title, "author": author, "source": source, "created": created}
    about: dict[str, Any] = {name: clean_name(value) for name, value in texts.items() if value is not None}
    if source is not None:
        about["source"] = " ".join(source.split())  # an address may be longer than a name
    if tags is not None:
        about["tags"] = tuple(dict.fromkeys(filter(None, map(clean_name, tags))))
    return about
