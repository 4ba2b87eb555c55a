"""The queries of a run: a table, then one of them with its answer, and retrieved against gold documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.types import Document
from streamlit_app.ui.causes import choose_cause
from streamlit_app.ui.i18n import plain, score, t
from streamlit_app.ui.metrics import metric_label
from streamlit_app.ui.row_choice import choose_row
from streamlit_app.ui.state import get_app

_COLUMNS = ("recall@5", "ndcg@10", "mrr")
_SHOWN_OF_ANSWER = (
    *("generation_score", "f1", "exact_match", "accuracy", "answer_contains"),
    *("faithfulness", "context_utilization", "semantic_similarity"),
)
_ANSWER_COLUMNS = ("recall@5", "generation_score", "faithfulness")

Result = Mapping[str, Any]


def show_queries(result: Result) -> None:
    """A table of all queries, then one of them with retrieved against gold documents."""
    st.subheader(t("eval.queries"))
    rows = sorted(result["per_query"], key=_badness)
    only_missed = st.toggle(t("eval.only_missed"), key="only_missed", help=t("eval.only_missed_help"))
    if only_missed:
        rows = [row for row in rows if _found(row) < len(row["gold"])]
    if cause := choose_cause(result):
        rows = [row for row in rows if row["cause"] == cause]
    answered = bool(result.get("generator"))
    names = [name for name in (_ANSWER_COLUMNS if answered else _COLUMNS) if name in result["metrics"]]
    if not rows:
        st.success(t("eval.nothing_missed"), icon=":material/check_circle:")
        return
    table = [
        {
            t("eval.col.question"): row["question"],
            t("eval.col.type"): row["question_type"],
            t("eval.col.gold_found"): f"{_found(row)}/{len(row['gold'])}",
            **({t("eval.answer"): row["answer"], t("eval.col.response"): row["response"]} if answered else {}),
            **{metric_label(name): score(row["metrics"].get(name)) for name in names},
        }
        for row in rows
    ]
    position = choose_row(
        table,
        lambda index: rows[index]["question"] or rows[index]["query_id"],
        f"queries-{result['run_id']}-{only_missed}-{cause}",
        "large",
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
        st.markdown(f"**{t('eval.col.question')}:** {plain(row['question'])}")
        if row["answer"]:
            st.markdown(f"**{t('eval.answer')}:** {plain(row['answer'])}")
        if result.get("generator"):
            _show_response(row)
        try:
            documents = get_app().bench.past.documents(result["run_id"], [*row["retrieved"], *row["gold"]])
        except ChatbotError:
            documents = {}
            st.caption(t("eval.texts_gone"))
        retrieved, gold = st.columns([3, 2], gap="large")
        with retrieved:
            st.markdown(f"**{t('eval.retrieved')}**")
            for rank, doc_id in enumerate(row["retrieved"], 1):
                hit = doc_id in row["gold"]
                mark = ":green[:material/check_circle:]" if hit else ":gray[:material/remove:]"
                read = f" :blue-badge[{t('eval.in_context')}]" if doc_id in row.get("generation_doc_ids", ()) else ""
                with st.expander(f"{mark} {rank}. {_title(documents, doc_id)}{read}"):
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
                    st.caption(plain(documents[doc_id].text))


def _show_response(row: Mapping[str, Any]) -> None:
    """What was answered, what it scored, and what the judge said of it."""
    if row["response"] is None:
        st.markdown(f"**{t('eval.col.response')}:** :red-badge[{t('eval.not_answered')}]")
        st.caption(plain(str(row.get("error") or "")))
        return
    mark = f" :orange-badge[{t('eval.abstained')}]" if row["abstained"] else ""
    st.markdown(f"**{t('eval.col.response')}:** {plain(row['response'])}{mark}")
    metrics = row["metrics"]
    names = [name for name in _SHOWN_OF_ANSWER if name in metrics]
    st.caption(" · ".join(f"{metric_label(name)}: {score(metrics[name])}" for name in names))
    for name, reason in row.get("judge_reasons", {}).items():
        st.caption(f"{metric_label(name)}, {t('eval.judge_says')}: {plain(reason)}")


def _title(documents: Mapping[str, Document], doc_id: str) -> str:
    return plain(documents[doc_id].title if doc_id in documents and documents[doc_id].title else doc_id)
