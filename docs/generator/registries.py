"""Strategies, providers, metrics and causes as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chatbot_mvp.judges.ragas import RAGAS_METRICS
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.metrics.spec import MetricSpec
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.runs.causes import Cause, Fate
from chatbot_mvp.runs.known_metrics import COMPARED, METRICS
from chatbot_mvp.settings.fields.providers import MODEL_SETTINGS
from docs.generator.markdown import catalogue, code, documented_fields, one_line, table


def strategies() -> str:
    rows = []
    for strategy in STRATEGIES.values():
        needs = [
            text
            for text, needed in (
                ("vectors", strategy.needs_vectors),
                ("links between documents", strategy.needs_links),
                ("a language model", strategy.needs_language_model),
            )
            if needed
        ]
        stages = " → ".join(stage.__name__ for stage in strategy.stages)
        rows.append((code(strategy.name), strategy.summary, ", ".join(needs) or "nothing", stages))
    return table(("strategy", "what it does", "needs", "stages"), rows)


def strategy_settings() -> str:
    of_some = sorted({knob for strategy in STRATEGIES.values() for knob in strategy.knobs})
    head = ("setting", *(code(name) for name in STRATEGIES))
    rows = [
        (code(knob.upper()), *("yes" if knob in strategy.knobs else "–" for strategy in STRATEGIES.values()))
        for knob in of_some
    ]
    return table(head, rows)


def stages() -> str:
    used = dict.fromkeys(stage for strategy in STRATEGIES.values() for stage in strategy.stages)
    rows = [
        (code(stage.__name__), one_line((stage.__doc__ or "").split("\n\n")[0]), code(_source(stage))) for stage in used
    ]
    return table(("stage", "what it does", "file"), rows)


def _source(thing: Callable[..., Any] | type) -> str:
    return f"{thing.__module__.replace('.', '/')}.py"


def providers() -> str:
    texts = catalogue("en")
    rows = []
    for provider in PROVIDERS.values():
        keys = " or ".join(code(name.upper()) for name in provider.keys)
        if provider.name == "nim":
            keys = f"`LLM_BASE_URL` for your own NIM, else {keys}"
        needs = ", ".join(filter(None, (keys, *(code(name.upper()) for name in provider.needs)))) or "nothing"
        model = MODEL_SETTINGS.get(provider.name, "")
        rows.append(
            (
                code(provider.name),
                texts[f"provider.{provider.name}"],
                needs,
                code(model.upper()),
                code(provider.command),
            )
        )
    return table(("provider", "what it is", "what it needs", "model", "package, where it is missing"), rows)


def metrics() -> str:
    texts = catalogue("en")
    families: dict[str, list[MetricSpec]] = {}
    for metric in METRICS.values():
        if metric.name not in RAGAS_METRICS:
            families.setdefault(metric.family, []).append(metric)
    rows = []
    for family, found in families.items():
        first = found[0]
        ks = ", ".join(str(metric.k) for metric in found if metric.k is not None)
        high = "no bound" if first.high is None else f"{first.high:g}"
        direction = "higher is better" if first.higher_is_better else "lower is better"
        rows.append(
            (
                code(f"{family}@K" if ks else family),
                ks or "–",
                texts[first.help_key].replace("{k}", "K"),
                first.takes,
                f"{first.low:g} to {high}; {direction}",
            )
        )
    return table(("metric", "K", "what it is", "computed from", "range"), rows)


def ragas_metrics() -> str:
    texts = catalogue("en")
    rows = []
    for metric in RAGAS_METRICS.values():
        parts = [name for name, needed in (("judge", metric.needs_judge), ("vectors", metric.needs_embedder)) if needed]
        needs = "; ".join(filter(None, (", ".join(parts), ", ".join(metric.columns))))
        what = texts[f"metric_help.{metric.name}"].removeprefix("Ragas · ").removesuffix("; no judge")
        rows.append((code(metric.name), metric.title or "–", what, needs))
    return table(("metric", "Ragas' name", "what it is", "needs"), rows)


def compared() -> str:
    return ", ".join(code(name) for name in COMPARED if name not in RAGAS_METRICS)


def causes() -> str:
    return _enum(Cause, "cause")


def fates() -> str:
    return _enum(Fate, "place")


def _enum(cls: type[Cause] | type[Fate], head: str) -> str:
    texts = documented_fields(cls)
    return table((head, "meaning"), [(code(member.value), texts[member.name]) for member in cls])
