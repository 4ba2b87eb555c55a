"""Defines the settings of retrieval: embedding, first searches, fusion, expansion and reranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from chatbot_mvp.plugins.finding import names_added
from chatbot_mvp.settings.kinds import (
    IN_ADMIN,
    LOCAL_EMBEDDER,
    OF_THE_MACHINE,
    Address,
    CorpusLanguage,
    Fields,
    NoneOrSeveral,
    Row,
    Tried,
)

if TYPE_CHECKING:
    IndexEngineName = str
else:
    IndexEngineName = Literal["local", *names_added("index_engine")]

_FUSIONS = Tried(
    20,
    (
        {"retrieval_fusion": "weighted"},
        *(
            {
                "retrieval_fusion": "rrf",
                "retrieval_rrf_k": k,
                "retrieval_bm25_weight": round(1 - share, 2),
                "retrieval_vector_weight": share,
            }
            for k in (10, 20, 60)
            for share in (0.2, 0.35, 0.5, 0.65, 0.8)
        ),
    ),
    ("benchmark",),
    "fusion",
)
_CONTEXTS = Tried(
    10,
    tuple(
        {"retrieval_strategy": "CONTEXTUAL_HYBRID", "retrieval_context_questions": questions} for questions in (0, 3)
    ),
    name="contexts",
    with_model=True,
)
_RERANKERS = Tried(
    30,
    tuple({"reranker_enabled": True, "reranker_candidates": count} for count in (10, 20)),
    name="reranker",
    with_model=True,
)


class RetrievalFields(Fields):
    """Settings of embedding, first searches, fusion, expansion and reranking."""

    embedding_model_name: Annotated[str, Row("index", "vectors", "vectors", chat="embedder")] = LOCAL_EMBEDDER
    """Embedding model; `openai/…` and `nvidia/…` use OpenAI and NVIDIA with their keys; `onnx:FOLDER` and `ct2:FOLDER`
    run a model of your own, `fastembed/…` one of the package fastembed, `huggingface:FOLDER` and
    `sentence-transformers/…` one of Hugging Face, on this machine."""
    embedding_base_url: Annotated[Address, Row("pipeline", "vectors", "vectors")] = ""
    """Address of a NIM or OpenAI-compatible endpoint that embeds with EMBEDDING_MODEL_NAME."""
    embedding_model_type: Annotated[Literal["asymmetric", "symmetric"], Row("pipeline", "vectors", "vectors")] = (
        "asymmetric"
    )
    """`asymmetric`: requests to that endpoint carry `input_type` query or passage, as NIM requires; `symmetric`: they
    do not."""
    embedding_batch_size: Annotated[int, Row("pipeline", "vectors", "vectors")] = Field(32, ge=1, le=1_024)
    """Texts per request to a remote embedding model."""
    embedding_threads: Annotated[int, OF_THE_MACHINE, Row("pipeline", "vectors", "vectors")] = Field(0, ge=0, le=1_024)
    """Texts that the local embedding model reads at the same time; 0: one per core."""

    retrieval_strategy: Annotated[str, IN_ADMIN, Row("index", chat="search", form=10, tried=Tried(10, ()))] = (
        "BRIDGE_HYBRID"
    )
    """Name of the retrieval strategy of the chat and of benchmark runs."""
    retrieval_k: Annotated[int, IN_ADMIN, Row("ranking", chat="search", form=20)] = Field(20, ge=1, le=1_000)
    """Documents that a run keeps and scores per query."""
    retrieval_pre_fusion_k: Annotated[
        int,
        IN_ADMIN,
        Row("ranking", chat="search", form=30, tried=Tried(30, (25, 50, 100, 150, 250, 400), ("benchmark",))),
    ] = Field(150, ge=1, le=10_000)
    """Candidates per retriever before fusion."""
    retrieval_fusion: Annotated[
        Literal["rrf", "weighted"], IN_ADMIN, Row("ranking", chat="search", form=40, tried=_FUSIONS)
    ] = "weighted"
    """How BM25 and vectors are fused. `weighted`: by score, with a weight of the vectors that grows with the question's
    length; `rrf`: by rank. If RETRIEVAL_RRF_K or a weight is set and this is not, `rrf`."""
    retrieval_rrf_k: Annotated[int, IN_ADMIN, Row("ranking", chat="search", form=50)] = Field(60, ge=1)
    """Constant k of reciprocal rank fusion."""
    retrieval_bm25_weight: Annotated[float, IN_ADMIN, Row("ranking", chat="search", form=60)] = Field(0.5, ge=0.0)
    """Weight of BM25 in the fusion."""
    retrieval_vector_weight: Annotated[float, IN_ADMIN, Row("ranking", chat="search", form=70)] = Field(0.5, ge=0.0)
    """Weight of the vectors in the fusion."""
    retrieval_context_batch_size: Annotated[int, IN_ADMIN, Row("pipeline", form=110)] = Field(8, ge=1, le=256)
    """Chunks per request when CONTEXTUAL_HYBRID asks a model for their contexts."""
    retrieval_context_max_tokens: Annotated[int, IN_ADMIN, Row("index", chat="search", form=100)] = Field(
        150, ge=10, le=2_000
    )
    """Maximum context that CONTEXTUAL_HYBRID indexes with each chunk (tokens of 4 characters)."""
    retrieval_context_questions: Annotated[
        NoneOrSeveral, IN_ADMIN, Row("index", chat="search", form=120, tried=_CONTEXTS)
    ] = Field(0, ge=0, le=5)
    """Questions that CONTEXTUAL_HYBRID asks a model to write for each chunk, 3 to 5, so that searches also find the
    chunk by their words; one more request per chunk. 0: none."""
    retrieval_bm25_language: Annotated[CorpusLanguage, IN_ADMIN, Row("language", form=80)] = ""
    """Language of the corpus of a run, for stems, stop words and prompts; prompts are in English if it is not Spanish.
    Empty: Spanish or English, detected."""
    retrieval_chunk_chars: Annotated[
        int, IN_ADMIN, Row("index", chat="search", tried=Tried(70, (600, 1_100, 1_700), ("kb",)))
    ] = Field(1_100, ge=300, le=6_000)
    """Length at which a chunk of a knowledge base is complete (characters); longer chunks are fewer, so that fewer of
    them fit into a context. A change indexes each knowledge base again."""
    retrieval_expansion: Annotated[
        bool, IN_ADMIN, Row("ranking", chat="search", tried=Tried(90, (True, False), ("kb",)))
    ] = True
    """Add words of the knowledge base to a question: spellings, headings, frequent neighbours."""
    retrieval_stitching: Annotated[
        bool, IN_ADMIN, Row("ranking", chat="search", tried=Tried(80, (True, False), ("kb",)))
    ] = True
    """Add the neighbouring chunks of a strong hit's section to the context."""
    query_expansion_llm: Annotated[
        bool, IN_ADMIN, Row("ranking", chat="expansion", form=90, tried=Tried(20, (True,), with_model=True))
    ] = False
    """Ask PROVIDER's model for additional words if a question has fewer than 5."""
    vector_store: Annotated[
        Literal["auto", "exact", "chroma"], IN_ADMIN, Row("index", group="vectors", chat="system")
    ] = "auto"
    """Where vectors are searched; `auto`: the server of INDEX_ENGINE, or with `local` ChromaDB for knowledge bases and
    exact search for runs; strategies that rank a knowledge base by its paragraphs compare them exactly. `chroma`:
    always in ChromaDB, those of paragraphs too. `exact`: always in memory."""
    index_engine: Annotated[IndexEngineName, Row("index", "vectors")] = "local"
    """Where indexes of words and, with VECTOR_STORE=auto, of vectors are: `local`: files in DATA_DIR; any other: a
    server of that name, which several servers share."""
    chroma_host: Annotated[str, Row(group="vectors")] = ""
    """host:port of a ChromaDB server; empty: files in DATA_DIR/chroma."""
    reranker_enabled: Annotated[
        bool, IN_ADMIN, Row("pipeline", "reranking", "reranking", chat="reranker", form=10, tried=_RERANKERS)
    ] = False
    """Rerank the candidates before the answer."""
    reranker_base_url: Annotated[Address, Row("pipeline", "reranking", "reranking", chat="system")] = ""
    """NIM with a reranking model, e.g. http://host:9000/v1; empty: PROVIDER's model scores 0-10."""
    reranker_model_name: Annotated[str, IN_ADMIN, Row("pipeline", "reranking", "reranking", chat="reranker")] = (
        "nvidia/llama-3.2-nv-rerankqa-1b-v2"
    )
    """Reranking model of that NIM, or an added reranker."""
    reranker_candidates: Annotated[
        int, IN_ADMIN, Row("pipeline", "reranking", "reranking", chat="reranker", form=20)
    ] = Field(0, ge=0, le=1_000)
    """Chunks that the reranker scores per question, at least RERANKER_TOP_N. 0: RETRIEVAL_PRE_FUSION_K for the NIM of
    RERANKER_BASE_URL, which takes many in one request, and 15 for a language model, which gets one request for each."""
    reranker_top_n: Annotated[int, IN_ADMIN, Row("ranking", "reranking", "reranking", chat="reranker", form=30)] = (
        Field(5, ge=1, le=1_000)
    )
    """Chunks kept after reranking."""

    @field_validator("retrieval_vector_weight")
    @classmethod
    def _some_weight(cls, value: float, info: ValidationInfo) -> float:
        if value == 0 and info.data.get("retrieval_bm25_weight") == 0:
            raise ValueError("RETRIEVAL_BM25_WEIGHT and RETRIEVAL_VECTOR_WEIGHT cannot both be 0")
        return value

    @model_validator(mode="before")
    @classmethod
    def _ranks_where_their_knobs_are_set(cls, values: Any) -> Any:
        knobs = {"retrieval_rrf_k", "retrieval_bm25_weight", "retrieval_vector_weight"}
        if isinstance(values, dict) and knobs & values.keys():
            values.setdefault("retrieval_fusion", "rrf")
        return values
