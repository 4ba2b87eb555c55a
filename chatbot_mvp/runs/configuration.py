"""Group a run's settings for display, with their defaults. Secrets are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.settings.fields import PROVIDER_SETTINGS
from chatbot_mvp.settings.model import MASK, SECRETS, Settings

GROUPS: dict[str, tuple[str, ...]] = {
    "search": ("retrieval_", "query_expansion_", "vector_store", "chroma_", "index_engine"),
    "context": ("kb_top_k", "kb_min_score", "kb_max_context_chars", "kb_large_context_chars"),
    "reranking": ("reranker_",),
    "vectors": ("embedding_",),
    "answers": ("generation_", "llm_", "provider", *PROVIDER_SETTINGS),
    "judge": ("judge_",),
    "data": ("mteb_", "eval_", "dev_", "corpus_", "minio_", "s3_"),
    "requests": ("nim_",),
    "other": ("",),
}
"""Group -> prefixes of its settings' names. A setting belongs to the first matching group; an added one to that of its
section. Also translation keys."""


@dataclass(frozen=True, slots=True)
class RunSetting:
    """One setting of a run."""

    name: str
    value: Any
    default: Any
    """The default in this version; None if this version does not have the setting."""
    changed: bool
    """True if the value differs from the default."""


def configuration_groups(recorded: Mapping[str, Any]) -> dict[str, list[RunSetting]]:
    """Return group -> its settings, changed ones first, then by name. Empty groups are left out."""
    defaults = _defaults()
    found: dict[str, list[RunSetting]] = {group: [] for group in GROUPS}
    for name, value in masked_settings(recorded).items():
        if name in SECRETS or value == MASK:
            continue
        default = defaults.get(name)
        found[_group(name)].append(RunSetting(name, value, default, name not in defaults or value != default))
    return {group: sorted(rows, key=lambda row: (not row.changed, row.name)) for group, rows in found.items() if rows}


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the settings that two runs do not share -> (value before, value after); "-" where one has none."""
    return {
        name: (str(before.get(name, "-")), str(after.get(name, "-")))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
        and name not in SECRETS
        and MASK not in (before.get(name), after.get(name))
    }


def _group(name: str) -> str:
    for section in added("settings", SettingsSection).values():
        if name in section.fields.model_fields:
            return section.run_group
    return next(group for group, starts in GROUPS.items() if name.startswith(starts))


def _defaults() -> dict[str, Any]:
    """Return the defaults in the form of a manifest, so that they can be compared with recorded values."""
    made = Settings.model_construct()
    return masked_settings(made.model_dump(mode="json", exclude={"data_dir", *SECRETS}))
