"""Form that configures and starts a Ragas evaluation of answers."""

from __future__ import annotations

from pathlib import PurePath

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.wings.ragas.config import RagasConfig
from chatbot_mvp.wings.ragas.rows import InputRow
from chatbot_mvp.wings.ragas.service import RagasService
from streamlit_app.shared.i18n import current_language, number, plain, t
from streamlit_app.shared.jobs import with_jobs
from streamlit_app.shared.metrics import metric_help, metric_label
from streamlit_app.shared.runs import run_names
from streamlit_app.shared.session import conversations
from streamlit_app.shared.state import active_kb, get_app, show_error

_SOURCES = ("upload", "run", "chat")
_SUFFIXES = ("jsonl", "csv", "parquet")

Source = tuple[str, str]  # (kind, id): the id is that of a run


def ragas_section() -> None:
    """Draw the form, and the jobs of runs."""
    with_jobs(_launcher, "ragas-")


def _launcher() -> bool:
    """Draw the form: rows, metrics, judge, start; True when an evaluation was just launched."""
    st.caption(t("ragas.about"))
    left, right = st.columns(2, gap="large")
    with left:
        source = _source()
    with right:
        config = _config()
        limit = st.number_input(
            t("admin.budget"), min_value=0.0, value=0.0, step=0.5, help=t("admin.budget_help"), key="ragas_budget"
        )
    if st.button(t("ragas.start"), type="primary", icon=":material/play_arrow:", key="ragas_start"):
        if source is None:
            st.warning(t("ragas.nothing"), icon=":material/upload_file:")
            return False
        try:
            with st.spinner(t("admin.starting")):
                name, rows = _rows(*source)
                get_app().get(RagasService).start(name, rows, config, budget_usd=float(limit) or None)
        except ChatbotError as error:
            show_error(error)
        else:
            return True
    return False


def _source() -> Source | None:
    """What is to be evaluated; None while nothing is chosen."""
    kind = st.radio(t("ragas.source"), _SOURCES, format_func=lambda name: t(f"ragas.source.{name}"), key="ragas_source")
    if kind == "upload":
        file = st.file_uploader(t("ragas.upload"), type=list(_SUFFIXES), key="ragas_upload")
        st.caption(t("ragas.columns"))
        return (kind, "") if file else None
    if kind == "run":
        runs = [run for run in get_app().archive.runs()[0] if run.generator]
        if not runs:
            st.info(t("ragas.no_runs"), icon=":material/info:")
            return None
        names = run_names(runs)
        return kind, str(st.selectbox(t("ragas.run"), list(names), format_func=names.__getitem__, key="ragas_run"))
    kb = active_kb()
    turns = sum(len(conversation.turns) for conversation in conversations(kb)) if kb else 0
    if kb is None or not turns:
        st.info(t("ragas.no_chat"), icon=":material/info:")
        return None
    st.caption(t("ragas.chat", name=kb.kb_name, count=number(turns)))
    return kind, kb.kb_name


def _rows(kind: str, which: str) -> tuple[str, list[InputRow]]:
    """Return (name of the data set, rows)."""
    app, kb = get_app(), active_kb()
    if kind == "run":
        return which, app.get(RagasService).evaluate_run(which)
    if kind == "chat" and kb is not None:
        return f"chat · {kb.kb_name}", app.get(RagasService).rows_of_conversations(conversations(kb))
    file = st.session_state.ragas_upload
    return PurePath(file.name).stem, app.get(RagasService).rows_of_upload(file.name, file.getvalue())


def _config() -> RagasConfig:
    service = get_app().get(RagasService)
    judge = service.judge()
    if judge:
        st.markdown(t("ragas.judge", model=judge))
    else:
        st.info(t("ragas.no_judge"), icon=":material/gavel:")
    names = service.metrics()
    metrics = st.multiselect(
        t("ragas.metrics"),
        names,
        format_func=metric_label,
        placeholder=t("ragas.usual"),
        help="\n".join(f"- **{plain(metric_label(name))}**: {metric_help(name)}" for name in names),
        key="ragas_metrics",
    )
    language, repeats = st.columns(2)
    with language:
        chosen = st.selectbox(
            t("ragas.language"),
            ["auto", *service.languages()],
            format_func=lambda name: t(f"admin.choice.{name}") if name != "auto" else t("ragas.auto"),
            help=t("ragas.language_help"),
            key=f"ragas_language_{current_language()}",
        )
    with repeats:
        times = st.number_input(
            t("ragas.repeats"), min_value=1, max_value=20, value=1, help=t("ragas.repeats_help"), key="ragas_repeats"
        )
    return RagasConfig(metrics=tuple(metrics), language=str(chosen), repeats=int(times))
