"""Describes how a form asks for a setting: its kind, range and choices, derived from the field."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr

from chatbot_mvp.settings.fields.providers import MODEL_SETTINGS, PROVIDER_SETTINGS
from chatbot_mvp.settings.model import SECRETS, Settings

Kind = Literal["switch", "whole", "number", "choice", "text", "secret"]

GROUPS: dict[str, tuple[str, ...]] = {
    "general": ("data_", "ui_language", "log_", "serve_", "allowed_", "trusted_", "admin_"),
    "kb": ("kb_",),
    "chat": ("chat_",),
    "provider": ("provider", "llm_", "nim_", *PROVIDER_SETTINGS),
    "vectors": ("embedding_", "vector_", "chroma_", "index_", "milvus_"),
    "retrieval": ("retrieval_", "query_"),
    "reranking": ("reranker_",),
    "data": ("mteb_", "eval_", "corpus_", "dev_", "dataset_", "minio_", "s3_", "ray_"),
    "answers": ("generation_", "judge_"),
}
"""Group -> prefixes of the names of its settings."""

CHANGEABLE = frozenset(
    {
        *("ui_language", "kb_max_chars", "kb_max_upload_mb", "kb_max_pages", "kb_top_k", "kb_min_score"),
        *("kb_max_context_chars", "kb_large_context_chars", "kb_min_evidence", "kb_doubt_evidence"),
        "kb_sure_evidence",
        *(
            "chat_max_tokens",
            "chat_rewrite_followups",
            *MODEL_SETTINGS.values(),
            "llm_temperature",
            "llm_max_tokens",
            "llm_cache_enabled",
        ),
        *("nim_max_concurrent_requests", "nim_max_requests_per_second", "nim_request_timeout", "nim_max_retries"),
        *("retrieval_strategy", "retrieval_k", "retrieval_pre_fusion_k", "retrieval_fusion", "retrieval_rrf_k"),
        *("retrieval_bm25_weight", "retrieval_vector_weight", "retrieval_context_batch_size"),
        *("retrieval_context_max_tokens", "retrieval_context_questions", "retrieval_bm25_language"),
        *("retrieval_chunk_chars", "retrieval_expansion", "retrieval_stitching"),
        *("query_expansion_llm", "vector_store"),
        *("reranker_enabled", "reranker_model_name", "reranker_candidates", "reranker_top_n"),
        *("mteb_dataset_name", "eval_max_queries", "eval_max_corpus", "eval_corpus_slice"),
        "corpus_shuffle_seed",
        *("dev_mode", "dev_queries", "dev_corpus_size"),
        *("dataset_max_upload_mb", "generation_enabled", "generation_max_context_chars"),
        *("generation_context", "judge_metrics"),
        *("judge_provider", "judge_model_name"),
    }
)
"""Settings that Admin may change while the App is running.

Excludes folders, which are in use; addresses, which decide where keys and texts are sent; and secrets.
"""


@dataclass(frozen=True, slots=True)
class SettingForm:
    """Form field for a setting."""

    name: str
    kind: Kind
    choices: tuple[str, ...]
    """Legal values, if the kind is "choice"; otherwise empty."""
    low: float | None
    """Smallest legal value of a number; None if unbounded."""
    high: float | None
    default: Any

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return self.name.upper()

    @property
    def group(self) -> str:
        """The group of the setting, a key of ``GROUPS``."""
        return next(group for group, begins in GROUPS.items() if self.name.startswith(begins))


def form_of(name: str) -> SettingForm:
    """Return the form of the setting ``name``, which must exist."""
    field = Settings.model_fields[name]
    bounds: dict[str, float] = {}
    for constraint in field.metadata:
        for key in ("ge", "gt", "le"):
            if (value := getattr(constraint, key, None)) is not None:
                bounds[key] = value
    choices = tuple(str(choice) for choice in get_args(field.annotation)) if _kind(name) == "choice" else ()
    default = str(field.default) if isinstance(field.default, Path) else field.default
    return SettingForm(name, _kind(name), choices, bounds.get("ge", bounds.get("gt")), bounds.get("le"), default)


def _kind(name: str) -> Kind:
    annotation = Settings.model_fields[name].annotation
    if name in SECRETS or annotation is SecretStr:
        return "secret"
    if get_origin(annotation) is Literal:
        return "choice"
    kinds: dict[Any, Kind] = {bool: "switch", int: "whole", float: "number"}
    return kinds.get(annotation, "text")
