"""The part of a data set that a run measures: EVAL_MAX_QUERIES and EVAL_MAX_CORPUS, or DEV_MODE.

What is picked keeps the files' order, so that a ranking's ties break as they do on the whole corpus. Picking goes by a
hash of seed and id: equal on every machine, and the same for a row wherever it stands in its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from chatbot_mvp.datasets.model import Dataset, Query
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.settings.model import Settings

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Sample:
    """A data set cut to size, and what the cut cost."""

    dataset: Dataset
    """Its ``sha256`` is that of the files where nothing but the last queries was left out, else one of its own."""
    gold: int
    """Distinct documents that its queries were judged to need."""
    gold_lost: int
    """Of these, those that had no place in it: their judgements are left out, and a query without any is not scored."""
    unscored: int
    """Queries that are left without a gold document, though they were judged to have one."""

    @property
    def warning(self) -> str:
        """What a user should know; "" if no gold document was lost."""
        if not self.gold_lost:
            return ""
        return (
            f"EVAL_MAX_CORPUS has no place for {self.gold_lost} of {self.gold} gold documents: they are left out of "
            f"the measure, and {self.unscored} queries are not scored. Raise it, or lower EVAL_MAX_QUERIES."
        )


def sample(dataset: Dataset, settings: Settings) -> Sample:
    """What a run under ``settings`` measures of a data set.

    Raises:
        InvalidSetting: DEV_CORPUS_SIZE has no place for the gold documents of the queries.
    """
    seed = settings.corpus_shuffle_seed
    if settings.dev_mode:
        queries = _picked(dataset.queries, settings.dev_queries, lambda query: query.query_id, seed)
        size = settings.dev_corpus_size
    else:
        queries = dataset.queries[: settings.eval_max_queries or None]
        size = settings.eval_max_corpus or len(dataset.documents)
    gold = _gold(queries, dataset.qrels)
    if settings.dev_mode and len(gold) > size:
        reason = (
            f"the {len(queries)} queries of DEV_MODE have {len(gold)} gold documents; "
            f"legal: {len(gold)} or more, or fewer DEV_QUERIES"
        )
        raise InvalidSetting(name="DEV_CORPUS_SIZE", found=size, reason=reason)
    documents = _picked(dataset.documents, size, lambda document: document.doc_id, seed, first=gold)
    kept = {document.doc_id for document in documents}
    if len(documents) == len(dataset.documents) and queries == dataset.queries[: len(queries)]:
        return Sample(replace(dataset, queries=queries), len(gold), 0, 0)
    qrels = {
        query.query_id: {doc_id: score for doc_id, score in dataset.qrels[query.query_id].items() if doc_id in kept}
        for query in queries
        if query.query_id in dataset.qrels
    }
    identity = _identity(dataset.sha256, queries, kept)
    cut = replace(dataset, documents=documents, queries=queries, qrels=qrels, sha256=identity)
    unscored = sum(bool(_gold([query], dataset.qrels)) and not _gold([query], qrels) for query in queries)
    return Sample(cut, len(gold), len(gold - kept), unscored)


def _gold(queries: Iterable[Query], qrels: Mapping[str, Mapping[str, int]]) -> set[str]:
    return {doc_id for q in queries for doc_id, score in qrels.get(q.query_id, {}).items() if score > 0}


def _picked(
    items: Sequence[_T], count: int, key: Callable[[_T], str], seed: int, first: Iterable[str] = ()
) -> tuple[_T, ...]:
    """``count`` of ``items`` in their order: those named by ``first``, then as the shuffle has it."""
    if count >= len(items):
        return tuple(items)
    wanted = frozenset(first)
    order = sorted(
        range(len(items)), key=lambda row: (key(items[row]) not in wanted, _shuffled(seed, key(items[row])), row)
    )
    return tuple(items[row] for row in sorted(order[:count]))


def _shuffled(seed: int, item: str) -> bytes:
    """Where an id comes in the shuffle; -1 leaves all as they are."""
    if seed < 0:
        return b""
    return hashlib.sha256(f"{seed}\x00{item}".encode("utf-8", "surrogatepass")).digest()


def _identity(sha256: str, queries: Iterable[Query], documents: Iterable[str]) -> str:
    """Equal for equal samples of equal files, however they were asked for."""
    digest = hashlib.sha256(sha256.encode())
    for part in ([query.query_id for query in queries], sorted(documents)):
        digest.update("\x00".join(part).encode("utf-8", "surrogatepass") + b"\x01")
    return digest.hexdigest()
