"""Read ``config.yaml`` of a Ragas evaluation. The file is optional, and every key has a default.

It has another form, too: paths of models, project, data set and output, and parts ``ragas`` and ``llm``.
Its keys become those of ``RagasConfig``:

    root                    folder of the project, to which ``ragas.prompts`` is relative
    root-models             folder of the models
    MODEL_LLM_DIR           the judge, a Hugging Face folder in it, or a name on the Hub
    MODEL_EMB_DIR           the embedding model, likewise
    root-dataset            folder of the data set
    path-dataset            its file; the result is ``eval_<path-dataset>``
    root-output             folder of the result
    ragas.prompts           folder of the prompts
    ragas.language          their language
    ragas.metrics           CONTEXT_PRECISION_WOREF, FAITHFULNESS, …, or any name that ``metrics`` takes
    llm.task                task of the pipeline
    llm.pipeline_kwargs     its arguments: max_new_tokens, repetition_penalty, return_full_text, device_map, dtype, …
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from chatbot_mvp.errors import ConfigFileError
from chatbot_mvp.settings.fields import PROVIDER_NAMES
from chatbot_mvp.settings.kinds import HUGGINGFACE_PREFIX
from chatbot_mvp.wings.ragas.judging import RAGAS_METRICS, column_of, language_code

METRIC_NAMES = {
    "CONTEXT_PRECISION_WOREF": "ragas_llm_context_precision_without_reference",
    "CONTEXT_PRECISION_WREF": "ragas_llm_context_precision_with_reference",
    "CONTEXT_RECALL": "ragas_context_recall",
    "FAITHFULNESS": "ragas_faithfulness",
    "RESPONSE_RELEVANCY": "ragas_answer_relevancy",
    "CONTEXT_RELEVANCE": "ragas_nv_context_relevance",
}
"""Name of a metric in ``ragas.metrics`` -> this project's name."""

PROJECT_KEYS = (
    *("root", "root-models", "MODEL_LLM_DIR", "MODEL_EMB_DIR", "root-dataset", "path-dataset", "root-output"),
    *("ragas", "llm"),
)
_RAGAS = ("prompts", "language", "metrics")
_LLM = ("task", "pipeline_kwargs")
_ORIGINS = {
    "judge.model": "MODEL_LLM_DIR",
    "judge.max_tokens": "llm.pipeline_kwargs.max_new_tokens",
    "embedder": "MODEL_EMB_DIR",
    "dataset": "path-dataset",
    "output": "root-output",
    **{name: f"ragas.{name}" for name in _RAGAS},
}
_MAX_TOKENS, _WITH_PROMPT = "max_new_tokens", "return_full_text"

_DEEPEST = 20
_LONGEST = 20_000  # characters; PyYAML reads 50,000 of them a second


def is_project_form(values: Any) -> bool:
    """Return whether a configuration has a key of this form."""
    return isinstance(values, Mapping) and bool(set(PROJECT_KEYS) & values.keys())


def unknown_key(values: Mapping[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """Return (key with its part, legal keys) of the first unknown key inside ``ragas`` or ``llm``."""
    for part, legal in (("ragas", _RAGAS), ("llm", _LLM)):
        for name in _part(values, part):
            if name not in legal:
                return f"{part}.{name}", legal
    return None


def place_in_project_form(place: str) -> str:
    """Return the key of this form that a key of ``RagasConfig`` comes from."""
    return _ORIGINS.get(place, place)


def translated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same configuration with the keys of ``RagasConfig``. Unknown keys at the top stay, to be refused."""
    ragas, llm = _part(values, "ragas"), _part(values, "llm")
    arguments = dict(_part(llm, "pipeline_kwargs"))
    judge: dict[str, Any] = {}
    if values.get("MODEL_LLM_DIR"):
        judge = {"provider": "huggingface", "model": _joined(values, "root-models", values["MODEL_LLM_DIR"])}
    if _MAX_TOKENS in arguments:
        judge["max_tokens"] = arguments.pop(_MAX_TOKENS)
    # A reply is always read without its prompt.
    arguments.pop(_WITH_PROMPT, None)
    if options := {**({"task": llm["task"]} if llm.get("task") else {}), **arguments}:
        judge["options"] = options
    found: dict[str, Any] = {"judge": judge, "language": ragas.get("language"), "metrics": ragas.get("metrics")}
    if values.get("MODEL_EMB_DIR"):
        found["embedder"] = HUGGINGFACE_PREFIX + _joined(values, "root-models", values["MODEL_EMB_DIR"])
    if ragas.get("prompts"):
        found["prompts"] = _joined(values, "root", ragas["prompts"])
    if values.get("path-dataset"):
        found["dataset"] = _joined(values, "root-dataset", values["path-dataset"])
    if values.get("root-output"):
        found["output"] = values["root-output"]
    rest = {name: value for name, value in values.items() if name not in PROJECT_KEYS}
    return {name: value for name, value in found.items() if value} | rest


def _part(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = values.get(name)
    return part if isinstance(part, Mapping) else {}


def _joined(values: Mapping[str, Any], folder: str, name: Any) -> str:
    """Return the path below its folder. Without a folder it may be a name on the Hub."""
    root = values.get(folder)
    return str(Path(str(root)) / str(name)) if root else str(name)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JudgeConfig(_Part):
    """Who judges. Keys stay in the environment."""

    provider: str = ""
    """Name of a provider; "" takes JUDGE_PROVIDER, else PROVIDER. ``huggingface:FOLDER`` names the model too."""
    model: str = ""
    """Model of that provider: for ``local`` the path of a GGUF file, for ``huggingface`` a folder or a name on the Hub,
    both relative to ``project``; "" takes the provider's setting."""
    base_url: str = ""
    """Address of a provider that has one (``nim``, ``openai``, ``ollama``, …); "" takes the setting."""
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    """Sampling temperature, 0-2. ResponseRelevancy generates its questions at 0.3 or more."""
    max_tokens: int = Field(default=1_024, ge=16)
    """Longest first reply (tokens); a reply that was cut off is requested again with four times as many."""
    attempts: int = Field(default=4, ge=1, le=20)
    """Maximum requests for one readable reply. If none is readable, the row is not scored."""
    options: dict[str, Any] = {}
    """For ``huggingface``: ``task``, ``device_map``, ``dtype`` and other arguments of ``transformers.pipeline``, as
    ``repetition_penalty``."""

    @field_validator("provider")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ("", *PROVIDER_NAMES):
            raise ValueError(f"there is no such provider; legal: {', '.join(PROVIDER_NAMES)}")
        return value


class RagasConfig(_Part):
    """What is scored, by whom and how."""

    project: Path | None = None
    """Folder that the other paths are relative to, itself relative to the configuration file; null: the file's own."""
    dataset: Path | None = None
    """File of the rows to score, if the command names none."""
    output: Path | None = None
    """Where the rows are written with one column per metric: a ``.jsonl`` or ``.csv`` file, or a folder for
    ``eval_<data set>.jsonl``; null: only into the run's folder."""
    judge: JudgeConfig = JudgeConfig()
    embedder: str = ""
    """Embedding model, as in EMBEDDING_MODEL_NAME, which "" takes. The folder of ``huggingface:FOLDER`` is relative to
    ``project``."""
    metrics: tuple[str, ...] = ()
    """Names of metrics, with or without "ragas_", or Ragas' own class names; empty: the six that need a judge or,
    without one, all others."""
    language: str = "auto"
    """Language of the prompts: "es", "spanish", …, or "auto" for the language of the rows. A language without prompts
    is made by the judge, into ``prompts``."""
    prompts: Path | None = None
    """Folder of your own prompts: Ragas' ``<metric>_<prompt>_<language>.json`` and ``template_relevance1.txt``, or
    ``<language>/<file>.toml``; each replaces the built-in prompt of its name. null: DATA_DIR/ragas_prompts."""
    strictness: int = Field(default=3, ge=1, le=10)
    """Questions generated per response in ResponseRelevancy."""
    concurrency: int = Field(default=0, ge=0, le=1_024)
    """Maximum number of concurrent requests; 0 takes NIM_MAX_CONCURRENT_REQUESTS."""
    repeats: int = Field(default=1, ge=1, le=20)
    """How often each row is scored. Two or more show how much the judge's scores vary."""

    @field_validator("judge", mode="before")
    @classmethod
    def _judge_by_name(cls, value: Any) -> Any:
        """Accept ``judge: huggingface:FOLDER``, and the same as the provider."""
        given = {"provider": value} if isinstance(value, str) else value
        if isinstance(given, Mapping) and str(given.get("provider", "")).startswith(HUGGINGFACE_PREFIX):
            provider, _, model = str(given["provider"]).partition(":")
            return {**given, "provider": provider, "model": given.get("model") or model}
        return given

    @field_validator("language")
    @classmethod
    def _as_code(cls, value: str) -> str:
        return value if value == "auto" else language_code(value)

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        other = {metric.title: name for name, metric in RAGAS_METRICS.items() if metric.title}
        other |= {column_of(name): name for name in RAGAS_METRICS} | METRIC_NAMES
        names = tuple(dict.fromkeys(other.get(name, name) for name in value))
        if unknown := [name for name in names if name not in RAGAS_METRICS]:
            raise ValueError(f"there is no metric {unknown[0]!r}; legal: {', '.join(RAGAS_METRICS)}")
        return names


class _ShallowLoader(yaml.SafeLoader):
    """Refuses lists in lists without end, for which PyYAML takes seconds and the whole stack."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise yaml.YAMLError(f"it is nested more than {_DEEPEST} levels deep")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def load_config(path: Path | None) -> RagasConfig:
    """Read a configuration file, in this project's form or in that of ``project_form``; None gives the defaults.

    Raises:
        ConfigFileError (config_file_unreadable): the file is missing, or is not YAML.
        ConfigFileError (config_key_unknown): there is no such key. Names it, and those that are legal there.
        ConfigFileError (config_file_invalid): a value is not legal.
    """
    if path is None:
        return RagasConfig()
    try:
        text = path.read_text("utf-8-sig")
        if len(text) > _LONGEST:
            raise ValueError(f"it has {len(text)} characters; legal are at most {_LONGEST}")
        found = yaml.load(text, _ShallowLoader) or {}  # nosec B506: it is a safe loader
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:  # ValueError: no UTF-8, a date, a number
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigFileError("config_file_unreadable", file=str(path), reason=reason.rstrip(".")) from error
    return _with_paths(config_from(found, path.name), path.parent)


def config_from(values: Any, source: str = "config.yaml") -> RagasConfig:
    """Build a configuration from plain values.

    Raises:
        ConfigFileError (config_key_unknown, config_file_invalid)
    """
    other_form = is_project_form(values)
    if other_form and (unknown := unknown_key(values)):
        name, keys = unknown
        raise ConfigFileError("config_key_unknown", file=source, name=name, legal=", ".join(keys))
    try:
        return RagasConfig.model_validate(translated(values) if other_form else values)
    except ValidationError as error:
        first = error.errors()[0]
        place = tuple(str(part) for part in first["loc"])
        name = ".".join(place) or source
        if first["type"] == "extra_forbidden":
            keys = tuple(JudgeConfig.model_fields if place[:-1] == ("judge",) else RagasConfig.model_fields)
            keys = (*PROJECT_KEYS, *keys) if other_form and len(place) == 1 else keys
            raise ConfigFileError("config_key_unknown", file=source, name=name, legal=", ".join(keys)) from error
        where = place_in_project_form(name) if other_form else name
        raise ConfigFileError(
            "config_file_invalid", file=source, name=where, found=first["input"], reason=first["msg"]
        ) from error


def _with_paths(config: RagasConfig, base: Path) -> RagasConfig:
    """Make the paths of a file absolute; names of models that are no folders stay."""
    root = _absolute(base, config.project) if config.project is not None else base
    changes: dict[str, Any] = {
        name: _absolute(root, value)
        for name in ("dataset", "output", "prompts")
        if (value := getattr(config, name)) is not None
    }
    if config.project is not None:
        changes["project"] = root
    model = _absolute(root, Path(config.judge.model))
    if config.judge.model and config.judge.provider in ("huggingface", "local") and model.exists():
        changes["judge"] = config.judge.model_copy(update={"model": str(model)})
    if config.embedder.startswith(HUGGINGFACE_PREFIX):
        folder = _absolute(root, Path(config.embedder.removeprefix(HUGGINGFACE_PREFIX)))
        if folder.is_dir():
            changes["embedder"] = f"{HUGGINGFACE_PREFIX}{folder}"
    return config.model_copy(update=changes)


def _absolute(root: Path, path: Path) -> Path:
    return (root / path.expanduser()).resolve()
