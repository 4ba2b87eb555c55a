"""Every setting as data: its type, default, range and one line of what it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_serializer, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from chatbot_mvp.settings.installation import INSTALLATION
from chatbot_mvp.settings.password import reason_against

LOCAL_EMBEDDER = "local/multilingual-e5-small"

AUTO = "auto"
"""As PROVIDER: what was chosen in Admin, else nim where LLM_BASE_URL is set, else gemini with a key, else demo."""

MASK = "***"
"""What stands for a secret wherever settings are written down."""


MODEL_SETTINGS = {
    "gemini": "gemini_model_name",
    "groq": "groq_model_name",
    "nim": "llm_model_name",
    "openai": "openai_model_name",
    "ollama": "ollama_model_name",
}
"""Provider -> the setting that names its model."""


LEAST_CONTEXT_CHARS = 500
"""Smallest budget of a context, in characters."""

PROVIDER_NAMES = (*MODEL_SETTINGS, "local", "demo")

JUDGE_METRICS = ("faithfulness", "context_utilization")
"""What a judge can score of an answer in a run."""


_KEYS = (
    *("gemini_api_key", "google_api_key", "groq_api_key", "nvidia_api_key", "openai_api_key", "serve_token"),
    *("minio_access_key", "minio_secret_key"),
)

SECRETS = (*_KEYS, "admin_password")
"""Settings that are never written down."""

ADDRESSES = (
    *("gemini_base_url", "groq_base_url", "llm_base_url", "openai_base_url", "ollama_base_url"),
    *("embedding_base_url", "reranker_base_url", "minio_endpoint"),
)


class SettingFields(BaseSettings):
    """A name here, in capitals, is the name of the environment variable (``retrieval_k`` is ``RETRIEVAL_K``)."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True)

    data_dir: Path = Field(
        INSTALLATION.data_dir,
        description="Folder of everything that is written at run time; of an installed package, "
        "~/.local/share/chatbot-mvp.",
    )
    ui_language: Literal["es", "en"] = Field("es", description="Language of the pages at the first visit.")

    admin_password: SecretStr = Field(
        SecretStr(""),
        description="Password of Admin and of what deletes, or its hash by `chatbot-mvp hash-password`; empty: none.",
    )
    admin_emails: str = Field(
        "",
        description="Who may open Admin after signing in with OIDC (`[auth]` in `.streamlit/secrets.toml`), separated "
        "by commas; empty: nobody that way.",
    )

    kb_max_chars: int = Field(120_000, ge=1_000, description="A longer document is cut at a paragraph (characters).")
    kb_max_upload_mb: int = Field(10, ge=1, le=1_000, description="Largest file taken as a knowledge base (MB).")
    kb_max_pages: int = Field(500, ge=1, le=10_000, description="Longest PDF taken (pages).")
    kb_top_k: int = Field(5, ge=1, le=50, description="Chunks that may reach an answer.")
    kb_min_score: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="Chunks that score less, relative to the best one, are dropped (0-1).",
    )
    kb_max_context_chars: int = Field(
        4_000, ge=LEAST_CONTEXT_CHARS, description="Budget of the context given to a model (characters)."
    )
    kb_large_context_chars: int = Field(
        6_000,
        ge=LEAST_CONTEXT_CHARS,
        description="The same for sources over 40,000 characters; KB_MAX_CONTEXT_CHARS, when set, holds for all.",
    )
    kb_min_evidence: float = Field(
        0.5, ge=0.0, le=1.0, description="Strict mode answers from this evidence score on (0-1)."
    )

    kb_doubt_evidence: float = Field(
        0.05,
        ge=0.0,
        le=1.0,
        description="From this evidence score on, up to halfway between KB_MIN_EVIDENCE and 1, strict mode asks the "
        "provider's model whether the passages are relevant (0-1; as high as KB_MIN_EVIDENCE: it is never asked).",
    )
    chat_max_tokens: int = Field(
        0,
        ge=0,
        le=32_000,
        description="Longest answer of the chat (tokens); 0: 700 with groq and a knowledge base, else LLM_MAX_TOKENS.",
    )
    chat_rewrite_followups: bool = Field(
        False, description="Let the provider's model rewrite a follow-up question as one that stands alone."
    )
    log_queries: bool = Field(False, description="Write the questions themselves into logs/retrieval_metrics.jsonl.")
    serve_token: SecretStr = Field(
        SecretStr(""), description="Bearer token that `chatbot-mvp serve` asks for; empty: made up at each start."
    )

    provider: str = Field(
        AUTO,
        description="Who writes answers, by its name in the table of providers; `auto`: the one chosen in Admin, else "
        "`nim` if LLM_BASE_URL is set, else `gemini` if it has a key, else `demo`.",
    )
    gemini_api_key: SecretStr = Field(SecretStr(""), description="Key for `gemini`.")
    google_api_key: SecretStr = Field(SecretStr(""), description="The same; used where GEMINI_API_KEY is empty.")
    gemini_model_name: str = Field("gemini-2.5-flash", min_length=1, description="Model of `gemini`.")
    gemini_base_url: str = Field("https://generativelanguage.googleapis.com", description="Address of `gemini`.")
    groq_api_key: SecretStr = Field(SecretStr(""), description="Key for `groq`.")
    groq_model_name: str = Field("llama-3.3-70b-versatile", min_length=1, description="Model of `groq`.")
    groq_base_url: str = Field("https://api.groq.com", description="Address of `groq`.")
    llm_base_url: str = Field(
        "", description="NIM with a language model, e.g. http://host:8000/v1; empty: NVIDIA's own, with its key."
    )
    llm_model_name: str = Field("nvidia/nemotron-3-nano", min_length=1, description="Model of `nim`.")
    nvidia_api_key: SecretStr = Field(SecretStr(""), description="Key for NIM; empty for one that asks for none.")
    openai_api_key: SecretStr = Field(SecretStr(""), description="Key for `openai`.")
    openai_model_name: str = Field("gpt-4.1-mini", min_length=1, description="Model of `openai`.")
    openai_base_url: str = Field("https://api.openai.com/v1", description="Address of `openai`, or one that speaks it.")
    ollama_model_name: str = Field("", description="Model of `ollama`, as `ollama list` names it.")
    ollama_base_url: str = Field("http://127.0.0.1:11434/v1", description="Address of `ollama`.")
    local_model_path: str = Field("", description="GGUF file that `local` runs inside the process.")
    local_context_tokens: int = Field(
        4_096, ge=256, le=1_048_576, description="Context of `local`, prompt and answer together (tokens)."
    )
    local_threads: int = Field(
        0, ge=0, le=1_024, description="Threads of `local`; 0 = half the cores, so that pages stay quick."
    )

    llm_temperature: float = Field(
        0.0, ge=0.0, le=2.0, description="Temperature of answers; only replies at 0 are kept in the cache."
    )
    llm_max_tokens: int = Field(1_024, ge=1, description="Longest answer (tokens).")
    llm_cache_enabled: bool = Field(
        True, description="Keep replies at temperature 0 in DATA_DIR/cache/replies.sqlite and give them again for free."
    )
    nim_max_concurrent_requests: int = Field(
        32, ge=1, le=1_024, description="Requests that one provider, NIM or not, gets at the same time."
    )
    nim_request_timeout: float = Field(
        120, gt=0, le=3_600, description="Longest wait for a provider, NIM or not (seconds)."
    )
    nim_max_retries: int = Field(
        3, ge=0, le=20, description="Repetitions of a request that failed by 429, 5xx, time-out or a lost connection."
    )

    embedding_model_name: str = Field(
        LOCAL_EMBEDDER, description="Embedding model; `openai/…` and `nvidia/…` ask OpenAI and NVIDIA with their keys."
    )
    embedding_base_url: str = Field(
        "", description="NIM or another OpenAI-like endpoint that embeds with EMBEDDING_MODEL_NAME."
    )
    embedding_model_type: Literal["asymmetric", "symmetric"] = Field(
        "asymmetric",
        description="Whether that endpoint is told `input_type` query or passage (`asymmetric`, as NIM asks for) or "
        "not (`symmetric`).",
    )
    embedding_batch_size: int = Field(32, ge=1, le=1_024, description="Texts embedded in one call.")

    retrieval_strategy: str = Field(
        "BRIDGE_HYBRID", description="Retrieval strategy of chat and benchmark, by its name in the registry."
    )
    retrieval_k: int = Field(20, ge=1, le=1_000, description="Documents a benchmark keeps and scores per query.")
    retrieval_pre_fusion_k: int = Field(150, ge=1, le=10_000, description="Candidates of each retriever before fusion.")
    retrieval_fusion: Literal["rrf", "weighted"] = Field(
        "weighted",
        description="BM25 and vectors fused by score with a share of the vectors that grows with the question's "
        "length, or by rank (`weighted`, `rrf`); `rrf` when RETRIEVAL_RRF_K or a weight is set and this is not.",
    )
    retrieval_rrf_k: int = Field(60, ge=1, description="The constant k of reciprocal rank fusion.")
    retrieval_bm25_weight: float = Field(0.5, ge=0.0, description="Weight of BM25 in the fusion.")
    retrieval_vector_weight: float = Field(0.5, ge=0.0, description="Weight of the vectors in the fusion.")
    retrieval_context_batch_size: int = Field(
        8, ge=1, le=256, description="Chunks whose context CONTEXTUAL_HYBRID asks a language model for at once."
    )

    retrieval_context_max_tokens: int = Field(
        150,
        ge=10,
        le=2_000,
        description="Longest context that CONTEXTUAL_HYBRID indexes with a chunk (tokens of 4 characters).",
    )
    retrieval_bm25_language: Literal["", "es", "en"] = Field(
        "", description="Language of a benchmark's corpus, for stemming and prompts; empty: detected."
    )

    query_expansion_llm: bool = Field(
        False, description="Ask PROVIDER's model for further words where a question has fewer than 5."
    )

    vector_store: Literal["auto", "exact", "chroma"] = Field(
        "auto", description="Where vectors are searched; auto: ChromaDB for knowledge bases, exact for benchmarks."
    )
    chroma_host: str = Field("", description="host:port of a ChromaDB server; empty: files in DATA_DIR/chroma.")

    reranker_enabled: bool = Field(False, description="Put the candidates in order once more before the answer.")
    reranker_base_url: str = Field(
        "", description="NIM with a ranking model, e.g. http://host:9000/v1; empty: PROVIDER's model scores 0-10."
    )
    reranker_model_name: str = Field("nvidia/llama-3.2-nv-rerankqa-1b-v2", description="Ranking model of that NIM.")
    reranker_top_n: int = Field(5, ge=1, le=1_000, description="Chunks kept after reranking.")

    mteb_dataset_name: str = Field(
        "valle_multihop",
        description="Data set of a benchmark run: a name, a folder, or s3://bucket/…/name; a name may also stand under "
        "S3_DATASETS_PREFIX.",
    )
    eval_max_queries: int = Field(0, ge=0, description="Queries of a run, the first of the data set; 0 = all.")
    eval_max_corpus: int = Field(
        0,
        ge=0,
        description="Documents of a run, those that its queries need first and the others after a shuffle; 0 = all.",
    )
    corpus_shuffle_seed: int = Field(
        42, ge=-1, description="Seed of what EVAL_MAX_CORPUS and DEV_MODE pick; -1 = no shuffle, in the files' order."
    )
    dev_mode: bool = Field(
        False,
        description="Run on a sample: DEV_QUERIES random queries, all their gold documents, others up to "
        "DEV_CORPUS_SIZE. EVAL_MAX_QUERIES and EVAL_MAX_CORPUS do not count then.",
    )
    dev_queries: int = Field(200, ge=1, description="Queries of DEV_MODE.")
    dev_corpus_size: int = Field(4_000, ge=1, description="Documents of DEV_MODE, gold ones and others.")
    dataset_max_upload_mb: int = Field(
        200,
        ge=1,
        le=2_000,
        description="Largest file taken as a data set in Admin (MB); unpacked, eight times that.",
    )

    minio_endpoint: str = Field(
        "", description="MinIO or another S3 server with data sets, e.g. http://host:9000; empty: none."
    )
    minio_access_key: SecretStr = Field(SecretStr(""), description="Access key of that server.")
    minio_secret_key: SecretStr = Field(SecretStr(""), description="Secret of that key.")
    minio_bucket_name: str = Field("", description="Bucket of the data sets, e.g. lakehouse.")
    minio_region: str = Field("us-east-1", min_length=1, description="Region that requests are signed for.")
    s3_datasets_prefix: str = Field(
        "datasets/evaluation", description="Where in the bucket data sets are: <prefix>/<name>/corpus.parquet, …"
    )
    generation_enabled: bool = Field(True, description="Answers in benchmark runs, by PROVIDER's model.")
    generation_max_context_chars: int = Field(
        0,
        ge=0,
        description="Budget of the context of an answer in benchmark runs (characters); 0: as in the chat, and no more "
        "than the model can read, where its server tells.",
    )
    judge_metrics: str = Field(
        "faithfulness,context_utilization",
        description="What a language model scores of the answers of a run, separated by commas; empty: nothing.",
    )
    judge_provider: str = Field("", description="Who judges answers of runs, as PROVIDER; empty: PROVIDER.")
    judge_model_name: str = Field("", description="Model of the judge; empty: the one that its provider's own names.")
    log_format: Literal["text", "jsonl"] = Field(
        "text", description="Log lines as text or as JSON objects, the latter with the events of a run."
    )

    @field_validator("generation_max_context_chars")
    @classmethod
    def _room_for_a_passage(cls, value: int) -> int:
        if 0 < value < LEAST_CONTEXT_CHARS:
            raise ValueError(f"legal: 0, or {LEAST_CONTEXT_CHARS} and more")
        return value

    @field_validator("judge_metrics")
    @classmethod
    def _known_judge_metrics(cls, value: str) -> str:
        names = names_of(value)
        if unknown := [name for name in names if name not in JUDGE_METRICS]:
            raise ValueError(f"{unknown[0]!r} is none of them; legal: {', '.join(JUDGE_METRICS)}")
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

    @field_validator(*_KEYS)
    @classmethod
    def _usable_key(cls, value: SecretStr) -> SecretStr:
        key = value.get_secret_value().strip()
        # It goes into a header: libraries that cannot put it there would repeat it in their error.
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("a key has no spaces, control characters or letters outside of ASCII")
        return SecretStr(key)

    @field_validator("minio_endpoint")
    @classmethod
    def _whole_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^/\s]+/?", value):
            raise ValueError("an address with http:// or https:// and no path is needed, as in http://host:9000")
        return value.rstrip("/")

    @field_validator("s3_datasets_prefix")
    @classmethod
    def _bare_prefix(cls, value: str) -> str:
        return value.strip("/")

    @field_validator(*ADDRESSES)
    @classmethod
    def _no_password(cls, value: str) -> str:
        if "@" in value:
            raise ValueError("an address is written down with every run and must hold no name or password")
        return value

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

    @field_serializer(*SECRETS, when_used="json")
    def _masked(self, value: SecretStr) -> str:
        return MASK if value.get_secret_value() else ""


def names_of(text: str) -> list[str]:
    """Names separated by commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
