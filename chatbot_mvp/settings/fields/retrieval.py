"""Defines the settings of retrieval: embedding, first searches, fusion, expansion and reranking."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings

from chatbot_mvp.settings.kinds import LOCAL_EMBEDDER, Address, CorpusLanguage, Key, NoneOrSeveral


class RetrievalFields(BaseSettings):
    """Settings of embedding, first searches, fusion, expansion and reranking."""

    embedding_model_name: str = Field(
        LOCAL_EMBEDDER,
        description="Embedding model; `openai/…` and `nvidia/…` use OpenAI and NVIDIA with their keys; `onnx:FOLDER` "
        "and `ct2:FOLDER` run a model of your own, `fastembed/…` one of the package fastembed, "
        "`huggingface:FOLDER` and `sentence-transformers/…` one of Hugging Face, on this machine.",
    )
    embedding_base_url: Address = Field(
        "", description="Address of a NIM or OpenAI-compatible endpoint that embeds with EMBEDDING_MODEL_NAME."
    )
    embedding_model_type: Literal["asymmetric", "symmetric"] = Field(
        "asymmetric",
        description="`asymmetric`: requests to that endpoint carry `input_type` query or passage, as NIM requires; "
        "`symmetric`: they do not.",
    )
    embedding_batch_size: int = Field(32, ge=1, le=1_024, description="Texts per request to a remote embedding model.")
    embedding_threads: int = Field(
        0, ge=0, le=1_024, description="Texts that the local embedding model reads at the same time; 0: one per core."
    )

    retrieval_strategy: str = Field(
        "BRIDGE_HYBRID", description="Name of the retrieval strategy of the chat and of benchmark runs."
    )
    retrieval_k: int = Field(20, ge=1, le=1_000, description="Documents that a run keeps and scores per query.")
    retrieval_pre_fusion_k: int = Field(150, ge=1, le=10_000, description="Candidates per retriever before fusion.")
    retrieval_fusion: Literal["rrf", "weighted"] = Field(
        "weighted",
        description="How BM25 and vectors are fused. `weighted`: by score, with a weight of the vectors that grows "
        "with the question's length; `rrf`: by rank. If RETRIEVAL_RRF_K or a weight is set and this is not, `rrf`.",
    )
    retrieval_rrf_k: int = Field(60, ge=1, description="Constant k of reciprocal rank fusion.")
    retrieval_bm25_weight: float = Field(0.5, ge=0.0, description="Weight of BM25 in the fusion.")
    retrieval_vector_weight: float = Field(0.5, ge=0.0, description="Weight of the vectors in the fusion.")
    retrieval_context_batch_size: int = Field(
        8, ge=1, le=256, description="Chunks per request when CONTEXTUAL_HYBRID asks a model for their contexts."
    )
    retrieval_context_max_tokens: int = Field(
        150,
        ge=10,
        le=2_000,
        description="Maximum context that CONTEXTUAL_HYBRID indexes with each chunk (tokens of 4 characters).",
    )
    retrieval_context_questions: NoneOrSeveral = Field(
        0,
        ge=0,
        le=5,
        description="Questions that CONTEXTUAL_HYBRID asks a model to write for each chunk, 3 to 5, so that searches "
        "also find the chunk by their words; one more request per chunk. 0: none.",
    )
    retrieval_bm25_language: CorpusLanguage = Field(
        "",
        description="Language of the corpus of a run, for stems, stop words and prompts; prompts are in English if it "
        "is not Spanish. Empty: Spanish or English, detected.",
    )
    retrieval_chunk_chars: int = Field(
        1_100,
        ge=300,
        le=6_000,
        description="Length at which a chunk of a knowledge base is complete (characters); longer chunks are fewer, so "
        "that fewer of them fit into a context. A change indexes each knowledge base again.",
    )
    retrieval_expansion: bool = Field(
        True, description="Add words of the knowledge base to a question: spellings, headings, frequent neighbours."
    )
    retrieval_stitching: bool = Field(
        True, description="Add the neighbouring chunks of a strong hit's section to the context."
    )
    query_expansion_llm: bool = Field(
        False, description="Ask PROVIDER's model for additional words if a question has fewer than 5."
    )
    vector_store: Literal["auto", "exact", "chroma"] = Field(
        "auto",
        description="Where vectors are searched; `auto`: the server of INDEX_ENGINE, or with `local` ChromaDB for "
        "knowledge bases and exact search for runs; strategies that rank a knowledge base by its paragraphs compare "
        "them exactly. `chroma`: always in ChromaDB, those of paragraphs too. `exact`: always in memory.",
    )
    index_engine: Literal["local", "milvus"] = Field(
        "local",
        description="Where indexes of words and, with VECTOR_STORE=auto, of vectors are: `local`: files in DATA_DIR; "
        "`milvus`: a Milvus server that several servers share.",
    )
    milvus_address: Address = Field("", description="Address of the Milvus server, e.g. http://localhost:19530.")
    milvus_token: Key = Field(
        SecretStr(""), description="user:password or API key for the Milvus server; empty: without sign-in."
    )
    milvus_database: str = Field("", description="Database on the Milvus server; empty: its default one.")
    chroma_host: str = Field("", description="host:port of a ChromaDB server; empty: files in DATA_DIR/chroma.")
    reranker_enabled: bool = Field(False, description="Rerank the candidates before the answer.")
    reranker_base_url: Address = Field(
        "", description="NIM with a reranking model, e.g. http://host:9000/v1; empty: PROVIDER's model scores 0-10."
    )
    reranker_model_name: str = Field("nvidia/llama-3.2-nv-rerankqa-1b-v2", description="Reranking model of that NIM.")
    reranker_candidates: int = Field(
        0,
        ge=0,
        le=1_000,
        description="Chunks that the reranker scores per question, at least RERANKER_TOP_N. 0: RETRIEVAL_PRE_FUSION_K "
        "for the NIM of RERANKER_BASE_URL, which takes many in one request, and 15 for a language model, which gets "
        "one request for each.",
    )
    reranker_top_n: int = Field(5, ge=1, le=1_000, description="Chunks kept after reranking.")

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
