"""How an answer came about, under the names that the retrieval itself uses."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.app import AnswerRecord
from streamlit_app.ui.i18n import number, t


def show_debug(answer: AnswerRecord) -> None:
    """An expander, closed: query, evidence, candidates, stitching, budget, prompt, timings."""
    debug = answer.debug
    with st.expander(t("debug.title"), icon=":material/troubleshoot:"):
        st.markdown(f"**{t('debug.query')}**")
        rows = {
            "query": debug["query"],
            "query_expanded": debug["query_expanded"] or "-",
            "expansion_notes": " · ".join(debug["expansion_notes"]) or "-",
            "evidence": _decision(answer),
            "context_chars_used / context_chars_budget": (
                f"{number(debug['context_chars_used'])} / {number(debug['context_chars_budget'])}"
            ),
            "stitching_added_count": str(debug["stitching_added_count"]),
            "chunks_added_by_stitching": ", ".join(debug["chunks_added_by_stitching"]) or "-",
            "strategy": debug["strategy"],
            "fingerprint": debug["fingerprint"],
        }
        st.dataframe(
            [{t("debug.name"): name, t("debug.value"): value} for name, value in rows.items()],
            hide_index=True,
            width="stretch",
        )
        _chunks("chunks_final", debug["chunks_final"])
        _chunks("candidates", debug["candidates"])
        st.markdown(f"**{t('debug.timings')}**")
        times = [f"{timing['stage']} {number(1_000 * timing['seconds'], 1)} ms" for timing in debug["timings"]]
        st.caption(" · ".join([*times, t("debug.total", seconds=number(answer.seconds, 2))]))
        if debug["prompt"]:
            st.markdown(f"**{t('debug.prompt')}**")
            for message in debug["prompt"]:
                st.code(f"{message['role']}\n\n{message['content']}", language=None, wrap_lines=True, height=260)


def _decision(answer: AnswerRecord) -> str:
    debug = answer.debug
    parts = [f"{number(answer.evidence, 3)} ({t('debug.threshold', value=number(debug['min_evidence'], 2))})"]
    if debug["relevance"] is not None:
        parts.append(t("chat.relevance", score=number(debug["relevance"], 0)))
    elif debug["decided_by"] == "undecided":
        parts.append(t("chat.undecided"))
    return " · ".join(parts)


def _chunks(name: str, chunks: list[dict[str, Any]]) -> None:
    st.markdown(f"**{name}**")
    st.dataframe(
        [
            {"chunk_id": chunk["chunk_id"], "section": chunk["section"], "score": chunk["score"], **chunk["signals"]}
            for chunk in chunks
        ],
        hide_index=True,
        width="stretch",
    )
