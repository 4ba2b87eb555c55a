"""Plan a benchmark run without executing it: nothing is embedded, downloaded or written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.datasets.catalogue import Found
from chatbot_mvp.datasets.sampling import BLIND, Sample
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.estimate import Estimate
from chatbot_mvp.evaluation.benchmark.lengths import estimate_from_lengths
from chatbot_mvp.evaluation.benchmark.preparation import generator_fingerprint, judge_fingerprint, run_fingerprint
from chatbot_mvp.retrieval.indexes.corpus import is_indexed
from chatbot_mvp.retrieval.indexes.engines import index_engine
from chatbot_mvp.retrieval.strategies import Strategy, get_strategy
from chatbot_mvp.settings.model import Settings


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """What one should know before a run begins."""

    code: str
    """Names its text in the pages' catalogues."""
    text: str
    """In English, for the command line and JSON."""
    values: dict[str, int | str]
    """What the catalogues' text has places for."""


@dataclass(frozen=True, slots=True)
class CachedVectors:
    """How many of the documents' vectors are cached."""

    cached: int
    total: int


VectorCounter = Callable[[list[str]], int]
"""Returns how many of the given passages have cached vectors."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plan of a run that has not started."""

    dataset: str
    dataset_ref: str
    place: str
    """"bundled", "local" or "remote"."""
    folder: str | None
    """Folder of the data set's files; None if they must be downloaded first."""
    download_bytes: int
    dataset_sha256: str | None
    """None before the download."""
    checked: bool
    """True if the files were read and checked; False before the download."""
    queries: int | None
    """Number of queries in the run; before the download, the most that it can be. This and the following three are None
    if unknown before the download."""
    documents: int | None
    qrels: int | None
    gold: int | None
    """Number of distinct relevant documents of the queries."""
    dataset_queries: int | None
    """Number of queries in the whole data set."""
    unjudged: int | None
    """Number of queries of the data set that the run leaves out because they have no judgement in its split."""
    split: str | None
    """Split of the judgements; "" if the data set has no splits, None if unknown before the download."""
    dataset_documents: int | None
    sampling: dict[str, Any]
    """Name -> value of the settings that reduce the data set; empty if none does."""
    strategy: str
    fingerprint: str
    provider: str
    embedding_model: str | None
    """None for a strategy without vectors."""
    reranker: str | None
    generator: str | None
    """Provider and model of the answers; None for a run of retrieval only."""
    judge: str | None
    """Provider and model of the judge; None without a judge."""
    generator_fingerprint: str
    """As in ``RunManifest``, as is ``judge_fingerprint``."""
    judge_fingerprint: str
    phases: list[str]
    """Phases in the order of execution."""
    index_cached: bool | None
    """True if the index is cached; None if that depends on earlier phases."""
    vectors: CachedVectors | None
    results_dir: str
    """Directory in which the run's folder would be created."""
    warnings: list[PlanWarning]
    estimate: Estimate | None = None
    """None if the run asks no language model, or before the data set is downloaded."""

    def as_json(self) -> dict[str, Any]:
        return {"dry_run": True, **asdict(self), "warnings": [one.text for one in self.warnings]}


def plan_run(found: Found, settings: Settings, cached_vectors: VectorCounter, load: Callable[[], RunCorpus]) -> RunPlan:
    """Plan a run with ``settings``.

    Args:
        load: loads what the run searches; called only if no download is needed.

    Raises:
        DatasetError, InvalidSetting: the data set is available but invalid, or does not fit the settings.
        UnknownChoice: the strategy is not in the registry.
    """
    strategy = get_strategy(settings.retrieval_strategy)
    plan = RunPlan(
        dataset=found.name,
        dataset_ref=found.reference,
        place=found.place,
        folder=str(found.folder) if found.folder else None,
        download_bytes=found.download_bytes,
        dataset_sha256=None,
        checked=False,
        queries=_expected(found.counts.queries, settings.dev_queries, settings.eval_max_queries, settings),
        documents=_expected(found.counts.documents, settings.dev_corpus_size, settings.eval_max_corpus, settings),
        qrels=None if _sampling(settings) else found.counts.qrels,
        gold=None,
        dataset_queries=found.counts.queries,
        unjudged=None,
        split=found.split or None,
        dataset_documents=found.counts.documents,
        sampling=_sampling(settings),
        strategy=strategy.name,
        fingerprint=run_fingerprint(settings),
        provider=settings.language_model,
        embedding_model=settings.embedding_model_name if strategy.needs_vectors else None,
        reranker=settings.reranker or None,
        generator=settings.generator or None,
        judge=settings.judge or None,
        generator_fingerprint=generator_fingerprint(settings),
        judge_fingerprint=judge_fingerprint(settings),
        phases=_phases(strategy, settings, found),
        index_cached=None,
        vectors=None,
        results_dir=str(settings.results_dir),
        warnings=[*_offline(found), *_own_judge(settings)],
    )
    if found.folder is None:
        return plan
    return _with_corpus(plan, load(), strategy, settings, cached_vectors)


def _with_corpus(
    plan: RunPlan, whole: RunCorpus, strategy: Strategy, settings: Settings, cached_vectors: VectorCounter
) -> RunPlan:
    corpus, cut = whole.sampled(settings)
    dataset, chunks = corpus.dataset, corpus.chunks()
    indexed = vectors = None
    # If a language model writes the texts to index, the index cannot be looked up before the run.
    if not strategy.writes_contexts:
        if index_engine(settings).in_files:  # no request is sent for a plan
            indexed = is_indexed(chunks, corpus.language(settings), settings.cache_dir)
        if strategy.needs_vectors:
            texts = list(dict.fromkeys(chunk.index_text for chunk in chunks))
            vectors = CachedVectors(cached_vectors(texts), len(texts))
    return replace(
        plan,
        dataset_sha256=dataset.sha256,
        checked=True,
        queries=len(dataset.queries),
        documents=len(dataset.documents),
        qrels=sum(len(dataset.qrels.get(query.query_id, {})) for query in dataset.queries),
        gold=cut.gold,
        dataset_queries=len(whole.dataset.queries),
        unjudged=cut.unjudged,
        split=dataset.split,
        dataset_documents=len(whole.dataset.documents),
        index_cached=indexed,
        vectors=vectors,
        warnings=[*plan.warnings, *_lost_gold(cut), *_own_documents(dataset), *_left_out(whole.dataset)],
        estimate=estimate_from_lengths(corpus, settings),
    )


def _offline(found: Found) -> Iterator[PlanWarning]:
    if found.offline:
        yield PlanWarning("offline", found.offline, {"error": found.offline})


def _lost_gold(cut: Sample) -> Iterator[PlanWarning]:
    if cut.warning:
        values: dict[str, int | str] = {"lost": cut.gold_lost, "gold": cut.gold, "queries": cut.unscored}
        yield PlanWarning("blind" if cut.corpus_slice == BLIND else "lost_gold", cut.warning, values)


def _own_documents(dataset: Dataset) -> Iterator[PlanWarning]:
    if count := len(dataset.queries_that_are_documents):
        text = f"{count} queries are documents themselves; each leaves itself out of its ranking, as in BEIR"
        yield PlanWarning("own_documents", text, {"count": count})


def _left_out(dataset: Dataset) -> Iterator[PlanWarning]:
    if left := dataset.left_out:
        text = f"{left} judgements name documents that are not in the corpus; they are left out"
        yield PlanWarning("left_out", text, {"count": left})


def _own_judge(settings: Settings) -> Iterator[PlanWarning]:
    if settings.judge and settings.judge == settings.generator:
        text = (
            f"the judge {settings.judge} is the model that it judges, and models tend to score their own answers "
            "higher; set JUDGE_PROVIDER or JUDGE_MODEL_NAME"
        )
        yield PlanWarning("own_judge", text, {"judge": settings.judge})


def _sampling(settings: Settings) -> dict[str, Any]:
    if settings.dev_mode:
        names = ["dev_mode", "dev_queries", "dev_corpus_size", "corpus_shuffle_seed"]
    else:
        names = [name for name in ("eval_max_queries", "eval_max_corpus") if getattr(settings, name)]
        if settings.eval_max_corpus:
            names += ["eval_corpus_slice", "corpus_shuffle_seed"]
    return {name.upper(): getattr(settings, name) for name in names}


def _expected(total: int | None, in_dev_mode: int, limit: int, settings: Settings) -> int | None:
    wanted = in_dev_mode if settings.dev_mode else limit
    return min(total, wanted or total) if total is not None else None


def _phases(strategy: Strategy, settings: Settings, found: Found) -> list[str]:
    asks = strategy.writes_contexts and settings.retrieval_context_questions > 0
    steps = {
        "download": found.folder is None,
        "load": True,
        "enrich": strategy.writes_contexts,
        "questions": asks,
        "index": True,
        "link": strategy.needs_links,
        "embed_corpus": strategy.needs_vectors,
        "check_questions": asks,
        "embed_queries": strategy.needs_vectors,
        "retrieve": True,
        "rerank": settings.reranker_enabled,
        "generate": settings.generation_enabled,
        "judge": bool(settings.judge),
        "similarity": settings.generation_enabled,
        "aggregate": True,
        "export": True,
    }
    return [name for name, needed in steps.items() if needed]
