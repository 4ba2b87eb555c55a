"""Metrics in the session's language: labels, intervals, costs, and the choice of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from chatbot_mvp.api import METRICS, RunGroup, Series, Share
from streamlit_app.shared.i18n import Markdown, number, t, t_or

_Runs = TypeVar("_Runs", RunGroup, Series)


def metric_label(name: str) -> str:
    """Return the label of a metric, such as "Recall@5"; its name if this version does not know it."""
    if name not in METRICS:
        return name
    return t_or(f"metric_label.{METRICS[name].family}", name, k=METRICS[name].k)


def metric_help(name: str) -> str:
    """Return one sentence on what a metric measures; "" if this version does not know it."""
    if name not in METRICS:
        return ""
    return t_or(f"metric_help.{METRICS[name].family}", "", k=METRICS[name].k)


def choose_figure(
    groups: Sequence[_Runs], text: Callable[[_Runs], str], key: str, about: str
) -> tuple[_Runs, str | None]:
    """Draw the choice of runs on the same data and of a metric; no metric, with a message, if they scored nothing."""
    left, right = st.columns(2)
    names = list(map(text, groups))
    at = left.selectbox(t("runs.kind"), range(len(groups)), format_func=names.__getitem__, key=key, help=about)
    metric = right.selectbox(t("eval.metric"), groups[at].metrics, format_func=metric_label, key=f"{key}-{names[at]}")
    if metric is None:
        st.info(t("runs.board.nothing"), icon=":material/info:")
    else:
        st.caption(metric_help(metric))
    return groups[at], metric


def interval_text(interval: Sequence[float] | None, signed: bool = False) -> str:
    """Format an interval: "0,812 – 0,873"; a dash if there is none.

    Args:
        signed: show the sign of both ends, as for differences.
    """
    if not interval:
        return "–"
    if signed:
        return " … ".join(map(signed_number, interval))
    return " – ".join(number(value, 3) for value in interval)


def signed_number(value: float | None) -> str:
    """Format a difference with its sign: +0,125; a dash for None."""
    return "–" if value is None else ("+" if value > 0 else "") + number(value, 3)


def percent(value: float) -> str:
    """Format a share: 0.934 as 93 %."""
    return t("mykb.percent", value=number(100 * value))


def of_text(share: Share) -> str:
    return t("mykb.of", count=number(share.count), total=number(share.total))


def span_text(share: Share) -> str:
    """Format the interval of a share; a dash if there is none."""
    if share.interval is None:
        return "–"
    low, high = share.interval
    return t("mykb.interval", low=number(100 * low), high=percent(high))


def round_dollars(value: float) -> str:
    """Format a cost in US dollars to the cent."""
    return Markdown(f"{number(value, 2)} USD") if value else t("eval.no_cost")


def dollars(value: float) -> str:
    """Format a cost in US dollars, a small one with more decimals."""
    return Markdown(f"{number(value, 4)} USD") if 0 < value < 0.1 else round_dollars(value)
