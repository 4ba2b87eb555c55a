"""A run's configuration for people: every setting in a group, beside its default. Secrets are not in it at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.settings.fields import PROVIDER_SETTINGS
from chatbot_mvp.settings.model import MASK, SECRETS, Settings

GROUPS: dict[str, tuple[str, ...]] = {
    "search": ("retrieval_", "query_expansion_", "vector_store", "chroma_"),
    "context": ("kb_top_k", "kb_min_score", "kb_max_context_chars", "kb_large_context_chars"),
    "reranking": ("reranker_",),
    "vectors": ("embedding_",),
    "answers": ("generation_", "llm_", "provider", *PROVIDER_SETTINGS),
    "judge": ("judge_",),
    "data": ("mteb_", "eval_", "dev_", "corpus_", "minio_", "s3_"),
    "requests": ("nim_",),
    "other": ("",),
}
"""Group -> beginnings of its settings' names; the first group that fits has the setting. Keys of the catalogues."""


@dataclass(frozen=True, slots=True)
class RunSetting:
    """One setting of a run."""

    name: str
    value: Any
    default: Any
    """Of this version; None for a setting that it does not have."""
    changed: bool
    """Not as the default."""


def configuration_groups(recorded: Mapping[str, Any]) -> dict[str, list[RunSetting]]:
    """Group -> its settings by name, those that were changed first; groups without a setting are left out."""
    defaults = _defaults()
    found: dict[str, list[RunSetting]] = {group: [] for group in GROUPS}
    for name, value in masked_settings(recorded).items():
        if name in SECRETS or value == MASK:
            continue
        default = defaults.get(name)
        found[_group(name)].append(RunSetting(name, value, default, name not in defaults or value != default))
    return {group: sorted(rows, key=lambda row: (not row.changed, row.name)) for group, rows in found.items() if rows}


def _group(name: str) -> str:
    return next(group for group, starts in GROUPS.items() if name.startswith(starts))


def _defaults() -> dict[str, Any]:
    """As a manifest writes them, so that they can be compared with what stands there."""
    made = Settings.model_construct()
    return masked_settings(made.model_dump(mode="json", exclude={"data_dir", *SECRETS}))
