"""A search limited to some documents of a knowledge base: by folder, tag, date and path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from typing import Any, Literal, get_args

from chatbot_mvp.documents.kb_files import KbFile
from chatbot_mvp.errors import FilterError
from chatbot_mvp.knowledge_base.versions import KbDocument, Version
from chatbot_mvp.storage.json_object import InvalidJson, parse_json

Dated = Literal["updated", "created"]

MOST_VALUES = 1_000
"""Folders, tags or paths of one filter at most."""


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents a question is asked of. A document has to meet every kind that is given.

    Of several folders, tags or paths, one is enough. Case counts, as it does in paths.
    """

    folders: tuple[str, ...] = ()
    """Folders with all that is below them ("rrhh" has "rrhh/2026/a.md")."""
    tags: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """Paths of documents."""
    since: str = ""
    """First day, ISO 8601 (2026-01-31); "" for no limit."""
    until: str = ""
    """Last day, inclusive."""
    dated: Dated = "updated"
    """Which date ``since`` and ``until`` mean: "updated", the day (UTC) when its content came under its path, or
    "created", the day that the document itself bears. A document without that date does not meet them."""

    def __bool__(self) -> bool:
        return bool(self.folders or self.tags or self.documents or self.since or self.until)

    def meets(self, document: KbDocument) -> bool:
        """Return whether a document is one of those that are searched."""
        if self.documents and document.path not in self.documents:
            return False
        if self.tags and not set(self.tags).intersection(document.tags):
            return False
        if self.folders and not any(f"{document.folder}/".startswith(f"{folder}/") for folder in self.folders):
            return False
        if not (self.since or self.until):
            return True
        day = (document.updated_at if self.dated == "updated" else document.created)[: len("2026-01-31")]
        return bool(day) and self.since <= day and (not self.until or day <= self.until)

    def chosen_of(self, documents: Iterable[KbDocument]) -> tuple[KbDocument, ...]:
        """Return the documents that it searches, in their order."""
        return tuple(document for document in documents if self.meets(document))

    def spans(self, version: Version) -> tuple[tuple[int, int], ...]:
        """Return where the text of the documents of a version that meet it is, with the heading of each: (start, end),
        in characters."""
        paths = {document.path for document in self.chosen_of(version.documents)}
        return tuple(
            (start, file.end)
            for start, file in zip(_beginnings(version.files), version.files, strict=True)
            if file.name in paths
        )

    def as_json(self) -> dict[str, Any]:
        """Return what differs from a filter of all documents."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        if not (self.since or self.until):
            del found["dated"]
        return {name: value for name, value in found.items() if value}

    def as_text(self) -> str:
        """Return it as the setting KB_FILTER has it; "" for all documents."""
        return json.dumps(self.as_json(), ensure_ascii=False, sort_keys=True) if self else ""

    @staticmethod
    def from_text(text: str) -> DocumentFilter:
        """Read what ``as_text`` writes.

        Raises:
            FilterError (filter_illegal)
        """
        if not text.strip():
            return DocumentFilter()
        try:
            return DocumentFilter.from_json(parse_json(text.encode()))
        except InvalidJson as error:
            raise FilterError("filter_illegal", field="filter", found=text, legal=f"JSON ({error})") from error

    @staticmethod
    def from_json(found: Any) -> DocumentFilter:
        """Read what ``as_json`` writes. Folders may end with "/".

        Raises:
            FilterError (filter_illegal): it names the field and what is legal.
        """
        legal = ", ".join(field.name for field in fields(DocumentFilter))
        if not isinstance(found, Mapping):
            raise FilterError("filter_illegal", field="filter", found=found, legal=f"an object with some of {legal}")
        for name in found:
            if name not in legal.split(", "):
                raise FilterError("filter_illegal", field="filter", found=name, legal=legal)
        texts = {name: _texts(name, found.get(name, ())) for name in ("folders", "tags", "documents")}
        texts["folders"] = tuple(filter(None, (folder.strip("/") for folder in texts["folders"])))
        since, until = (_day(name, found.get(name, "")) for name in ("since", "until"))
        if since and until and since > until:
            raise FilterError("filter_illegal", field="until", found=until, legal=f"a day from {since} on")
        dated = found.get("dated", "updated")
        if dated not in get_args(Dated):
            raise FilterError("filter_illegal", field="dated", found=dated, legal=", ".join(get_args(Dated)))
        return DocumentFilter(**texts, since=since, until=until, dated=dated)


ALL_DOCUMENTS = DocumentFilter()
"""The filter that every document meets."""


def nothing_found(versions: Mapping[str, Version], documents: DocumentFilter) -> FilterError:
    """Return the error of a filter that no document with text meets.

    Args:
        versions: id of each knowledge base that was asked -> its version.
    """
    every = [one for version in versions.values() for one in version.documents]
    folders = sorted({one.folder for one in every if one.folder})
    tags = sorted({tag for one in every for tag in one.tags})
    return FilterError(
        "filter_matches_nothing",
        kb_id=", ".join(versions),
        filter=documents.as_text(),
        documents=len(every),
        folders=_some(folders),
        tags=_some(tags),
    )


def _some(names: Sequence[str], most: int = 10) -> str:
    return (", ".join(names[:most]) + (" …" if len(names) > most else "")) or "-"


def _beginnings(files: Sequence[KbFile]) -> list[int]:
    """Return where each file begins with the heading that bears its name: where the one before it ends."""
    return [0, *(file.end for file in files)][: len(files)]


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > MOST_VALUES:
        raise FilterError("filter_illegal", field=name, found=value, legal=f"a list of up to {MOST_VALUES} texts")
    for one in value:
        if not isinstance(one, str) or not one:
            raise FilterError("filter_illegal", field=name, found=one, legal="a text that is not empty")
    return tuple(sorted(set(value)))


def _day(name: str, value: Any) -> str:
    try:
        return date.fromisoformat(value).isoformat() if value != "" else ""
    except (ValueError, TypeError):
        raise FilterError("filter_illegal", field=name, found=value, legal="a day as 2026-01-31") from None
