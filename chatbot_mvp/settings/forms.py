"""Describes how a form asks for a setting: its kind, range and choices, derived from the field."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr

from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.settings.fields import ADDRESSES, MODEL_SETTINGS, PROVIDER_SETTINGS
from chatbot_mvp.settings.kinds import IN_ADMIN
from chatbot_mvp.settings.model import SECRETS, Settings

Kind = Literal["switch", "whole", "number", "choice", "text", "secret"]

GROUPS: dict[str, tuple[str, ...]] = {
    "general": ("data_", "ui_language", "log_", "serve_", "allowed_", "trusted_", "admin_"),
    "kb": ("kb_",),
    "chat": ("chat_",),
    "provider": ("provider", "llm_", "nim_", *PROVIDER_SETTINGS),
    "vectors": ("embedding_", "vector_", "chroma_", "index_"),
    "retrieval": ("retrieval_", "query_"),
    "reranking": ("reranker_",),
    "data": ("mteb_", "eval_", "corpus_", "dev_", "dataset_", "minio_", "s3_"),
    "answers": ("generation_", "judge_"),
}
"""Group -> prefixes of the names of its settings."""

CHANGEABLE = frozenset(
    name
    for name, field in Settings.model_fields.items()
    if (IN_ADMIN in field.metadata or name in MODEL_SETTINGS.values()) and name not in (*SECRETS, *ADDRESSES)
)
"""Settings that Admin may change while the App is running: those that are marked, and the models of providers.

Folders are in use; addresses decide where keys and texts are sent; secrets are never written down.
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
        """The group of the setting, a key of ``GROUPS``: that of the section that adds it, or by its name."""
        of_section = _added_groups().get(self.name)
        return of_section or next(group for group, begins in GROUPS.items() if self.name.startswith(begins))


@cache
def _added_groups() -> dict[str, str]:
    """Return the group of each setting that a section adds."""
    sections = added("settings", SettingsSection).values()
    groups = {name: section.group for section in sections for name in section.fields.model_fields}
    return {name: group if group in GROUPS else "general" for name, group in groups.items()}


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
