"""Read the ranking of another program: a TREC run file or ranx' JSON, each also packed with gzip.

A line of a TREC run file is ``query Q0 document rank score tag``. ranx' JSON is ``{query: {document: score}}``, which
BEIR and MTEB write as well.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.errors import ImportRefused
from chatbot_mvp.metrics.ranking.measures import trec_order

_MOST_BYTES = 512 * 2**20
_COLUMNS = 6


@dataclass(frozen=True)
class RankingFile:
    """The rankings in a file of another program, with ids as in the file."""

    path: str
    name: str
    """Tag of the first line of a TREC run file, or the name of the file."""
    rankings: Mapping[str, Mapping[str, float]]
    """query -> document -> score, best first, in the order of ``trec_order``."""


def read_ranking(path: Path) -> RankingFile:
    """Read and check a TREC run file or ranx' JSON.

    Raises:
        ImportRefused (nothing_to_import): the file is too large, damaged or empty.
        ImportRefused (trec_line_wrong): a line of a TREC run file is invalid; the error gives its number.
    """
    name = path.name.removesuffix(".gz")
    try:
        text = _text(path)
        if text.lstrip()[:1] in ("{", "["):
            rankings, name = _ranx(text), Path(name).stem
        else:
            rankings, name = _trec(path, text)
        if not any(rankings.values()):
            raise ValueError("it ranks nothing")
    except ValueError as error:
        raise ImportRefused("nothing_to_import", path=str(path), reason=str(error)) from error
    return RankingFile(str(path), name, {query: trec_order(scores) for query, scores in rankings.items()})


# Each of the following raises ValueError with what is wrong.


def _text(path: Path) -> str:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"it cannot be read as text: {error}") from error
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES / 1e6:,.0f} MB")
    return text


def _trec(path: Path, text: str) -> tuple[dict[str, dict[str, float]], str]:
    """Return (query -> document -> score, tag of the first line). An ImportRefused names the line that is wrong."""
    rankings: dict[str, dict[str, float]] = {}
    tag = ""
    # Not splitlines, because an id may contain one of the rarer line separators.
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if not columns:
            continue
        try:
            query, document, score = _parsed(columns)
            if document in rankings.setdefault(query, {}):
                raise ValueError(f"{query!r} has {document!r} a second time")
        except ValueError as error:
            raise ImportRefused("trec_line_wrong", path=str(path), line=number, reason=str(error)) from error
        tag = tag or columns[5]
        rankings[query][document] = score
    if not rankings:
        raise ValueError("it has no line")
    return rankings, tag


def _parsed(columns: list[str]) -> tuple[str, str, float]:
    if len(columns) != _COLUMNS:
        raise ValueError(f"{len(columns)} columns in place of {_COLUMNS}")
    query, _, document, rank, score, _ = columns
    try:
        int(rank)
        parsed = float(score)
    except ValueError as error:
        raise ValueError(f"{rank!r} or {score!r} is no number") from error
    if not math.isfinite(parsed):
        raise ValueError(f"the score {score!r} is no finite number")
    return query, document, parsed


def _ranx(text: str) -> dict[str, dict[str, float]]:
    """Return query -> document -> score."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it begins as JSON and is not JSON ({error})") from error
    if not isinstance(values, dict) or not all(isinstance(scores, dict) for scores in values.values()):
        raise ValueError("it is not a JSON object {query: {document: score}}")
    for query, scores in values.items():
        for doc, score in scores.items():
            if not isinstance(score, int | float) or not math.isfinite(score):
                raise ValueError(f"the score {score!r} of document {doc!r} for query {query!r} is no finite number")
    return values


def known_ids(trec: RankingFile, whole: Dataset, cut: Dataset) -> dict[str, dict[str, float]]:
    """Return the rankings with the ids of the data set. Exports percent-encode white space in ids; decode it.

    Args:
        whole: the data set before sampling, which must contain the queries.
        cut: the sampled data set, which must contain the documents: other documents mean another corpus.

    Raises:
        ImportRefused (trec_id_unknown)
    """
    queries = _resolved(trec, "queries", trec.rankings, {query.query_id for query in whole.queries}, whole.name)
    found = dict.fromkeys(document for ranking in trec.rankings.values() for document in ranking)
    documents = _resolved(trec, "documents", found, {document.doc_id for document in cut.documents}, whole.name)
    return {
        queries[query]: {documents[document]: score for document, score in ranking.items()}
        for query, ranking in trec.rankings.items()
    }


def _resolved(trec: RankingFile, kind: str, ids: Mapping[str, object], known: set[str], dataset: str) -> dict[str, str]:
    resolved = {given: given if given in known else unquote(given) for given in ids}
    unknown = [given for given, own in resolved.items() if own not in known]
    if unknown:
        raise ImportRefused(
            "trec_id_unknown", path=trec.path, count=len(unknown), kind=kind, dataset=dataset, found=unknown[0]
        )
    return resolved
