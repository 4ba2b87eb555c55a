"""Frozen settings: the only reader of the environment and of ``.env``.

A name here, in capitals, is the name of the environment variable (``retrieval_k`` is ``RETRIEVAL_K``).
The environment wins over ``.env``, which wins over the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from chatbot_mvp.errors import InvalidSetting

PROJECT_ROOT = Path(__file__).resolve().parent.parent

LOCAL_EMBEDDER = "local/multilingual-e5-small"

MASK = "***"
"""What stands for a secret wherever settings are written down."""


class Settings(BaseSettings):
    """One configuration for chat and benchmark."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True)

    data_dir: Path = Field(PROJECT_ROOT / "data", description="Folder of everything that is written at run time.")
    ui_language: Literal["es", "en"] = Field("es", description="Language of the pages at the first visit.")

    kb_max_chars: int = Field(120_000, ge=1_000, description="A longer document is cut at a paragraph (characters).")
    kb_max_upload_mb: int = Field(10, ge=1, le=1_000, description="Largest file taken as a knowledge base (MB).")
    kb_top_k: int = Field(5, ge=1, le=50, description="Chunks that may reach an answer.")
    kb_min_score: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="Chunks that score less, relative to the best one, are dropped (0-1).",
    )
    kb_max_context_chars: int = Field(4_000, ge=500, description="Budget of the context given to a model (characters).")
    kb_large_context_chars: int = Field(
        6_000,
        ge=500,
        description="The same for sources over 40,000 characters; KB_MAX_CONTEXT_CHARS, when set, holds for all.",
    )
    kb_min_evidence: float = Field(
        0.5, ge=0.0, le=1.0, description="Strict mode answers from this evidence score on (0-1)."
    )

    provider: str = Field("demo", description="Who writes the answers of the chat.")

    embedding_model_name: str = Field(LOCAL_EMBEDDER, description="Embedding model.")
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
    nim_request_timeout: float = Field(120, gt=0, le=3_600, description="Longest wait for an answer of NIM (seconds).")
    nvidia_api_key: SecretStr = Field(SecretStr(""), description="Key for NIM; empty for one that asks for none.")

    mteb_dataset_name: str = Field(
        "valle_multihop", description="Data set of a benchmark run: a bundled name or a folder."
    )
    eval_max_queries: int = Field(0, ge=0, description="Queries of a run; 0 = all.")
    generation_enabled: bool = Field(
        False, description="Answers in benchmark runs; this version measures retrieval only."
    )

    @field_validator("generation_enabled")
    @classmethod
    def _no_generation_yet(cls, value: bool) -> bool:
        if value:
            raise ValueError("benchmark runs of this version measure retrieval only; legal: false")
        return value

    @field_validator("retrieval_vector_weight")
    @classmethod
    def _some_weight(cls, value: float, info: ValidationInfo) -> float:
        if value == 0 and info.data.get("retrieval_bm25_weight") == 0:
            raise ValueError("RETRIEVAL_BM25_WEIGHT and RETRIEVAL_VECTOR_WEIGHT cannot both be 0")
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

    @field_serializer("nvidia_api_key", when_used="json")
    def _masked(self, value: SecretStr) -> str:
        return MASK if value.get_secret_value() else ""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, dotenv_settings

    @property
    def reranker(self) -> str:
        """Names what puts the candidates in order once more ("nim:MODEL", "llm:PROVIDER"); "" for nothing."""
        if not self.reranker_enabled:
            return ""
        return f"nim:{self.reranker_model_name}" if self.reranker_base_url else f"llm:{self.provider}"

    @property
    def samples_dir(self) -> Path:
        """Folder of the samples that come with the project."""
        return PROJECT_ROOT / "data" / "samples"

    @property
    def kb_dir(self) -> Path:
        return self.data_dir / "kb"

    @property
    def chroma_dir(self) -> Path:
        return self.data_dir / "chroma"

    @property
    def cache_dir(self) -> Path:
        return self.data_dir / "cache"

    @property
    def results_dir(self) -> Path:
        return self.data_dir / "results"

    @property
    def jobs_dir(self) -> Path:
        return self.data_dir / "jobs"

    @property
    def submissions_path(self) -> Path:
        return self.data_dir / "submissions.jsonl"

    def with_changes(self, **changes: Any) -> Settings:
        """These settings with some values replaced, validated again.

        Raises:
            InvalidSetting: a value is not legal.
        """
        for name, value in changes.items():
            if name not in Settings.model_fields:
                raise InvalidSetting(name=name.upper(), found=value, reason="there is no such setting")
        values = self.model_dump()
        if "kb_max_context_chars" in changes:
            values["kb_large_context_chars"] = changes["kb_max_context_chars"]
        # _env_file is an argument of pydantic-settings that its type stubs do not know.
        return _validated(lambda: Settings(_env_file=None, **{**values, **changes}))  # type: ignore[call-arg]

    def with_recorded(self, recorded: Mapping[str, Any]) -> Settings:
        """These settings with the values that a run's manifest holds; secrets stay as they are here.

        Raises:
            InvalidSetting: a recorded value is not legal any more.
        """
        fields = Settings.model_fields
        known = {name: value for name, value in recorded.items() if name in fields}
        return self.with_changes(
            **{name: value for name, value in known.items() if fields[name].annotation is not SecretStr}
        )


def load_settings(env_file: Path | None = None, **overrides: Any) -> Settings:
    """Read the environment and ``.env`` (or ``env_file``); ``overrides`` win over both.

    Raises:
        InvalidSetting: names the variable, what was found and what is legal.
    """
    if env_file is not None and not env_file.is_file():
        raise InvalidSetting(name="--env", found=str(env_file), reason="there is no such file")
    path = env_file or Path(".env")
    # As above: the stubs do not know _env_file.
    return _validated(lambda: Settings(_env_file=path, **overrides))  # type: ignore[call-arg]


def _validated(build: Any) -> Settings:
    try:
        settings: Settings = build()
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).upper()
        raise InvalidSetting(name=name, found=first["input"], reason=first["msg"]) from error
    return settings
