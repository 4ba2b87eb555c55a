"""Read a TREC run file with lines ``query Q0 document rank score tag``, as written by the export "trec" and others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.errors import NothingToImport, TrecIdUnknown, TrecLineWrong

_MOST_BYTES = 512 * 2**20
_COLUMNS = 6


@dataclass(frozen=True)
class TrecRun:
    """The rankings in a TREC run file, with ids as in the file."""

    path: str
    tag: str
    """Tag of the first line."""
    rankings: Mapping[str, Mapping[str, float]]
    """query -> document -> score, best first. Ordered by score, as evaluators do; ties by rank."""


def read_trec(path: Path) -> TrecRun:
    """Read and check a TREC run file.

    Raises:
        NothingToImport: the file is too large, not text, or empty.
        TrecLineWrong: a line is invalid; the error gives its number.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise NothingToImport(path=str(path), reason=f"it is larger than {_MOST_BYTES / 1e6:,.0f} MB")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NothingToImport(path=str(path), reason=f"it cannot be read as text: {error}") from error
    rows: dict[str, dict[str, tuple[float, int]]] = {}
    tag = ""
    # Not splitlines, because an id may contain one of the rarer line separators.
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if not columns:
            continue
        query, document, rank, score = _parsed(path, number, columns)
        tag = tag or columns[5]
        if document in rows.setdefault(query, {}):
            raise TrecLineWrong(path=str(path), line=number, reason=f"{query!r} has {document!r} a second time")
        rows[query][document] = (score, rank)
    if not rows:
        raise NothingToImport(path=str(path), reason="it has no line")
    ordered = {
        query: {doc: found[doc][0] for doc in sorted(found, key=lambda doc: (-found[doc][0], found[doc][1]))}
        for query, found in rows.items()
    }
    return TrecRun(str(path), tag, ordered)


def _parsed(path: Path, number: int, columns: list[str]) -> tuple[str, str, int, float]:
    if len(columns) != _COLUMNS:
        raise TrecLineWrong(path=str(path), line=number, reason=f"{len(columns)} columns in place of {_COLUMNS}")
    query, _, document, rank, score, _ = columns
    try:
        parsed = int(rank), float(score)
    except ValueError as error:
        raise TrecLineWrong(path=str(path), line=number, reason=f"{rank!r} or {score!r} is no number") from error
    if not math.isfinite(parsed[1]):
        raise TrecLineWrong(path=str(path), line=number, reason=f"the score {score!r} is no finite number")
    return query, document, *parsed


def known_ids(trec: TrecRun, whole: Dataset, cut: Dataset) -> dict[str, dict[str, float]]:
    """Return the rankings with the ids of the data set. Exports percent-encode white space in ids; decode it.

    Args:
        whole: the data set before sampling, which must contain the queries.
        cut: the sampled data set, which must contain the documents: other documents mean another corpus.

    Raises:
        TrecIdUnknown
    """
    queries = _resolved(trec, "queries", trec.rankings, {query.query_id for query in whole.queries}, whole.name)
    found = dict.fromkeys(document for ranking in trec.rankings.values() for document in ranking)
    documents = _resolved(trec, "documents", found, {document.doc_id for document in cut.documents}, whole.name)
    return {
        queries[query]: {documents[document]: score for document, score in ranking.items()}
        for query, ranking in trec.rankings.items()
    }


def _resolved(trec: TrecRun, kind: str, ids: Mapping[str, object], known: set[str], dataset: str) -> dict[str, str]:
    resolved = {given: given if given in known else unquote(given) for given in ids}
    unknown = [given for given, own in resolved.items() if own not in known]
    if unknown:
        raise TrecIdUnknown(path=trec.path, count=len(unknown), kind=kind, dataset=dataset, found=unknown[0])
    return resolved
