"""Frozen settings: the only module that reads the environment, ``.env`` and ``.streamlit/secrets.toml``.

Order of precedence: environment, ``.env``, ``.streamlit/secrets.toml``, defaults.
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from dotenv import dotenv_values
from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.plugins.finding import names_added
from chatbot_mvp.settings.early import MASK, SECRETS_FILE
from chatbot_mvp.settings.fields import ADDRESSES, MODEL_SETTINGS, SAID_EMPTY, SECRETS
from chatbot_mvp.settings.hints import NearMiss, legal_values, near_misses
from chatbot_mvp.settings.installation import PROJECT_ROOT
from chatbot_mvp.settings.kinds import (
    AUTO,
    CT2_PREFIX,
    FASTEMBED_PREFIX,
    HUGGINGFACE_PREFIX,
    LEAST_CONTEXT_CHARS,
    LOCAL_EMBEDDER,
    OF_THE_MACHINE,
    ONNX_PREFIX,
    embeds_in_process,
    names_of,
)
from chatbot_mvp.settings.paths import SettingPaths

__all__ = [
    "AUTO",
    "CT2_PREFIX",
    "FASTEMBED_PREFIX",
    "HUGGINGFACE_PREFIX",
    "LEAST_CONTEXT_CHARS",
    "LOCAL_EMBEDDER",
    "MASK",
    "MODEL_SETTINGS",
    "ONNX_PREFIX",
    "PROJECT_ROOT",
    "SECRETS",
    "Settings",
    "load_settings",
    "misnamed_settings",
    "where_set",
]

_log = logging.getLogger(__name__)


_NVIDIA_HOST = "api.nvidia.com"
"""NVIDIA's own endpoints, which answer only with a key."""

_RATED_BY_A_MODEL = 15
"""Chunks per question that a language model rates, because each is a request of its own."""


Section = TypeVar("Section", bound=BaseSettings)


class Settings(SettingPaths):
    """Configuration shared by the chat and the benchmark: fields, paths and values derived from several fields."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        path = getattr(dotenv_settings, "env_file", None)
        empty = [InitSettingsSource(settings_cls, _emptied(values)) for values in (os.environ, _written(path))]
        in_secrets = InitSettingsSource(settings_cls, _in_secrets_file())
        return init_settings, env_settings, empty[0], dotenv_settings, empty[1], in_secrets

    @property
    def chosen_provider(self) -> str:
        """Name of the provider, with "auto" resolved to gemini (if it has a key) or demo."""
        return self.provider if self.provider != AUTO else self.automatic_provider[0]

    @property
    def automatic_provider(self) -> tuple[str, str]:
        """(the provider that "auto" stands for, why it is this one)."""
        without_key = not self.nvidia_api_key.get_secret_value()
        if self.llm_base_url and not (without_key and _NVIDIA_HOST in self.llm_base_url.lower()):
            return "nim", "LLM_BASE_URL is set"
        if self.gemini_api_key.get_secret_value() or self.google_api_key.get_secret_value():
            return "gemini", "gemini has a key"
        if self.llm_base_url:
            return "demo", f"LLM_BASE_URL at {_NVIDIA_HOST} needs NVIDIA_API_KEY, which is empty"
        return "demo", "there is no LLM_BASE_URL and no key for gemini"

    @property
    def language_model(self) -> str:
        """Provider and model, as in "groq/llama-3.3-70b-versatile"; only the provider if it has no model."""
        provider = self.chosen_provider
        model = self.model_of(provider)
        return f"{provider}/{model}" if model else provider

    def model_of(self, provider: str) -> str:
        """Return the name of the model configured for ``provider``; "" if it has none."""
        if provider == "local":
            return Path(self.local_model_path).stem
        if provider == "huggingface" and Path(self.huggingface_model_name).is_absolute():
            return Path(self.huggingface_model_name).name
        return str(getattr(self, MODEL_SETTINGS[provider])) if provider in MODEL_SETTINGS else ""

    @property
    def generator(self) -> str:
        """Provider and model that write a run's answers; "" for a run without answers."""
        return self.language_model if self.generation_enabled else ""

    @property
    def judge(self) -> str:
        """Provider and model of a run's judge; "" if nothing is to be judged or the provider has no model."""
        if not (self.generation_enabled and self.judge_metrics):
            return ""
        judging = self.of_judge
        return "" if judging.chosen_provider == "demo" else judging.language_model

    @property
    def of_judge(self) -> Settings:
        """Copy of these settings in which the judge's provider and model are the provider and its model."""
        provider = self.judge_provider or self.chosen_provider
        changes = {"provider": provider}
        if self.judge_model_name and provider in MODEL_SETTINGS:
            changes[MODEL_SETTINGS[provider]] = self.judge_model_name
        return self.with_changes(**changes)

    @property
    def judge_metric_names(self) -> list[str]:
        """``judge_metrics`` as a list of names."""
        return names_of(self.judge_metrics)

    @property
    def embedding_kind(self) -> str:
        """``embedding_model_type`` if the model is served by EMBEDDING_BASE_URL, otherwise ""."""
        remote = self.embedding_base_url and not embeds_in_process(self.embedding_model_name)
        return self.embedding_model_type if remote else ""

    @property
    def reranker_kind(self) -> str:
        """Name of the kind of reranker: "nim", "llm", or one that is added; "" if reranking is disabled."""
        return self._configured_reranker if self.reranker_enabled else ""

    @property
    def _configured_reranker(self) -> str:
        name = self.reranker_model_name.partition(":")[0]
        if name in names_added("reranker"):
            return name
        return "nim" if self.reranker_base_url else "llm"

    @property
    def reranker(self) -> str:
        """The reranker, as "nim:MODEL", "llm:PROVIDER/MODEL" or "NAME:MODEL"; "" if reranking is disabled."""
        kind = self.reranker_kind
        if kind == "llm":
            return f"llm:{self.language_model}"
        return f"nim:{self.reranker_model_name}" if kind == "nim" else kind and self.reranker_model_name

    @property
    def reranker_pool(self) -> int:
        """Chunks that the reranker scores per question: ``reranker_candidates``, with 0 resolved by the reranker."""
        if self.reranker_candidates:
            return self.reranker_candidates
        return _RATED_BY_A_MODEL if self._configured_reranker == "llm" else self.retrieval_pre_fusion_k

    @property
    def reranked(self) -> int:
        """Maximum number of hits that a reranker scores per question."""
        return max(self.reranker_pool, self.reranker_top_n)

    @property
    def hits_read(self) -> int:
        """Number of ranked hits that later stages or a run's record read, at most."""
        return max(self.retrieval_k, self.kb_top_k, self.reranked if self.reranker else 0)

    @property
    def secret_values(self) -> list[str]:
        """The values of the secrets that are not empty."""
        found = [getattr(self, name).get_secret_value() for name in SECRETS]
        return [secret for secret in found if secret]

    @property
    def storage_missing(self) -> list[str]:
        """Variables still needed to use the S3 server; empty when all are set."""
        return [name for name, value in self._storage.items() if not value]

    @property
    def storage_begun(self) -> bool:
        """Whether any of the variables of the S3 server is set."""
        return any(self._storage.values())

    @property
    def _storage(self) -> dict[str, str]:
        return {
            "MINIO_ENDPOINT": self.minio_endpoint,
            "MINIO_ACCESS_KEY": self.minio_access_key.get_secret_value(),
            "MINIO_SECRET_KEY": self.minio_secret_key.get_secret_value(),
            "MINIO_BUCKET_NAME": self.minio_bucket_name,
        }

    def of(self, section: type[Section]) -> Section:
        """Return these settings as a section that was added to them, for its fields."""
        if not isinstance(self, section):
            raise TypeError(f"{section.__name__} is not among the settings: no entry point adds it")
        return self

    def with_changes(self, **changes: Any) -> Settings:
        """Return a copy of these settings with ``changes`` applied and validated.

        Raises:
            InvalidSetting: a value is not legal, or there is no such setting.
        """
        for name, value in changes.items():
            if name not in Settings.model_fields:
                raise InvalidSetting(name=name.upper(), found=value, reason="there is no such setting")
        values = self.model_dump()
        if "kb_max_context_chars" in changes:
            values["kb_large_context_chars"] = changes["kb_max_context_chars"]
        return _validated(lambda: Settings._of({**values, **changes}))

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Settings:
        """Settings with a value for every field; reads no source, which would take most of the time."""
        settings = cls.__new__(cls)
        BaseModel.__init__(settings, **values)
        return settings

    def with_recorded(self, recorded: Mapping[str, Any]) -> Settings:
        """Return a copy of these settings with the values recorded in a run's manifest.

        Secrets and settings that only concern this machine, such as its number of threads, keep their current values.

        Raises:
            InvalidSetting: a recorded value is no longer legal.
        """
        kept = {*SECRETS, *(name for name, field in Settings.model_fields.items() if OF_THE_MACHINE in field.metadata)}
        taken = Settings.model_fields.keys() - kept
        return self.with_changes(**{name: value for name, value in recorded.items() if name in taken})


def _emptied(values: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the settings of SAID_EMPTY that variables set to nothing; of all others, that is as if not set."""
    return {name.lower(): "" for name, value in values.items() if not value and name.lower() in SAID_EMPTY}


def _set_in(values: Mapping[str, str | None]) -> list[str]:
    return [name.lower() for name, value in values.items() if value or name.lower() in SAID_EMPTY]


def _written(env_file: Any) -> Mapping[str, str | None]:
    # pydantic-settings, which reads the file as well, reports one that is not text.
    with suppress(OSError, ValueError):
        return dotenv_values(env_file) if env_file is not None and Path(env_file).is_file() else {}
    return {}


def _in_secrets_file() -> dict[str, Any]:
    """Return the settings among the top-level keys of ``.streamlit/secrets.toml``, in upper or lower case."""
    try:
        found = tomllib.loads(SECRETS_FILE.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        # Safe to show: tomllib's message names a position, never a value.
        raise InvalidSetting(name=str(SECRETS_FILE), found="", reason=f"it cannot be read: {error}") from None
    known = {name.lower(): value for name, value in found.items() if name.lower() in Settings.model_fields}
    return {name: value for name, value in known.items() if value != "" or name in SAID_EMPTY}


def load_settings(env_file: Path | None = None, **overrides: Any) -> Settings:
    """Read the environment, ``.env`` (or ``env_file``) and ``.streamlit/secrets.toml``; ``overrides`` take precedence.

    Logs a warning for each name that looks like a misspelt setting.

    Raises:
        InvalidSetting: a value is not legal; the error names the variable, the value found and the legal values.
    """
    if env_file is not None and not env_file.is_file():
        raise InvalidSetting(name="--env", found=str(env_file), reason="there is no such file")
    for miss in misnamed_settings(env_file):
        _log.warning("%s", miss)
    path = env_file or Path(".env")
    # _env_file is an argument of pydantic-settings that its type stubs do not know.
    return _validated(lambda: Settings(_env_file=path, **overrides))  # type: ignore[call-arg]


def where_set(env_file: Path | None = None) -> dict[str, Literal["environment", "dotenv", "secrets"]]:
    """Return, for each setting that is set in the environment or a file, the place whose value is in effect.

    ``env_file`` is read instead of ``.env``.
    """
    places: dict[str, Literal["environment", "dotenv", "secrets"]] = {}
    with suppress(InvalidSetting):
        places |= dict.fromkeys(_in_secrets_file(), "secrets")
    places |= dict.fromkeys(_set_in(_written(env_file or ".env")), "dotenv")
    places |= dict.fromkeys(_set_in(os.environ), "environment")
    return {name: place for name, place in places.items() if name in Settings.model_fields}


def misnamed_settings(env_file: Path | None = None) -> list[NearMiss]:
    """Return names in the environment and in ``.env`` (or ``env_file``) that look like misspelt settings."""
    known = [name.upper() for name in Settings.model_fields]
    path = env_file or Path(".env")
    return [
        *near_misses(os.environ, known, "environment", own_file=False),
        *near_misses(_written(path), known, path.name, own_file=True),
    ]


def _validated(build: Any) -> Settings:
    try:
        settings: Settings = build()
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]).lower()
        info = Settings.model_fields.get(field)
        legal = legal_values(info.annotation, info.metadata) if info else ""
        said = first["msg"].removeprefix("Value error, ")  # pydantic's words
        reason = f"{said}; legal: {legal}" if legal and "legal:" not in said else said
        if field in (*SECRETS, *ADDRESSES):
            # Not chained: pydantic's own error would show the value.
            raise InvalidSetting(name=field.upper(), found=MASK, reason=reason) from None
        raise InvalidSetting(name=field.upper(), found=first["input"], reason=reason) from error
    return settings
