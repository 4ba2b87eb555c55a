"""Home: what this is, what is configured and answers, three ways into the work, the last run at a glance."""

import streamlit as st

from chatbot_mvp.app import Check
from streamlit_app.ui.i18n import moment, number, score, t
from streamlit_app.ui.metrics import metric_label
from streamlit_app.ui.providers import providers_table
from streamlit_app.ui.state import PAGES, active_kb, get_app


@st.cache_data(ttl=60, show_spinner=False)
def checks() -> list[Check]:
    """Trying every part takes a moment, so once a minute is enough."""
    return get_app().check()


def show_state() -> None:
    """One tile per part, green when it answers."""
    tiles = [(t(f"home.check.{check.name}"), check.ok, check.detail) for check in checks() if check.name != "data"]
    kb = active_kb()
    kb_detail = t("home.kb_chars", name=kb.kb_name, chars=number(kb.chars)) if kb else t("home.kb_none")
    tiles.append((t("home.check.kb"), kb is not None, kb_detail))
    names = get_app().bench.data.names()
    tiles.append((t("home.check.datasets"), bool(names), ", ".join(names) or t("home.datasets_none")))
    for column, (title, ok, detail) in zip(st.columns(len(tiles)), tiles, strict=True):
        with column, st.container(border=True, height="stretch"):
            icon = ":green[:material/check_circle:]" if ok else ":orange[:material/radio_button_unchecked:]"
            st.markdown(f"{icon} **{title}**")
            st.caption(detail)


def show_last_run() -> None:
    """The newest finished run's main figures."""
    runs, _ = get_app().bench.past.runs()
    if not runs:
        st.info(t("home.no_runs"), icon=":material/info:")
        return
    run = runs[0]
    st.caption(f"{run.get('dataset')} · {run.get('strategy')} · {moment(str(run.get('started_at', '')))}")
    names = [name for name in ("recall@5", "ndcg@10", "mrr", "hit@1") if name in run["metrics"]]
    names = names or list(run["metrics"])[:4]  # an evaluation of answers ranks nothing
    for column, name in zip(st.columns(len(names)), names, strict=True):
        column.metric(metric_label(name), score(run["metrics"][name]), border=True)


st.title(t("home.title"))
st.markdown(t("home.what"))

st.subheader(t("home.start"))
for column, (name, page) in zip(
    st.columns(3), {"admin": "upload", "chat": "ask", "evaluation": "results"}.items(), strict=True
):
    with column, st.container(border=True, height="stretch"):
        st.markdown(f"**{t(f'home.{page}.title')}**")
        st.caption(t(f"home.{page}.text"))
        if st.button(t(f"home.{page}.button"), key=f"go-{name}", icon=PAGES[name][1], type="primary", width="stretch"):
            st.switch_page(PAGES[name][0])

st.subheader(t("home.state"))
show_state()

st.subheader(t("admin.providers"))
providers_table()

st.subheader(t("home.last_run"))
show_last_run()
