"""Parameters of a run as widgets: initial values, which ones have an effect, which ones were changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from chatbot_mvp.api import JUDGE_METRICS, RUN_PARAMETERS, STRATEGIES, form_of
from streamlit_app.admin.setting_field import setting_field, setting_help, widget_value
from streamlit_app.shared.i18n import t, t_or
from streamlit_app.shared.lasting import following, lasting
from streamlit_app.shared.metrics import metric_label
from streamlit_app.shared.state import get_app

_KEYS = {
    "retrieval_strategy": "run_strategy",
    "eval_max_queries": "run_max_queries",
    "generation_enabled": "run_generate",
}

_FIELDS = tuple(name for names in RUN_PARAMETERS.values() for name in names)


def key_of(name: str) -> str:
    """Return the key of a parameter's widget."""
    return _KEYS.get(name, f"run_{name}")


def begin_fields() -> None:
    """Initialise every widget that has no value yet with the setting in effect."""
    for name in _FIELDS:
        following(key_of(name), _usual(name))
    lasting("run_judge", bool(get_app().settings.judge_metrics))


def fill_fields(changes: Mapping[str, Any]) -> None:
    """Set all widgets to the settings in effect with ``changes`` applied.

    Raises:
        InvalidSetting: a value in ``changes`` is no longer legal.
    """
    settings = get_app().settings.with_changes(**changes)
    st.session_state.run_beyond = {name: found for name, found in changes.items() if name not in _FIELDS}
    for name in _FIELDS:
        st.session_state[key_of(name)] = _shown(name, getattr(settings, name))
    st.session_state.run_judge = bool(settings.judge_metrics)
    if not settings.judge_metrics:
        st.session_state[key_of("judge_metrics")] = list(JUDGE_METRICS)


def changed() -> dict[str, Any]:
    """Return the parameters that differ from the settings in effect, also those of the preset that have no widget."""
    settings = get_app().settings
    return {name: found for name, found in every_value().items() if found != getattr(settings, name)}


def every_value() -> dict[str, Any]:
    """Return all parameters, also those that are as in the settings in effect."""
    return beyond() | {name: value(name) for name in _FIELDS}


def beyond() -> dict[str, Any]:
    """Return the settings of the chosen preset that have no widget."""
    return dict(st.session_state.get("run_beyond", {}))


def value(name: str) -> Any:
    """Return the value of a parameter's widget, in the type of its setting."""
    found = st.session_state[key_of(name)]
    if name == "judge_provider" and not counts(name):
        return get_app().settings.judge_provider
    if name == "judge_metrics":
        return ",".join(item for item in JUDGE_METRICS if item in found) if st.session_state.run_judge else ""
    return found


def field(name: str) -> None:
    """Draw a parameter's widget."""
    key, label = key_of(name), t(f"admin.label.{name}")
    disabled = not counts(name)
    if name == "retrieval_strategy":
        summaries = get_app().runs.strategies()
        _choice(name, list(summaries), lambda item: t_or(f"strategy.{item}", summaries[item]))
    elif name in ("provider", "judge_provider"):
        able = [status.name for status in get_app().providers.statuses() if status.configured]
        _choice(name, able if name == "provider" else ["", *able], lambda item: item or t("admin.same_provider"))
    elif name == "judge_metrics":
        st.multiselect(
            label, list(JUDGE_METRICS), format_func=metric_label, key=key, help=setting_help(name), disabled=disabled
        )
    else:
        setting_field(form_of(name), label, key, disabled=disabled)


def counts(name: str) -> bool:
    """Return whether a parameter has an effect with the current values of the others."""
    strategy = STRATEGIES.get(str(st.session_state[key_of("retrieval_strategy")]))
    knobs = strategy.knobs if strategy else frozenset()
    sampled, generated = bool(value("dev_mode")), bool(value("generation_enabled"))
    judged = generated and bool(st.session_state.run_judge)
    needs = {
        "eval_max_queries": not sampled,
        "eval_max_corpus": not sampled,
        "eval_corpus_slice": not sampled and value("eval_max_corpus") > 0,
        "corpus_shuffle_seed": sampled or value("eval_max_corpus") > 0,
        "dev_queries": sampled,
        "dev_corpus_size": sampled,
        "reranker_candidates": bool(value("reranker_enabled")),
        "reranker_top_n": bool(value("reranker_enabled")),
    }
    needs |= {knob: knob in knobs for other in STRATEGIES.values() for knob in other.knobs}
    by_rank = "retrieval_fusion" not in knobs or value("retrieval_fusion") == "rrf"
    for knob in ("retrieval_rrf_k", "retrieval_bm25_weight", "retrieval_vector_weight"):
        needs[knob] = needs[knob] and by_rank
    answers = set(RUN_PARAMETERS["answers"]) - {"generation_enabled", "provider", "llm_cache_enabled"}
    needs |= dict.fromkeys(answers, generated)
    needs |= dict.fromkeys(RUN_PARAMETERS["judge"], judged)
    return needs.get(name, True)


def _choice(name: str, options: list[str], shown: Any) -> None:
    key = key_of(name)
    # A choice that is no longer offered stays visible; starting the run reports what is wrong with it.
    if st.session_state[key] not in options:
        options = [*options, st.session_state[key]]
    label = t(f"admin.label.{name}")
    st.selectbox(label, options, format_func=shown, key=key, help=setting_help(name), disabled=not counts(name))


def _usual(name: str) -> Any:
    found = _shown(name, getattr(get_app().settings, name))
    if name == "judge_provider" and not found and not get_app().settings.judge_model_name:
        return get_app().providers.judge_for(st.session_state.get(key_of("provider"), get_app().settings.provider))
    return found or list(JUDGE_METRICS) if name == "judge_metrics" else found


def _shown(name: str, found: Any) -> Any:
    if name == "judge_metrics":
        return [item for item in JUDGE_METRICS if item in str(found).split(",")]
    return widget_value(form_of(name), found)
