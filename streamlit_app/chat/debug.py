"""Details of how an answer was found, with the field names of the retrieval code."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import AnswerRecord
from streamlit_app.pictures.picture import show_chart
from streamlit_app.shared.i18n import duration_text, number, plain, t
from streamlit_app.shared.tables import draw_table

# Summand of a score -> colour. Distinguishable with colour blindness (Okabe and Ito; Tol) and legible in both themes.
COLOURS = {
    "bm25_norm": "#0072b2",
    "overlap_norm": "#56b4e9",
    "fuzzy_bonus": "#009e73",
    "exact_bonus": "#e69f00",
    "heading_bonus": "#d55e00",
    "link_bonus": "#999999",
    "vector_norm": "#cc79a7",
    "late": "#332288",
    "late_chunk": "#aa4499",
    "exact": "#66ccee",
    "said": "#117733",
    "said_late": "#88ccee",
    # Of other strategies, which have none of the signals above.
    "bm25": "#0072b2",
    "vector": "#cc79a7",
    "walk": "#999933",
    "score": "#888888",
    "rerank": "#ddcc77",
}


def show_debug(answer: AnswerRecord) -> None:
    """Draw a closed expander with query, evidence, candidates, stitching, budget, prompt and timings."""
    debug = answer.debug
    with st.expander(t("debug.title"), icon=":material/troubleshoot:"):
        st.markdown(f"**{t('debug.query')}**")
        rows = {
            "query": debug["query"],
            "query_expanded": debug["query_expanded"] or "–",
            "expansion_notes": " · ".join(debug["expansion_notes"]) or "–",
            "evidence": _decision(answer),
            "context_chars_used / context_chars_budget": (
                f"{number(debug['context_chars_used'])} / {number(debug['context_chars_budget'])}"
            ),
            "stitching_added_count": str(debug["stitching_added_count"]),
            "chunks_added_by_stitching": ", ".join(debug["chunks_added_by_stitching"]) or "–",
            "strategy": debug["strategy"],
            "fingerprint": debug["fingerprint"],
            "outcome": " · ".join(part for part in (answer.outcome, answer.why) if part),
        }
        if said := debug.get("earlier"):
            rows["earlier"] = " · ".join(f"{number(one['weight'], 3)} × {one['text'][:80]}" for one in said)
        if debug["topic"] is not None:
            rows["topic"] = number(debug["topic"], 3)
        if errors := debug["stage_errors"]:
            rows["stage_errors"] = " · ".join(f"{error['stage']}: {error['error']}" for error in errors)
        st.html(_pairs(rows))
        _breakdown(debug)
        _chunks("chunks_final", debug["chunks_final"])
        _chunks("candidates", debug["candidates"])
        st.markdown(f"**{t('debug.timings')}**")
        times = [f"{plain(timing['stage'])} {duration_text(timing['seconds'])}" for timing in debug["timings"]]
        st.caption(" · ".join([*times, t("debug.total", seconds=number(answer.seconds, 2))]))
        if debug["withheld"]:
            st.markdown(f"**{t('debug.withheld')}**")
            st.code(debug["withheld"], language=None, wrap_lines=True)
        if debug["prompt"]:
            st.markdown(f"**{t('debug.prompt')}**")
            for message in debug["prompt"]:
                st.code(f"{message['role']}\n\n{message['content']}", language=None, wrap_lines=True)


def _pairs(rows: Mapping[str, str]) -> str:
    """Return names and values as HTML, side by side, or stacked on narrow screens: an expanded query is long."""
    row = "display:flex;flex-wrap:wrap;gap:0 1rem;padding:0.35rem 0;border-bottom:1px solid rgba(128,128,128,0.25)"
    lines = "".join(
        f'<div style="{row}"><dt style="flex:0 1 17rem;font:0.85rem monospace">{html.escape(name)}</dt>'
        f'<dd style="flex:1 1 14rem;margin:0;overflow-wrap:anywhere">{html.escape(value)}</dd></div>'
        for name, value in rows.items()
    )
    return f'<dl style="margin:0">{lines}</dl>'


def _decision(answer: AnswerRecord) -> str:
    debug = answer.debug
    parts = [] if (proof := debug.get("proof")) is None else [t("chat.proof", score=number(proof, 2))]
    parts += [f"{number(answer.evidence, 3)} ({t('debug.threshold', value=number(debug['min_evidence'], 2))})"]
    if debug["relevance"] is not None:
        parts.append(t("chat.relevance", score=number(debug["relevance"], 0)))
    elif debug["decided_by"] == "undecided":
        parts.append(t("chat.undecided"))
    return " · ".join(parts)


def _breakdown(debug: Mapping[str, Any]) -> None:
    """Draw a stacked bar per chunk, best on top, with what each signal adds to its score."""
    rows = [
        {
            "chunk": f"{rank}. {chunk['section']}",
            "signal": name,
            "order": list(COLOURS).index(name),
            "added": value,
            "said": f"{number(value, 3)} / {number(chunk['score'], 3)}",
        }
        for rank, chunk in enumerate(debug["candidates"], start=1)
        for name, value in chunk["parts"].items()
        if name in COLOURS
    ]
    if not rows:
        return
    st.markdown(f"**{t('debug.breakdown')}**")
    st.caption(t("debug.breakdown_reranked") if debug["reranked"] else t("debug.breakdown_help"))
    names = [name for name in COLOURS if any(row["signal"] == name for row in rows)]
    bars = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("added:Q", title="score", stack="zero"),
        y=alt.Y("chunk:N", title=None, sort=None, axis=alt.Axis(labelLimit=130, labelOverlap=False)),
        color=alt.Color(
            "signal:N", title=None, scale=alt.Scale(domain=names, range=[COLOURS[name] for name in names]), legend=None
        ),
        order=alt.Order("order:Q"),
        tooltip=[
            alt.Tooltip("chunk:N", title="section"),
            alt.Tooltip("signal:N", title="signal"),
            alt.Tooltip("said:N", title="score"),
        ],
    )
    st.html(_legend(names))
    height = 60 + 26 * len({row["chunk"] for row in rows})
    show_chart(bars.mark_bar().properties(height=height))


def _legend(names: Sequence[str]) -> str:
    """Return a legend that wraps; Altair's own is cut off on narrow screens."""
    square = "display:inline-block;width:0.8rem;height:0.8rem;border-radius:2px;margin-right:0.35rem;background:"
    items = "".join(f'<span><span style="{square}{COLOURS[name]}"></span>{name}</span>' for name in names)
    return f'<div style="display:flex;flex-wrap:wrap;gap:0.2rem 1rem;font-size:0.875rem">{items}</div>'


def _chunks(name: str, chunks: list[dict[str, Any]]) -> None:
    st.markdown(f"**{plain(name)}**")
    draw_table(
        [
            {"chunk_id": chunk["chunk_id"], "section": chunk["section"], "score": chunk["score"], **chunk["signals"]}
            for chunk in chunks
        ]
    )
