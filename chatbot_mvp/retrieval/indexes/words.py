"""The engine of the inverted indexes on this machine: Tantivy or, where it cannot be imported, NumPy."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from chatbot_mvp.retrieval.indexes.array_bm25 import ArrayIndex
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex


def engine() -> type[LexicalIndex] | type[ArrayIndex]:
    """Return the class that builds and opens inverted indexes. Both give the same rankings."""
    return ArrayIndex if _why_not_tantivy() else LexicalIndex


def describe() -> str:
    """Return one line that says which engine searches for words, and why if it is not Tantivy."""
    if reason := _why_not_tantivy():
        return f"BM25 by NumPy, slower to build, because Tantivy is missing ({reason})"
    try:
        return f"BM25 by Tantivy {version('tantivy')}"
    except PackageNotFoundError:  # put on the path without its metadata
        return "BM25 by Tantivy"


@cache
def _why_not_tantivy() -> str:
    """Return why Tantivy cannot be imported, in one line; "" if it can."""
    try:
        import tantivy  # noqa: F401
    except (ImportError, OSError) as error:  # not installed, or not built for this processor or system
        return " ".join(str(error).split()) or type(error).__name__
    return ""
