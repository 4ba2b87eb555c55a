"""What people call knowledge bases, versions and documents, and what is meant by that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatbot_mvp.documents.names import clean_name, clean_path
from chatbot_mvp.errors import KbChangeError, KbNotFound
from chatbot_mvp.knowledge_base.changes import Move, document_not_found
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import KbDocument
from chatbot_mvp.text import fold

CURRENT, DRAFT = "current", "draft"


def kb_named(records: Iterable[KbRecord], reference: str) -> KbRecord:
    """Return the knowledge base with this id or name. Names differ in case and accents only if two are alike otherwise.

    Raises:
        KbNotFound
        KbChangeError (kb_name_ambiguous): several have this name.
    """
    known = list(records)
    for wanted in (
        [one for one in known if one.kb_id == reference],
        [one for one in known if one.kb_name == clean_name(reference)],
        [one for one in known if fold(one.kb_name) == fold(clean_name(reference))],
    ):
        if len(wanted) > 1:
            raise KbChangeError("kb_name_ambiguous", name=reference, legal=", ".join(one.kb_id for one in wanted))
        if wanted:
            return wanted[0]
    legal = ", ".join(f"{one.kb_name} ({one.kb_id})" for one in known[:20]) + (" …" if len(known) > 20 else "")
    raise KbNotFound(kb_id=reference, legal=legal or "-")


def version_named(store: KbStore, kb_id: str, name: str) -> str:
    """Return the id of a version: of "current", of "draft", or of a number or an id.

    Raises:
        KbNotFound, KbUnreadable
        KbChangeError (kb_nothing_staged, kb_version_not_found)
    """
    if name != DRAFT:
        return store.version(kb_id, "" if name == CURRENT else name).version_id
    if (staged := store.staged(kb_id)) is None:
        raise KbChangeError("kb_nothing_staged", kb_id=kb_id)
    return staged.version_id


def path_named(documents: Sequence[KbDocument], path: str) -> str:
    """Return the path as a change takes it: of a document, or of a folder, which ends with "/".

    A folder may be named without that; a path that names nothing is returned as it would be kept.
    """
    paths = {document.path for document in documents}
    for one in (path, clean_path(path)):
        if one in paths:
            return one
    folder = f"{clean_path(path)}/"
    return folder if path.endswith("/") or any(one.startswith(folder) for one in paths) else clean_path(path)


def document_named(kb_id: str, documents: Sequence[KbDocument], path: str) -> KbDocument:
    """Return the document that a path names, as ``path_named`` reads it.

    Raises:
        KbChangeError (kb_document_not_found)
    """
    named = path_named(documents, path)
    for document in documents:
        if document.path == named:
            return document
    raise document_not_found(kb_id, path, (document.path for document in documents))


def move_named(documents: Sequence[KbDocument], path: str, to: str) -> Move:
    """Return the move of a document or a folder.

    Args:
        to: for a document, its new path, or the folder that it goes into: one that is there, one that ends with "/",
            or "/" for the top. For a folder, its new name; what is there already stays.
    """
    named = path_named(documents, path)
    if named.endswith("/"):
        return Move(named, clean_path(to))
    return Move(named, path_named(documents, to) if clean_path(to) else named.rpartition("/")[2])
