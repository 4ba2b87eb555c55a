"""The retrieval pipeline that chat answers with and benchmark runs measure. ``growing_pipeline`` builds it for both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from chatbot_mvp.documents.chunking import CHUNKING_VERSION
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.e5.embedder import MODEL_ID
from chatbot_mvp.llm.language_model import LanguageModel, needed
from chatbot_mvp.retrieval.bridge.corpus import GRAPH_VERSION
from chatbot_mvp.retrieval.bridge.walk import weights_key
from chatbot_mvp.retrieval.indexes import questions
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index, with_questions
from chatbot_mvp.retrieval.indexes.engines import LOCAL, indexes_of
from chatbot_mvp.retrieval.indexes.enrichment import ContextCache, enrich
from chatbot_mvp.retrieval.indexes.lexical import INDEX_VERSION
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.retrieval.late.matching import late_weights
from chatbot_mvp.retrieval.part.index import Parts, Spans
from chatbot_mvp.retrieval.reranker import Reranker
from chatbot_mvp.retrieval.shared_work import SharedWork
from chatbot_mvp.retrieval.stages.asking import Asked, AskingStage
from chatbot_mvp.retrieval.stages.base import Selection, Stage
from chatbot_mvp.retrieval.stages.conversation import Conversation
from chatbot_mvp.retrieval.stages.exact import Exact
from chatbot_mvp.retrieval.stages.expansion import Expansion
from chatbot_mvp.retrieval.stages.late_interaction import LateInteraction
from chatbot_mvp.retrieval.stages.llm_expansion import LlmExpansion
from chatbot_mvp.retrieval.stages.rerank import Rerank
from chatbot_mvp.retrieval.stages.rerankers import make_reranker
from chatbot_mvp.retrieval.strategies import STRATEGIES, asks_while_searching, get_strategy
from chatbot_mvp.retrieval.trace import Earlier, RetrievalTrace
from chatbot_mvp.settings.fields import deciding
from chatbot_mvp.settings.model import LOCAL_EMBEDDER, Settings
from chatbot_mvp.text import ANALYSIS_VERSION
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress

PIPELINE_VERSION = 8
"""Part of the fingerprint. Raise it with every code change that alters the results of unchanged settings."""


class Pipeline:
    """Runs a strategy's stages over questions. Safe to share between threads."""

    def __init__(
        self,
        index: CorpusIndex,
        config: Settings,
        reranker: Reranker | None = None,
        asked: Asked | None = None,
        shared: SharedWork | None = None,
    ) -> None:
        """Create the stages of the configured strategy.

        Args:
            reranker: reorders the candidates just before the selection stage; None for no reranking.
            asked: the language model that stages ask; None leaves these stages out.
            shared: results of stages that several pipelines have in common; None if this one computes its own.
        """
        self.index = index
        self.config = config
        self._reranker = reranker
        self._asked = asked
        self._shared = shared
        self._stages: list[Stage] = []
        for stage in get_strategy(config.retrieval_strategy).stages:
            if reranker is not None and issubclass(stage, Selection):
                self._stages.append(Rerank(index, config, reranker))
            # Before ``Exact``, so that what a question names comes first in a conversation, too.
            if issubclass(stage, Exact) and Conversation.serves(index):
                self._stages.append(Conversation(index, config))
            if issubclass(stage, AskingStage):
                self._add_asking(stage)
            elif stage.serves(index) and stage.wanted(config):
                self._stages.append(stage(index, config) if shared is None else shared.stage(stage, index, config))
            # Words of a model come just after those of the knowledge base.
            if config.query_expansion_llm and issubclass(stage, Expansion):
                self._add_asking(LlmExpansion)

    def _add_asking(self, stage: type[AskingStage]) -> None:
        """Add a stage that can search with the stages before it, if there is a model to ask."""
        if self._asked is not None and stage.serves(self.index) and stage.wanted(self.config):
            search = partial(self._through, tuple(self._stages))
            self._stages.append(stage(self.index, self.config, self._asked, search))

    @property
    def vectors_share(self) -> float | None:
        """Share (0-1) of the corpus' vectors that are used; None if the strategy uses no vectors."""
        if not get_strategy(self.config.retrieval_strategy).needs_vectors:
            return None
        return self.index.dense.share if self.index.dense is not None else 0.0

    def with_selection(self, settings: Settings) -> Pipeline:
        """Return this pipeline with the selection settings of ``settings``. The index is shared, so this is cheap."""
        config = self.config.model_copy(update={name: getattr(settings, name) for name in deciding("selection")})
        if config == self.config:
            return self
        return Pipeline(self.index, config, self._reranker, self._asked, self._shared)

    def within(self, spans: Spans) -> Pipeline | None:
        """Return this pipeline over the chunks that lie within spans of a knowledge base's text; None if none does.

        A chunk's own scores stay as they are; see ``retrieval.part.index``. The index is shared.
        """
        index = self.index.derived(Parts).within(spans)
        if index is None or index is self.index:
            return None if index is None else self
        return Pipeline(index, self.config, self._reranker, self._asked)

    def retrieve(self, queries: Sequence[str], earlier: tuple[Earlier, ...] = ()) -> list[RetrievalTrace]:
        """Run all stages and return one trace per query, in order. A query's results do not depend on the others.

        Args:
            earlier: what was said before the queries, oldest first.
        """
        return self._through(self._stages, queries, earlier)

    def _through(
        self, stages: Sequence[Stage], queries: Sequence[str], earlier: tuple[Earlier, ...] = ()
    ) -> list[RetrievalTrace]:
        shared = self._shared
        start = RetrievalTrace if shared is None else shared.start
        traces = [start(query, earlier=earlier) for query in queries]
        for stage in stages:
            traces = stage.run_batch(traces) if shared is None else shared.run(stage, traces)
        return traces

    def found(self, queries: Sequence[str]) -> list[list[Chunk]]:
        """Return the chunks that each query finds, best first."""
        return [[hit.chunk for hit in trace.retrieved] for trace in self.retrieve(queries)]

    def embed_queries(self, queries: Sequence[str], progress: ProgressCallback = ignore_progress) -> None:
        """Embed many queries into the cache ahead of ``retrieve``. Does nothing if the strategy uses no vectors.

        Raises:
            ProviderError: the remote embedder failed; vectors received before the failure stay cached.
        """
        if (side := self.index.dense) is not None:
            side.cache.embed(side.embedder, queries, "query", progress, "embed_queries")


def require_language_model(settings: Settings, model: LanguageModel | None) -> None:
    """Check, before any work is done, that a language model is available if the settings need one.

    Raises:
        UnknownChoice: the strategy is not in the registry.
        NeedsLanguageModel: strategy, reranker or query expansion need a language model and ``model`` is None.
    """
    if get_strategy(settings.retrieval_strategy).needs_language_model:
        needed(model, settings.retrieval_strategy, settings.chosen_provider)
    if settings.reranker_kind == "llm":
        needed(model, "RERANKER_ENABLED without RERANKER_BASE_URL", settings.chosen_provider)
    if settings.query_expansion_llm:
        needed(model, "QUERY_EXPANSION_LLM", settings.chosen_provider)


def decisive(settings: Settings) -> dict[str, Any]:
    """Return what of the settings decides a ranking, also what is derived from several; a strategy may ignore some."""
    return {
        **{name: getattr(settings, name) for name in deciding("index", "ranking", "selection")},
        "embedding_kind": settings.embedding_kind,
        "reranker": settings.reranker,
        "reranker_candidates": settings.reranker_pool,
        "language_model": settings.language_model,
    }


def fingerprint(settings: Settings, language: str = "") -> str:
    """Return 12 hex digits that identify everything that decides a pipeline's ranking, except the corpus.

    Settings that the strategy ignores are left out, so that changing them does not change the fingerprint.

    Args:
        language: language that replaces the detected one of the corpus (RETRIEVAL_BM25_LANGUAGE); "" if none does.
    """
    strategy = get_strategy(settings.retrieval_strategy)
    ignored = _ignored_knobs(settings)
    versions = {"pipeline": PIPELINE_VERSION, "index": INDEX_VERSION, "text": [ANALYSIS_VERSION, CHUNKING_VERSION]}
    identity: dict[str, Any] = {
        **{name: value for name, value in decisive(settings).items() if name not in ignored},
        "stages": [stage.name for stage in strategy.stages],
        "versions": versions,
    }
    if strategy.needs_links:
        identity["links"] = [GRAPH_VERSION, weights_key()]
    if strategy.needs_vectors and settings.embedding_model_name == LOCAL_EMBEDDER:
        identity["local_model"] = MODEL_ID  # the setting names the model, and this one its weights
        if LateInteraction in strategy.stages:
            identity["late"] = late_weights().key
    if identity.get("retrieval_context_questions"):
        identity["questions"] = [questions.PROMPTS.key, questions.FOUND_WITHIN]
    if strategy.asking_stages:
        identity["prompts"] = [stage.prompts_key for stage in strategy.asking_stages]
    if language and (strategy.finds_by_words or settings.reranker):
        identity["language"] = language
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]


def _ignored_knobs(settings: Settings) -> set[str]:
    """Return the names in ``decisive`` that have no effect on the strategy's ranking, whatever the corpus."""
    strategy = get_strategy(settings.retrieval_strategy)
    expands = settings.query_expansion_llm and any(issubclass(stage, Expansion) for stage in strategy.stages)
    ignored = set().union(*(other.knobs for other in STRATEGIES.values())) - strategy.knobs
    # A knowledge base is searched with the added words by every strategy that has the stage, not only by BM25.
    ignored = ignored - {"query_expansion_llm"} if expands else ignored | {"query_expansion_llm"}
    if settings.retrieval_fusion != "rrf" and "retrieval_fusion" in strategy.knobs:
        ignored |= {"retrieval_rrf_k", "retrieval_bm25_weight", "retrieval_vector_weight"}
    if not settings.kb_filter:
        ignored.add("kb_filter")  # without one, a search is what it was before there were any
    if not strategy.needs_vectors:
        ignored |= {"embedding_model_name", "embedding_kind", "vector_store"}
    if settings.index_engine == LOCAL.name or settings.vector_store != "auto" or not strategy.needs_vectors:
        ignored.add("index_engine")  # BM25 ranks alike in all, but another's search for vectors may be approximate
    if not settings.reranker:
        ignored |= {"reranker_candidates", "reranker_top_n"}
    if not (expands or strategy.needs_language_model):
        ignored.add("language_model")  # a reranker's model is part of ``reranker``
    return ignored


def growing_pipeline(
    chunks: Sequence[Chunk],
    language: str,
    settings: Settings,
    embedder: Callable[[], Embedder],
    progress: ProgressCallback = ignore_progress,
    *,
    kb_id: str = "",
    language_model: LanguageModel | None = None,
    shared: SharedWork | None = None,
    earlier: Pipeline | None = None,
) -> Iterator[Pipeline]:
    """Yield pipelines that get better while the indexes of ``chunks`` are built; at least one, the last is complete.

    The first ones have no vectors, or some (see ``Pipeline.vectors_share``).

    Args:
        language: "es" or "en", the language of the chunks.
        embedder: creates the embedding model; called only if the strategy needs vectors.
        kb_id: id of the knowledge base that the chunks belong to; "" for a benchmark corpus.
        language_model: the provider's model; None if the provider has none.
        shared: indexes and results of stages that several pipelines have in common; None if this one has its own.
        earlier: a pipeline over another version of the same knowledge base. What its files have in common with
            ``chunks`` is taken from its index, if both are ``ChunkedFiles``; the results are the same without it.

    Raises:
        UnknownChoice: the strategy is not in the registry.
        NeedsLanguageModel: strategy, reranker or query expansion need a language model and there is none.
        MissingPackage, InvalidSetting, ConfigurationError (vector_store_unavailable): the vector store cannot be used.
        ConfigurationError: the engine of INDEX_ENGINE cannot be used.
    """
    strategy = get_strategy(settings.retrieval_strategy)
    require_language_model(settings, language_model)
    reranker = make_reranker(settings, language, language_model)
    indexed: Sequence[Chunk] | None = None
    written: list[list[str]] = []
    if strategy.writes_contexts:
        model = needed(language_model, strategy.name, settings.chosen_provider)
        contexts = ContextCache(settings.contexts_path)
        batch = settings.retrieval_context_batch_size
        indexed = enrich(chunks, language, model, contexts, batch, progress, settings.retrieval_context_max_tokens)
        if most := settings.retrieval_context_questions:
            written = questions.write_questions(chunks, language, model, contexts, batch, most, progress)
    asked = None
    if language_model is not None and asks_while_searching(settings):
        asked = Asked(language_model, ContextCache(settings.cache_dir / "expansions.sqlite"))
    cache_dir = Path(settings.cache_dir)
    # With "auto", a knowledge base's vectors are stored only if something searches those of its chunks.
    unsearched = settings.vector_store == "auto" and kb_id and not strategy.searches_kb_vectors
    kind = "exact" if unsearched else settings.vector_store
    store = VectorStoreChoice(kind, kb_id, settings.chroma_dir, settings.chroma_host, indexes_of(settings))
    for index in (growing_index if shared is None else shared.index)(
        chunks,
        language,
        cache_dir,
        embedder if strategy.needs_vectors else None,
        progress,
        with_links=strategy.needs_links,
        store=store,
        indexed=indexed,
        earlier=earlier.index if earlier is not None else None,
    ):
        if index.dense is not None or strategy.finds_by_words or not strategy.needs_vectors:
            yield Pipeline(index, settings, reranker, asked, shared)
    if written:
        # Without reranker and model, because the check of the questions must not ask a language model.
        find, search = Pipeline(index, settings).found, fingerprint(settings, language)
        kept = questions.kept_questions(chunks, written, find, contexts, search, progress)
        with_words = with_questions(index, chunks, language, cache_dir, kept, progress, indexed, store)
        yield Pipeline(with_words, settings, reranker, asked, shared)
