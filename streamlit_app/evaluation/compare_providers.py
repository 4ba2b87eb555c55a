"""Asks two providers the same questions over the same passages, and opens the comparison of their answers."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import ProviderStatus
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import bare, number, plain, t
from streamlit_app.shared.series import follow_series
from streamlit_app.shared.state import PAGES, errors_shown, get_app

_COUNTS = (10, 20, 50, 100)
_USUAL = 20


def show_compare_providers(opened: bool = False) -> None:
    """Draw an expander with two providers, the questions, and the button that asks both."""
    with st.expander(t("versus.title"), icon=":material/balance:", expanded=opened):
        st.markdown(t("versus.about"))
        able = {one.name: _label(one) for one in get_app().providers.statuses() if one.configured and one.model}
        if len(able) < 2:
            st.caption(t("versus.one_only"))
            st.page_link(PAGES["admin"][0], label=t("versus.connect"), icon=PAGES["admin"][1])
            return
        first, second = st.columns(2)
        names = list(able)
        one = first.selectbox(t("versus.first"), names, format_func=able.__getitem__, key="versus_first")
        others = [name for name in names if name != one]
        two = second.selectbox(t("versus.second"), others, format_func=able.__getitem__, key=f"versus_second_{one}")
        data, many = st.columns([2, 1])
        questions = _questions()
        asked = data.selectbox(t("eval.queries"), list(questions), format_func=questions.__getitem__, key="versus_data")
        count = many.select_slider(t("versus.count"), _COUNTS, _USUAL, format_func=number, key="versus_count")
        if st.button(
            t("versus.start", one=plain(able[one]), two=plain(able[two])),
            type="primary",
            icon=":material/play_arrow:",
            key="versus_start",
            **guarded(Action.MEASURE, t("versus.help")),
        ):
            _start([one, two], asked, int(count), bare("versus.series", one=able[one], two=able[two]))


def _label(status: ProviderStatus) -> str:
    return f"{status.name}/{status.model}"


def _questions() -> dict[str, str]:
    """Return reference -> name of what both can be asked: one's own questions with a short answer, then data sets."""
    app = get_app()
    names = {
        reference: bare("admin.dataset_kb", name=name)
        for reference, name in app.kb_evaluation.references(with_answers=True).items()
    }
    return names | {name: name for name in app.datasets.names()}


def _start(providers: list[str], asked: str, count: int, title: str) -> None:
    with errors_shown():
        run_ids = [
            get_app().runs.start_run(
                mteb_dataset_name=asked,
                provider=name,
                eval_max_queries=count,
                generation_enabled=True,
                judge_metrics="",  # the headline needs no judge, and none of the two should judge the other
            )
            for name in providers
        ]
        follow_series(title, run_ids)
        st.rerun()
