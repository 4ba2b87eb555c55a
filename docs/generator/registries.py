"""Strategies, providers, metrics and causes as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.metrics.registry import COMPARED, METRICS
from chatbot_mvp.metrics.spec import MetricSpec
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.runs.causes import Cause, Fate
from chatbot_mvp.settings.fields import MODEL_SETTINGS
from docs.generator.markdown import catalogue, code, documented_fields, first_paragraph, table


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
    """Each setting that some strategies ignore, with the strategies in which it has an effect."""
    of_some = sorted({knob for strategy in STRATEGIES.values() for knob in strategy.knobs})
    rows = []
    for knob in of_some:
        names = (code(strategy.name) for strategy in STRATEGIES.values() if knob in strategy.knobs)
        rows.append(f"- {code(knob.upper())}: {', '.join(names)}")
    return "\n".join(rows)


def stages() -> str:
    used = dict.fromkeys(stage for strategy in STRATEGIES.values() for stage in strategy.stages)
    return "\n".join(f"- {code(stage.__name__)} ({code(_source(stage))}): {first_paragraph(stage)}" for stage in used)


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
        if metric.takes != "row":
            families.setdefault(metric.family, []).append(metric)
    rows = []
    for family, found in families.items():
        first = found[0]
        ks = ", ".join(str(metric.k) for metric in found if metric.k is not None)
        what = texts[f"metric_help.{first.family}"].replace("{k}", "K")
        if not first.higher_is_better and "lower is better" not in what:
            what += "; lower is better"
        rows.append(f"- {code(f'{family}@K' if ks else family)} ({first.takes}{f', K {ks}' if ks else ''}): {what}")
    return "\n".join(rows)


def compared() -> str:
    return ", ".join(code(name) for name in COMPARED if METRICS[name].takes != "row")


def causes() -> str:
    return _enum(Cause)


def fates() -> str:
    return _enum(Fate)


def _enum(cls: type[Cause] | type[Fate]) -> str:
    texts = documented_fields(cls)
    return "\n".join(f"- {code(member.value)}: {texts[member.name]}" for member in cls)
