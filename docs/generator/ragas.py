"""The metrics and the configuration of evaluations of answers, as tables."""

from __future__ import annotations

import json

from pydantic import BaseModel

from chatbot_mvp.wings.ragas.config import JudgeConfig, RagasConfig
from chatbot_mvp.wings.ragas.judging import RAGAS_METRICS
from docs.generator.markdown import catalogue, code, documented_fields, table


def metrics() -> str:
    texts = catalogue("en")
    rows = []
    for metric in RAGAS_METRICS.values():
        parts = [name for name, needed in (("judge", metric.needs_judge), ("vectors", metric.needs_embedder)) if needed]
        needs = "; ".join(filter(None, (", ".join(parts), ", ".join(metric.columns))))
        what = texts[f"metric_help.{metric.name}"].removeprefix("Ragas · ").removesuffix("; no judge")
        rows.append((code(metric.name), metric.title or "–", what, needs))
    return table(("metric", "Ragas' name", "what it is", "needs"), rows)


def keys() -> str:
    found: dict[str, tuple[type[BaseModel], str]] = {
        f"judge.{name}": (JudgeConfig, name) for name in JudgeConfig.model_fields
    }
    found |= {name: (RagasConfig, name) for name in RagasConfig.model_fields if name != "judge"}
    texts: dict[type[BaseModel], dict[str, str]] = {c: documented_fields(c) for c in (JudgeConfig, RagasConfig)}
    rows = []
    for key, (cls, name) in found.items():
        default = cls.model_fields[name].default
        rows.append(f"- {code(key)} ({code(json.dumps(default))}): {texts[cls][name]}")
    return "\n".join(rows)
