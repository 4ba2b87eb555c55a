"""Asks two models the same questions over the same passages, and opens the comparison of their answers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import MODEL_SETTINGS
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import guarded, may
from streamlit_app.shared.i18n import bare, number, plain, t
from streamlit_app.shared.series import follow_series, series_panel
from streamlit_app.shared.state import PAGES, errors_shown, get_app

_COUNTS = (10, 20, 50, 100)
_USUAL = 20


def show_two_models() -> None:
    """Draw ``ask_two_models`` in an expander."""
    with st.expander(t("versus.title"), icon=":material/balance:"):
        ask_two_models()


def ask_two_models(kb_id: str = "") -> None:
    """Draw the choice of two models, of one provider or of two, the questions, and the button that asks both.

    Args:
        kb_id: the knowledge base whose questions come first; "" for the one that was changed last.
    """
    if kb_id and series_panel("versus"):  # far below what the page says of it at its top
        return
    st.markdown(t("versus.about"))
    able = _models()
    if len(able) < 2:
        st.caption(t("versus.one_only"))
        provider = {"tab": "admin.group.provider"}
        st.page_link(PAGES["admin"][0], label=t("versus.connect"), icon=PAGES["admin"][1], query_params=provider)
        return
    first, second = st.columns(2)
    one = first.selectbox(t("versus.first"), able, key="versus_first")
    two = second.selectbox(t("versus.second"), [name for name in able if name != one], key=f"versus_second_{one}")
    data, many = st.columns([2, 1])
    questions = _questions()
    ordered = sorted(questions, key=lambda reference: kb_id not in reference)
    asked = data.selectbox(t("eval.queries"), ordered, format_func=questions.__getitem__, key=f"versus_data{kb_id}")
    count = many.select_slider(t("versus.count"), _COUNTS, _USUAL, format_func=number, key="versus_count")
    if st.button(
        t("versus.start", one=plain(one), two=plain(two)),
        type="primary",
        icon=":material/play_arrow:",
        key="versus_start",
        **guarded(Action.MEASURE, t("versus.help")),
    ):
        _start([able[one], able[two]], asked, int(count), bare("versus.series", one=one, two=two))


def _models() -> dict[str, tuple[str, str]]:
    """Return "provider/model" -> (provider, model): the chosen model of each provider, and those that it listed."""
    app = get_app()
    able = [(one.name, one.model) for one in app.providers.statuses() if one.configured and one.model]
    if may(Action.MEASURE):
        able += [
            (one.name, model)
            for one in app.connections.all()
            if one.model_changeable and one.state in ("ready", "needs_model")
            for model in one.models or ()
        ]
    return {f"{name}/{model}": (name, model) for name, model in sorted(able)}


def _questions() -> dict[str, str]:
    """Return reference -> name of what both can be asked: one's own questions, then data sets."""
    app = get_app()
    own = app.kb_evaluation.references()
    names = {reference: bare("admin.dataset_kb", name=name) for reference, name in own.items()}
    return names | {name: name for name in app.datasets.names()}


def _start(models: list[tuple[str, str]], asked: str, count: int, title: str) -> None:
    chosen: list[dict[str, Any]] = [{"provider": name, MODEL_SETTINGS[name]: model} for name, model in models]
    with errors_shown():
        run_ids = [
            get_app().runs.start_run(
                mteb_dataset_name=asked,
                eval_max_queries=count,
                generation_enabled=True,
                judge_metrics="",  # the headline needs no judge, and none of the two should judge the other
                **own,
            )
            for own in chosen
        ]
        follow_series(title, run_ids)
        st.rerun()
