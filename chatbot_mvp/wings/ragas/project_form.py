"""The other form of ``config.yaml``: paths of models, project, data set and output, and parts ``ragas`` and ``llm``.

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

from chatbot_mvp.settings.kinds import HUGGINGFACE_PREFIX

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
