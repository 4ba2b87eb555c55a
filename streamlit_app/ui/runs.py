"""One benchmark run: tiles, curves, and the queries down to retrieved against gold documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.types import Document
from streamlit_app.ui.causes import choose_cause
from streamlit_app.ui.i18n import duration, moment, number, score, t
from streamlit_app.ui.metrics import interval_text, metric_help, metric_label
from streamlit_app.ui.state import get_app

_TILES = ("hit@1", "recall@5", "ndcg@10", "mrr")
_CURVES = {"recall": "Recall@K", "ndcg": "NDCG@K"}

Result = Mapping[str, Any]


def run_names(runs: Sequence[Result], fields: Sequence[str]) -> dict[str, str]:
    """run_id -> when it was and these fields; two that look alike have their ids as well.

    A selection is told to the server by its text, so that equal texts would be one choice.
    """
    texts = {
        str(run["run_id"]): " · ".join([moment(str(run.get("started_at", ""))), *(str(run.get(f)) for f in fields)])
        for run in runs
    }
    counts = Counter(texts.values())
    return {run_id: text if counts[text] == 1 else f"{text} · {run_id}" for run_id, text in texts.items()}


def show_tiles(result: Result) -> None:
    """The main figures, each with how many queries were scored, then what was measured."""
    names = [name for name in _TILES if name in result["metrics"]]
    columns = st.columns(len(names) + 1)
    for column, name in zip(columns, names, strict=False):
        scored, total = result["scored"][name]
        with column, st.container(border=True, height="stretch"):
            st.metric(metric_label(name), score(result["metrics"][name]), help=metric_help(name))
            st.caption(t("eval.scored", scored=number(scored), total=number(total)))
            # Runs that were recorded by an earlier version have neither intervals nor readings.
            if interval := result.get("intervals", {}).get(name):
                st.caption(t("eval.interval", interval=interval_text(interval)))
            left_out, counted_in = result.get("readings", {}).get(name, (None, None))
            if counted_in != left_out:
                st.caption(t("eval.with_failures", value=score(counted_in)))
    seconds = sum(result["seconds"].values())
    with columns[-1], st.container(border=True, height="stretch"):
        st.metric(t("eval.time"), duration(seconds))
        st.caption(t("eval.documents", count=number(result["documents"])))
    st.caption(
        t(
            "eval.identity",
            run_id=result["run_id"],
            fingerprint=result["fingerprint"],
            memory=number(result["peak_rss_mb"]) if result.get("peak_rss_mb") else "–",
        )
    )
    st.caption(t("eval.corpus_note"))


def show_curves(result: Result) -> None:
    """Recall@K and NDCG@K over K."""
    rows = []
    for name, value in result["metrics"].items():
        family, _, k = name.partition("@")
        if family in _CURVES and value is not None:
            rows.append({"metric": _CURVES[family], "k": int(k), "value": value})
    if not rows:
        return
    st.subheader(t("eval.curves"))
    frame = pd.DataFrame(rows)
    base = alt.Chart(frame).encode(
        x=alt.X("k:Q", title="K", axis=alt.Axis(values=sorted(frame["k"].unique().tolist()), format="d", grid=False)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("metric:N", title=None, legend=alt.Legend(orient="top")),
        shape=alt.Shape("metric:N", title=None, legend=alt.Legend(orient="top")),
        tooltip=[
            alt.Tooltip("metric:N", title=t("eval.metric")),
            alt.Tooltip("k:Q", title="K"),
            alt.Tooltip("value:Q", title=t("eval.value"), format=".3f"),
        ],
    )
    st.altair_chart((base.mark_line() + base.mark_point(size=70, filled=True)).properties(height=300), width="stretch")


def show_queries(result: Result) -> None:
    """A table of all queries, then one of them with retrieved against gold documents."""
    st.subheader(t("eval.queries"))
    rows = sorted(result["per_query"], key=_badness)
    only_missed = st.toggle(t("eval.only_missed"), key="only_missed", help=t("eval.only_missed_help"))
    if only_missed:
        rows = [row for row in rows if _found(row) < len(row["gold"])]
    if cause := choose_cause(result):
        rows = [row for row in rows if row["cause"] == cause]
    if not rows:
        st.success(t("eval.nothing_missed"), icon=":material/check_circle:")
        return
    event = st.dataframe(
        [
            {
                t("eval.col.question"): row["question"],
                t("eval.col.type"): row["question_type"],
                t("eval.col.gold_found"): f"{_found(row)}/{len(row['gold'])}",
                **{
                    metric_label(name): score(row["metrics"][name])
                    for name in ("recall@5", "ndcg@10", "mrr")
                    if name in row["metrics"]
                },
            }
            for row in rows
        ],
        hide_index=True,
        width="stretch",
        height=320,
        on_select="rerun",
        selection_mode="single-row",
        key=f"queries-{result['run_id']}-{only_missed}-{cause}",
        column_config={t("eval.col.question"): st.column_config.TextColumn(width="large")},
    )
    selected = event.selection.rows
    # The list below does the same for those who use the keyboard.
    position = st.selectbox(
        t("eval.query"),
        range(len(rows)),
        index=selected[0] if selected and selected[0] < len(rows) else 0,
        format_func=lambda index: rows[index]["question"] or rows[index]["query_id"],
    )
    _show_query(result, rows[position])


def _badness(row: Mapping[str, Any]) -> tuple[float, float, str]:
    """Sorts the queries with the most to learn from to the front."""
    metrics = row["metrics"]
    return metrics.get("recall@5") or 0.0, metrics.get("mrr") or 0.0, row["query_id"]


def _found(row: Mapping[str, Any]) -> int:
    return len(set(row["gold"]) & set(row["retrieved"]))


def _show_query(result: Result, row: Mapping[str, Any]) -> None:
    with st.container(border=True):
        st.markdown(f"**{t('eval.col.question')}:** {_plain(row['question'])}")
        if row["answer"]:
            st.markdown(f"**{t('eval.answer')}:** {_plain(row['answer'])}")
        try:
            documents = get_app().bench.run_documents(result["run_id"], [*row["retrieved"], *row["gold"]])
        except ChatbotError:
            documents = {}
            st.caption(t("eval.texts_gone"))
        retrieved, gold = st.columns([3, 2], gap="large")
        with retrieved:
            st.markdown(f"**{t('eval.retrieved')}**")
            for rank, doc_id in enumerate(row["retrieved"], 1):
                hit = doc_id in row["gold"]
                mark = ":green[:material/check_circle:]" if hit else ":gray[:material/remove:]"
                with st.expander(f"{mark} {rank}. {_title(documents, doc_id)}"):
                    st.text(documents[doc_id].text if doc_id in documents else doc_id)
        with gold:
            st.markdown(f"**{t('eval.gold')}**")
            for doc_id in row["gold"]:
                rank_text = (
                    t("eval.at_rank", rank=row["retrieved"].index(doc_id) + 1)
                    if doc_id in row["retrieved"]
                    else t("eval.not_retrieved", depth=len(row["retrieved"]))
                )
                st.markdown(f"{_title(documents, doc_id)} · {rank_text}")
                if doc_id in documents:
                    st.caption(_plain(documents[doc_id].text))


def _title(documents: Mapping[str, Document], doc_id: str) -> str:
    return _plain(documents[doc_id].title if doc_id in documents and documents[doc_id].title else doc_id)


def _plain(text: str) -> str:
    """Text of a data set as text: nothing in it is Markdown."""
    for char in "\\`*_[]#$:<>~|":
        text = text.replace(char, f"\\{char}")
    return text
