"""Sample what a run measures of a data set: its judged queries, reduced by EVAL_MAX_QUERIES and the like or DEV_MODE.

Sampled rows keep the files' order, so that ties in a ranking break as on the whole corpus. Rows are picked by a hash of
seed and id, which is equal on every machine and independent of a row's position in its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from chatbot_mvp.datasets.model import Dataset, Query
from chatbot_mvp.errors import InvalidSetting, NothingScored
from chatbot_mvp.settings.model import Settings

_T = TypeVar("_T")

BLIND = "blind"
"""Value of EVAL_CORPUS_SLICE."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sampled data set, and the gold documents that the sampling lost."""

    dataset: Dataset
    """Its ``sha256`` is that of the files if only the last queries were left out, else one that names the sample."""
    gold: int
    """Number of distinct gold (relevant) documents of its queries before sampling."""
    gold_lost: int
    """Number of gold documents left out of the corpus. Their judgements are left out too, except in a blind slice."""
    unscored: int
    """Number of queries that lost all their gold documents: not scored or, in a blind slice, scored as not found."""
    unjudged: int = 0
    """Number of queries of the data set without a judgement in its split. A run does not ask them."""
    corpus_slice: str = ""
    """EVAL_CORPUS_SLICE if EVAL_MAX_CORPUS left documents out, else ""."""

    @property
    def warning(self) -> str:
        """Warning for the user; "" if no gold document was lost."""
        if not self.gold_lost:
            return ""
        if self.corpus_slice == BLIND:
            return (
                f"EVAL_CORPUS_SLICE=blind left {self.gold_lost} of {self.gold} gold documents out of the corpus: they "
                f"count as not found, and {self.unscored} queries cannot find any. EVAL_CORPUS_SLICE=gold_first keeps "
                "them."
            )
        return (
            f"EVAL_MAX_CORPUS has no place for {self.gold_lost} of {self.gold} gold documents: they are left out of "
            f"the measure, and {self.unscored} queries are not scored. Raise it, or lower EVAL_MAX_QUERIES."
        )


def sample(dataset: Dataset, settings: Settings, judged_only: bool = True) -> Sample:
    """Return the sample of a data set that a run with ``settings`` measures.

    Args:
        judged_only: leave out queries without a judgement, as BEIR does. If no query has one, all are measured by
            their reference answers.

    Raises:
        InvalidSetting: DEV_CORPUS_SIZE is smaller than the number of gold documents of the queries.
        NothingScored: no query has a judgement, nor a reference answer that a run with ``settings`` would score.
    """
    found = _judged(dataset, settings) if judged_only else dataset
    return replace(_cut(found, settings), unjudged=len(dataset.queries) - len(found.queries))


def _judged(dataset: Dataset, settings: Settings) -> Dataset:
    if judged := dataset.judged:
        return replace(dataset, queries=judged)
    if settings.generation_enabled and any(query.answer for query in dataset.queries):
        return dataset
    split = f"no query of the split {dataset.split!r} has a judgement" if dataset.split else "no query has a judgement"
    reason = f"{split}, and no reference answer would be scored"
    raise NothingScored("nothing_to_score", dataset=dataset.name, reason=reason)


def _cut(dataset: Dataset, settings: Settings) -> Sample:
    seed = settings.corpus_shuffle_seed
    if settings.dev_mode:
        queries = tuple(_picked(dataset.queries, settings.dev_queries, lambda query: query.query_id, seed))
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
    blind = not settings.dev_mode and settings.eval_corpus_slice == BLIND
    first = () if blind else gold
    documents = _picked(dataset.documents, size, lambda document: document.doc_id, seed, first=first)
    if len(documents) == len(dataset.documents) and queries == dataset.queries[: len(queries)]:
        return Sample(replace(dataset, queries=queries), len(gold), 0, 0)
    kept = {document.doc_id for document in documents}
    whole = {query.query_id: dataset.qrels[query.query_id] for query in queries if query.query_id in dataset.qrels}
    left = {
        query_id: {doc_id: score for doc_id, score in judged.items() if doc_id in kept}
        for query_id, judged in whole.items()
    }
    lost = gold - kept
    # The rows of a blind slice with losses are judged otherwise than the same documents in a slice by need.
    identity = _identity(dataset.sha256, queries, kept, BLIND if blind and lost else "")
    cut = replace(dataset, documents=documents, queries=queries, qrels=whole if blind else left, sha256=identity)
    unscored = sum(bool(_gold([query], dataset.qrels)) and not _gold([query], left) for query in queries)
    sliced = not settings.dev_mode and len(documents) < len(dataset.documents)
    return Sample(cut, len(gold), len(lost), unscored, corpus_slice=settings.eval_corpus_slice if sliced else "")


def _gold(queries: Iterable[Query], qrels: Mapping[str, Mapping[str, int]]) -> set[str]:
    return {doc_id for q in queries for doc_id, score in qrels.get(q.query_id, {}).items() if score > 0}


def _picked(
    items: Sequence[_T], count: int, key: Callable[[_T], str], seed: int, first: Iterable[str] = ()
) -> Sequence[_T]:
    """Pick ``count`` of ``items`` and keep their order: items in ``first`` have priority, then the shuffle decides."""
    if count >= len(items):
        return items
    wanted = frozenset(first)
    order = sorted(
        range(len(items)), key=lambda row: (key(items[row]) not in wanted, _shuffled(seed, key(items[row])), row)
    )
    return tuple(items[row] for row in sorted(order[:count]))


def _shuffled(seed: int, item: str) -> bytes:
    """Return the sort key of an id in the shuffle; a negative seed keeps the order of the files."""
    if seed < 0:
        return b""
    return hashlib.sha256(f"{seed}\x00{item}".encode("utf-8", "surrogatepass")).digest()


def _identity(sha256: str, queries: Iterable[Query], documents: Iterable[str], judged: str) -> str:
    """Return a hash that identifies the sample, independently of the settings that produced it.

    Args:
        judged: how documents that were left out are judged; "" if their judgements are left out too.
    """
    digest = hashlib.sha256((sha256 + judged).encode())
    for part in ([query.query_id for query in queries], sorted(documents)):
        digest.update("\x00".join(part).encode("utf-8", "surrogatepass") + b"\x01")
    return digest.hexdigest()
