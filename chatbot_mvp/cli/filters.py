"""The options of the command line that limit a question to some documents of a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from chatbot_mvp.api import DocumentFilter

FolderOption = Annotated[
    list[str] | None, typer.Option("--folder", help="Only documents in this folder or below it; may be repeated")
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="Only documents with this tag; may be repeated")]
DocumentOption = Annotated[
    list[str] | None, typer.Option("--document", help="Only the document with this path; may be repeated")
]
AndOption = Annotated[
    list[str] | None,
    typer.Option("--and", help="Ask this knowledge base too: its name or id, or a file; may be repeated"),
]
SinceOption = Annotated[str, typer.Option(help="Only documents from this day on, as 2026-01-31")]
UntilOption = Annotated[str, typer.Option(help="Only documents up to this day, inclusive")]
DatedOption = Annotated[
    str, typer.Option(help="The date that --since and --until mean: updated, or created if the document bears one")
]


def filter_of(
    folders: Sequence[str] | None,
    tags: Sequence[str] | None,
    documents: Sequence[str] | None,
    since: str,
    until: str,
    dated: str,
) -> DocumentFilter:
    """Return the filter of these options.

    Raises:
        FilterError (filter_illegal)
    """
    return DocumentFilter.from_json(
        {
            "folders": folders or [],
            "tags": tags or [],
            "documents": documents or [],
            "since": since,
            "until": until,
            "dated": dated,
        }
    )
