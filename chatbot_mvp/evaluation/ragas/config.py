"""Read ``config.yaml`` of a Ragas evaluation. The file is optional, and every key has a default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.judges.ragas import RAGAS_METRICS
from chatbot_mvp.settings.fields.providers import PROVIDER_NAMES


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JudgeConfig(_Part):
    """Who judges. Keys stay in the environment."""

    provider: str = ""
    """Name of a provider; "" takes JUDGE_PROVIDER, else PROVIDER."""
    model: str = ""
    """Model of that provider, for ``local`` the path of a GGUF file; "" takes the provider's setting."""
    base_url: str = ""
    """Address of a provider that has one (``nim``, ``openai``, ``ollama``, …); "" takes the setting."""
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    """Sampling temperature, 0-2. ResponseRelevancy generates its questions at 0.3 or more."""
    max_tokens: int = Field(default=1_024, ge=16)
    """Longest first reply (tokens); a reply that was cut off is requested again with four times as many."""
    attempts: int = Field(default=4, ge=1, le=20)
    """Maximum requests for one readable reply. If none is readable, the row is not scored."""

    @field_validator("provider")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ("", *PROVIDER_NAMES):
            raise ValueError(f"there is no such provider; legal: {', '.join(PROVIDER_NAMES)}")
        return value


class RagasConfig(_Part):
    """What is scored, by whom and how."""

    judge: JudgeConfig = JudgeConfig()
    embedder: str = ""
    """Embedding model; "" takes EMBEDDING_MODEL_NAME."""
    metrics: tuple[str, ...] = ()
    """Names of metrics, or Ragas' own class names; empty: the six that need a judge or, without one, all others."""
    language: str = "auto"
    """Language of the prompts: "es", "en", one of ``prompts``, or "auto" for the language of the rows."""
    prompts: Path | None = None
    """Folder of your own prompts, ``<language>/<file>.toml``, relative to the configuration file; each replaces the
    built-in prompt of its name (``chatbot_mvp/judges/ragas/prompts``)."""
    strictness: int = Field(default=3, ge=1, le=10)
    """Questions generated per response in ResponseRelevancy."""
    concurrency: int = Field(default=0, ge=0, le=1_024)
    """Maximum number of concurrent requests; 0 takes NIM_MAX_CONCURRENT_REQUESTS."""
    repeats: int = Field(default=1, ge=1, le=20)
    """How often each row is scored. Two or more show how much the judge's scores vary."""

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        titles = {metric.title: name for name, metric in RAGAS_METRICS.items() if metric.title}
        names = tuple(dict.fromkeys(titles.get(name, name) for name in value))
        if unknown := [name for name in names if name not in RAGAS_METRICS]:
            raise ValueError(f"there is no metric {unknown[0]!r}; legal: {', '.join(RAGAS_METRICS)}")
        return names


def load_config(path: Path | None) -> RagasConfig:
    """Read a configuration file; None gives the defaults.

    Raises:
        InvalidSetting: the file is missing, is not YAML, or has an illegal value. Names the key and the legal values.
    """
    if path is None:
        return RagasConfig()
    try:
        found = yaml.safe_load(path.read_text("utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidSetting(name=path.name, found=str(path), reason=f"it cannot be read: {error}") from error
    config = config_from(found, path.name)
    if config.prompts is not None and not config.prompts.is_absolute():
        return config.model_copy(update={"prompts": (path.parent / config.prompts).resolve()})
    return config


def config_from(values: Any, source: str = "config.yaml") -> RagasConfig:
    """Build a configuration from plain values.

    Raises:
        InvalidSetting
    """
    try:
        return RagasConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or source
        legal = ", ".join(RagasConfig.model_fields) if first["type"] == "extra_forbidden" else ""
        reason = f"{first['msg']}; legal: {legal}" if legal else first["msg"]
        raise InvalidSetting(name=f"{source}: {place}", found=first["input"], reason=reason) from error
