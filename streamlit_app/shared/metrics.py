"""Names of metrics and intervals in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.api import METRICS
from streamlit_app.shared.i18n import number, t


def metric_label(name: str) -> str:
    """As a person writes it: Recall@5. A metric of another version keeps its name."""
    if name not in METRICS:
        return name
    return t(f"metric_label.{METRICS[name].family}", k=METRICS[name].k)


def metric_help(name: str) -> str:
    """What it measures, in one sentence; "" for a metric of another version."""
    if name not in METRICS:
        return ""
    return t(f"metric_help.{METRICS[name].family}", k=METRICS[name].k)


def interval_text(interval: Sequence[float] | None, signed: bool = False) -> str:
    """ "0,812 – 0,873", or a dash for none."""
    if not interval:
        return "–"
    low, high = (("+" if signed and value > 0 else "") + number(value, 3) for value in interval)
    return f"{low} – {high}" if not signed else f"{low} … {high}"
