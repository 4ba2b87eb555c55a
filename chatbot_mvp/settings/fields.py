"""Defines every setting: type, default, range and a one-line description."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from chatbot_mvp.metrics.registry import JUDGE_METRICS, METRICS
from chatbot_mvp.settings.installation import INSTALLATION
from chatbot_mvp.settings.kinds import (
    AUTO,
    IS_ADDRESS,
    LEAST_CONTEXT_CHARS,
    LOCAL_EMBEDDER,
    Address,
    Key,
    NoneOrContextChars,
    NoneOrSeveral,
    OfProvider,
    Secret,
    address_of,
    key_of,
    marked,
    model_of,
    names_of,
    option_of,
)
from chatbot_mvp.settings.password import reason_against

DEFAULT_JUDGE_METRICS = ",".join(name for name in JUDGE_METRICS if METRICS[name].judged_by_default)


class SettingFields(BaseSettings):
    """The settings; a field's name in capitals is its environment variable (``retrieval_k``: ``RETRIEVAL_K``)."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True)

    data_dir: Path = Field(
        INSTALLATION.data_dir,
        description="Folder where the application writes all its files; of an installed package, "
        "~/.local/share/chatbot-mvp.",
    )
    ui_language: Literal["es", "en"] = Field("es", description="Language of the pages on the first visit.")

    admin_password: Secret = Field(
        SecretStr(""),
        description="Password to enter Admin and to delete, or its hash from `chatbot-mvp hash-password`; empty: none.",
    )
    admin_emails: str = Field(
        "",
        description="E-mail addresses, separated by commas, that may open Admin after signing in with OIDC (`[auth]` "
        "in `.streamlit/secrets.toml`); empty: nobody that way.",
    )
    kb_max_chars: int = Field(
        120_000,
        ge=1_000,
        le=20_000_000,
        description="Maximum length of a knowledge base; longer texts are cut at a paragraph (characters). 1 million "
        "characters need about 200 MB of memory and 2 s to index, without the time of an embedding model.",
    )
    kb_max_upload_mb: int = Field(10, ge=1, le=1_000, description="Maximum size of a file for a knowledge base (MB).")
    kb_max_pages: int = Field(500, ge=1, le=10_000, description="Maximum length of a PDF (pages).")
    kb_top_k: int = Field(5, ge=1, le=50, description="Maximum number of chunks that reach an answer.")
    kb_min_score: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="Minimum score of a chunk relative to the best one (0-1); chunks with a lower score are dropped.",
    )
    kb_max_context_chars: int = Field(
        4_000, ge=LEAST_CONTEXT_CHARS, description="Maximum context sent to the model (characters)."
    )
    kb_large_context_chars: int = Field(
        6_000,
        ge=LEAST_CONTEXT_CHARS,
        description="Maximum context for sources over 40,000 characters (characters). If only KB_MAX_CONTEXT_CHARS is "
        "set, it applies to all sources.",
    )
    kb_min_evidence: float = Field(
        0.5, ge=0.0, le=1.0, description="Minimum evidence score for strict mode to answer (0-1)."
    )
    kb_review_twice_share: float = Field(
        0.2,
        ge=0.0,
        le=1.0,
        description="Share of the chat's answers that a second reviewer is shown, to measure agreement (0-1).",
    )
    kb_doubt_evidence: float = Field(
        0.05,
        ge=0.0,
        le=1.0,
        description="From this evidence score up to halfway between KB_MIN_EVIDENCE and 1, strict mode asks the "
        "provider's model whether the passages are relevant (0-1; if not below KB_MIN_EVIDENCE: never).",
    )
    chat_max_tokens: int = Field(
        0,
        ge=0,
        le=32_000,
        description="Maximum chat answer (tokens); 0: 700 with groq and a knowledge base, otherwise LLM_MAX_TOKENS.",
    )
    chat_rewrite_followups: bool = Field(
        False, description="Let the model rewrite each follow-up question so that it stands alone."
    )
    log_queries: bool = Field(False, description="Include the text of questions in logs/retrieval_metrics.jsonl.")
    serve_token: Key = Field(
        SecretStr(""), description="Bearer token that `chatbot-mvp serve` requires; empty: a new one at each start."
    )
    serve_cors_origins: str = Field(
        "",
        description="Web pages that may call `chatbot-mvp serve` from a browser, as origins separated by commas "
        "(https://chat.example.org); empty: none.",
    )
    serve_max_connections: int = Field(
        200,
        ge=1,
        le=10_000,
        description="Maximum number of connections to `chatbot-mvp serve`; further requests get status 503.",
    )
    allowed_hosts: str = Field(
        "",
        description="Names, separated by commas, under which the pages and `chatbot-mvp serve` may be opened, besides "
        "localhost and the address that they listen on.",
    )
    trusted_proxies: str = Field(
        "",
        description="Addresses of reverse proxies, separated by commas, whose `X-Forwarded-For` names the client; "
        "empty: the header is not believed.",
    )
    provider: str = Field(
        AUTO,
        description="Provider that writes the answers, by its name in the table of providers; `auto`: the one chosen "
        "in Admin, else `nim` if LLM_BASE_URL is set, else `gemini` if it has a key, else `demo`.",
    )
    gemini_api_key: Key = key_of("gemini", "Key for `gemini`.")
    google_api_key: Key = key_of("gemini", "Key for `gemini`, used if GEMINI_API_KEY is empty.")
    gemini_model_name: str = model_of("gemini", "gemini-2.5-flash", "Model of `gemini`.")
    gemini_base_url: Address = address_of("gemini", "https://generativelanguage.googleapis.com", "Address of `gemini`.")
    groq_api_key: Key = key_of("groq", "Key for `groq`.")
    groq_model_name: str = model_of("groq", "llama-3.3-70b-versatile", "Model of `groq`.")
    groq_base_url: Address = address_of("groq", "https://api.groq.com", "Address of `groq`.")
    llm_base_url: Address = address_of(
        "nim", "", "NIM with a language model, e.g. http://host:8000/v1; empty: NVIDIA's own service."
    )
    llm_model_name: str = model_of("nim", "nvidia/nemotron-3-nano", "Model of `nim`.")
    nvidia_api_key: Key = key_of("nim", "Key for NIM; empty if the server needs none.")
    openai_api_key: Key = key_of("openai", "Key for `openai`.")
    openai_model_name: str = model_of("openai", "gpt-4.1-mini", "Model of `openai`.")
    openai_base_url: Address = address_of(
        "openai", "https://api.openai.com/v1", "Address of `openai` or of a compatible API."
    )
    ollama_model_name: str = model_of("ollama", "", "Model of `ollama`, as `ollama list` names it.")
    ollama_base_url: Address = address_of("ollama", "http://127.0.0.1:11434/v1", "Address of `ollama`.")
    local_model_path: str = option_of(
        "local", "", description="GGUF file of the model that `local` runs inside the process."
    )
    local_context_tokens: int = option_of(
        "local",
        4_096,
        ge=256,
        le=1_048_576,
        description="Context size of `local`: prompt and answer together (tokens).",
    )
    local_threads: int = option_of(
        "local", 0, ge=0, le=1_024, description="Threads of `local`; 0: half the cores, so that pages stay responsive."
    )

    llm_temperature: float = Field(
        0.0, ge=0.0, le=2.0, description="Temperature of answers; only replies at temperature 0 are cached."
    )
    llm_max_tokens: int = Field(1_024, ge=1, description="Maximum length of an answer (tokens).")
    llm_cache_enabled: bool = Field(
        True, description="Save replies at temperature 0 in DATA_DIR/cache/replies.sqlite and reuse them at no cost."
    )
    nim_max_concurrent_requests: int = Field(
        32, ge=1, le=1_024, description="Maximum concurrent requests to a provider, NIM or any other."
    )
    nim_request_timeout: float = Field(
        120, gt=0, le=3_600, description="Maximum wait for a provider, NIM or any other (seconds)."
    )
    nim_max_retries: int = Field(
        3, ge=0, le=20, description="Retries of a request that failed with 429, 5xx, a time-out or a lost connection."
    )

    embedding_model_name: str = Field(
        LOCAL_EMBEDDER,
        description="Embedding model; `openai/…` and `nvidia/…` use OpenAI and NVIDIA with their keys; `onnx:FOLDER` "
        "and `ct2:FOLDER` run a model of your own, `fastembed/…` one of the package fastembed, on this machine.",
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
    retrieval_bm25_language: Literal["", "es", "en"] = Field(
        "", description="Language of the corpus of a run, for stemming and prompts; empty: detected."
    )
    query_expansion_llm: bool = Field(
        False, description="Ask PROVIDER's model for additional words if a question has fewer than 5."
    )
    vector_store: Literal["auto", "exact", "chroma"] = Field(
        "auto", description="Where vectors are searched; `auto`: ChromaDB for knowledge bases, exact search for runs."
    )
    chroma_host: str = Field("", description="host:port of a ChromaDB server; empty: files in DATA_DIR/chroma.")
    reranker_enabled: bool = Field(False, description="Rerank the candidates before the answer.")
    reranker_base_url: Address = Field(
        "", description="NIM with a reranking model, e.g. http://host:9000/v1; empty: PROVIDER's model scores 0-10."
    )
    reranker_model_name: str = Field("nvidia/llama-3.2-nv-rerankqa-1b-v2", description="Reranking model of that NIM.")
    reranker_candidates: int = Field(
        15,
        ge=1,
        le=1_000,
        description="Chunks that the reranker scores per question, at least RERANKER_TOP_N; a language model gets one "
        "request for each.",
    )
    reranker_top_n: int = Field(5, ge=1, le=1_000, description="Chunks kept after reranking.")

    mteb_dataset_name: str = Field(
        "valle_multihop",
        description="Data set of a run: a name, a folder, or s3://bucket/…/name; a name is also looked up under "
        "S3_DATASETS_PREFIX.",
    )
    eval_max_queries: int = Field(0, ge=0, description="Maximum queries of a run, in file order; 0: all.")
    eval_max_corpus: int = Field(
        0,
        ge=0,
        description="Maximum documents of a run: first those that its queries need, then random others; 0: all.",
    )
    corpus_shuffle_seed: int = Field(
        42, ge=-1, description="Random seed for EVAL_MAX_CORPUS and DEV_MODE; -1: no shuffle, the files' order."
    )
    dev_mode: bool = Field(
        False,
        description="Run on a sample: DEV_QUERIES random queries, all their gold documents, and others up to "
        "DEV_CORPUS_SIZE. EVAL_MAX_QUERIES and EVAL_MAX_CORPUS are then ignored.",
    )
    dev_queries: int = Field(200, ge=1, description="Queries in the sample of DEV_MODE.")
    dev_corpus_size: int = Field(4_000, ge=1, description="Documents in the sample of DEV_MODE, gold ones and others.")
    dataset_max_upload_mb: int = Field(
        200,
        ge=1,
        le=2_000,
        description="Maximum size of a file uploaded as a data set in Admin (MB); unpacked, eight times that.",
    )

    minio_endpoint: Address = Field(
        "", description="Address of a MinIO or other S3 server with data sets, e.g. http://host:9000; empty: none."
    )
    minio_access_key: Key = Field(SecretStr(""), description="Access key for the S3 server.")
    minio_secret_key: Key = Field(SecretStr(""), description="Secret of the access key for the S3 server.")
    minio_bucket_name: str = Field("", description="Bucket with the data sets, e.g. lakehouse.")
    minio_region: str = Field("us-east-1", min_length=1, description="Region used to sign requests to S3.")
    s3_datasets_prefix: str = Field(
        "datasets/evaluation", description="Prefix of the data sets in the bucket: <prefix>/<name>/corpus.parquet, …"
    )
    generation_enabled: bool = Field(True, description="Generate answers in runs, with PROVIDER's model.")
    generation_max_context_chars: NoneOrContextChars = Field(
        0,
        ge=0,
        description="Maximum context of an answer in runs (characters); 0: as in the chat, but no more than the model "
        "can read if its server reports it.",
    )
    judge_metrics: str = Field(
        DEFAULT_JUDGE_METRICS,
        description="Metrics of the answers of a run that a judge scores, separated by commas; empty: none.",
    )
    judge_provider: str = Field("", description="Provider that judges the answers of runs; empty: PROVIDER.")
    judge_model_name: str = Field("", description="Model of the judge; empty: that of its provider's own setting.")
    log_format: Literal["text", "jsonl"] = Field(
        "text", description="Format of the log: `text`, or `jsonl` (JSON objects, including the events of a run)."
    )

    @field_validator("judge_metrics")
    @classmethod
    def _known_judge_metrics(cls, value: str) -> str:
        names = names_of(value)
        if unknown := [name for name in names if name not in JUDGE_METRICS]:
            raise ValueError(f"{unknown[0]!r} is not a judge metric; legal: {', '.join(JUDGE_METRICS)}")
        return ",".join(names)

    @field_validator("judge_provider")
    @classmethod
    def _known_judge(cls, value: str) -> str:
        if value not in ("", *PROVIDER_NAMES):
            raise ValueError(f"there is no such provider; legal: {', '.join(PROVIDER_NAMES)}")
        return value

    @field_validator("retrieval_vector_weight")
    @classmethod
    def _some_weight(cls, value: float, info: ValidationInfo) -> float:
        if value == 0 and info.data.get("retrieval_bm25_weight") == 0:
            raise ValueError("RETRIEVAL_BM25_WEIGHT and RETRIEVAL_VECTOR_WEIGHT cannot both be 0")
        return value

    @field_validator("admin_password")
    @classmethod
    def _usable_password(cls, value: SecretStr) -> SecretStr:
        if reason := reason_against(value.get_secret_value()):
            raise ValueError(reason)
        return value

    @field_validator("minio_endpoint")
    @classmethod
    def _whole_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^/\s]+/?", value):
            raise ValueError("it must begin with http:// or https:// and have no path, as in http://host:9000")
        return value.rstrip("/")

    @field_validator("s3_datasets_prefix")
    @classmethod
    def _bare_prefix(cls, value: str) -> str:
        return value.strip("/")

    @model_validator(mode="before")
    @classmethod
    def _one_budget_for_all(cls, values: Any) -> Any:
        if isinstance(values, dict) and "kb_max_context_chars" in values:
            values.setdefault("kb_large_context_chars", values["kb_max_context_chars"])
        return values

    @model_validator(mode="before")
    @classmethod
    def _ranks_where_their_knobs_are_set(cls, values: Any) -> Any:
        knobs = {"retrieval_rrf_k", "retrieval_bm25_weight", "retrieval_vector_weight"}
        if isinstance(values, dict) and knobs & values.keys():
            values.setdefault("retrieval_fusion", "rrf")
        return values


SECRETS = tuple(name for name, field in SettingFields.model_fields.items() if field.annotation is SecretStr)
"""Settings that are never written down."""
ADDRESSES = tuple(name for name, field in SettingFields.model_fields.items() if IS_ADDRESS in field.metadata)
"""Settings that say where requests go to."""
PROVIDER_SETTINGS: dict[str, OfProvider] = {
    name: mark for name, field in SettingFields.model_fields.items() if (mark := marked(field))
}
"""Setting -> whose it is and what it holds; only the settings of one provider are here."""

MODEL_SETTINGS = {mark.provider: name for name, mark in PROVIDER_SETTINGS.items() if mark.role == "model"}
"""Provider -> the setting that names its model."""
ADDRESS_SETTINGS = {mark.provider: name for name, mark in PROVIDER_SETTINGS.items() if mark.role == "address"}
"""Provider -> the setting that says where it is."""

PROVIDER_NAMES = (*dict.fromkeys(mark.provider for mark in PROVIDER_SETTINGS.values()), "demo")
"""Every provider; "demo" has no language model and no settings."""
