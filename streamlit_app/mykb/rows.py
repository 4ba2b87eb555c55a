"""Questions of a result at a threshold: a table with a filter, then one question with found and expected passages."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from chatbot_mvp.api import FALSE_TICKS, GOOD, KbResult, ResultRow
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.i18n import Markdown, number, plain, t
from streamlit_app.shared.sources import place_text, show_passage, show_sources
from streamlit_app.shared.state import get_app, show_error
from streamlit_app.shared.tables import choose_row

_FILTERS = ("all", "lost", "unanswered", "false_ticks", "not_first")
_WORST = (*FALSE_TICKS, "missed", "unsure", "near", None, *GOOD)
"""What the chat made of questions, in the order in which one learns from them."""


def show_rows(result: KbResult, threshold: float) -> None:
    """Draw the table, at first of what failed, what the chat says wrong first; then the chosen question in full."""
    # No counts in the texts: Streamlit sends a choice as its text, which must not change with the threshold.
    names = {name: t(f"detail.only.{name}") for name in _FILTERS[:2]}
    names |= {name: t(f"mykb.filter.{name}") for name in _FILTERS[2:]}
    bar = st.container(horizontal=True, vertical_alignment="center")
    chosen = bar.segmented_control(
        t("eval.queries"),
        _FILTERS,
        default="lost",
        required=True,
        key=f"mykb-filter-{result.result_id}",
        format_func=names.__getitem__,
        label_visibility="collapsed",
    )
    rows = [row for row in result.rows if _matches(row, chosen)]
    rows.sort(key=lambda row: _to_learn_from(row, threshold))
    if not rows:
        st.success(t("mykb.filter_none"), icon=":material/check_circle:")
        return
    table = [
        {
            t("eval.col.question"): row.question.question,
            t("mykb.col.kind"): t(f"mykb.kind.{row.question.kind or 'unknown'}"),
            t("mykb.col.said"): t(f"mykb.said.{row.outcome}") if row.outcome else "–",
            t("mykb.col.paragraph"): _rank(row),
        }
        | (_decision(row, threshold) if result.model else {})  # without one the proof decides, not the evidence
        for row in rows
    ]
    bar.caption(t("mykb.filter_count", count=number(len(rows)), total=number(len(result.rows))))
    position = choose_row(
        table,
        lambda index: rows[index].question.question,
        f"mykb-rows-{result.result_id}-{chosen}",
        cut={t("eval.col.question"): 400},
        start=None,
    )
    if position is not None:
        _show_row(result, rows[position], threshold)


def _decision(row: ResultRow, threshold: float) -> dict[str, str]:
    reached = t("mykb.accepted" if row.accepted(threshold) else "mykb.refused")
    return {t("mykb.col.evidence"): number(row.evidence, 2), t("mykb.col.decision"): reached}


def _to_learn_from(row: ResultRow, threshold: float) -> tuple[int, bool, float, str]:
    """Sort key: what the chat says wrong first, then the evidence closest to the threshold."""
    first = not row.places or row.rank == 1
    return _WORST.index(row.outcome), first, abs(row.evidence - threshold), row.question.question_id


def _matches(row: ResultRow, name: str | None) -> bool:
    match name:
        case "lost":
            return row.outcome not in (None, *GOOD) or _matches(row, "not_first")
        case "unanswered":
            return row.outcome in ("near", "unsure", "missed")
        case "false_ticks":
            return row.outcome in FALSE_TICKS
        case "not_first":
            return bool(row.places) and row.rank != 1
        case _:
            return True


def why(row: ResultRow, threshold: float, quote: str, model: bool) -> str:
    """Return in a sentence why a question did not go well: the search, the threshold, the proof or the model's answer;
    "" if it did.

    Args:
        quote: what the chat cited, in Markdown.
        model: whether a language model answered.
    """
    if row.outcome in FALSE_TICKS:
        return t(f"mykb.why.{row.outcome}", quote=Markdown(quote))
    if row.places and not row.rank:
        return t("mykb.why.not_found")
    if model and row.said and row.outcome not in (None, *GOOD):
        if row.said.text:
            return t("mykb.why.model_wrote", answer=" ".join(row.said.text.split()))
        if row.said.why in ("declined", "relevance"):
            return t("mykb.why.model_declined")
        if not row.said.why and row.accepted(threshold):  # a run of before it was recorded
            return t("mykb.why.model")
    if row.places and row.rank and row.rank != 1:
        return t("mykb.why.not_first", rank=number(row.rank))
    if row.outcome in (None, *GOOD):
        return ""
    by_score = model or (row.said is not None and row.said.why == "topic")
    return t("mykb.why.refused" if by_score else "mykb.why.unproven")


def _cited(result: KbResult, row: ResultRow) -> str:
    """Return what the chat cited in its answer to a question, in Markdown; "" if the text is no longer there."""
    if row.said is None or row.outcome not in FALSE_TICKS:
        return ""
    with suppress(ChatbotError):
        for source in get_app().kb_evaluation.expected(result, replace(row, places=row.said.places)):
            parts = (
                source.chunk.text[start - source.chunk.start : end - source.chunk.start]
                for start, end in source.highlights
            )
            return plain(" … ".join(" ".join(part.split()) for part in parts))
    return ""


def _rank(row: ResultRow) -> str:
    if not row.places:
        return "–"
    return t("detail.rank", rank=number(row.rank)) if row.rank else t("mykb.rank_none")


def _show_row(result: KbResult, row: ResultRow, threshold: float) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(row.question.question)}**")
        kind = t(f"mykb.kind.{row.question.kind or 'unknown'}")
        badges = [f":blue-badge[{kind}]"]
        if row.outcome:
            colour = "green" if row.outcome in GOOD else "red" if row.outcome in FALSE_TICKS else "gray"
            badges.append(f":{colour}-badge[{t(f'mykb.said.{row.outcome}')}]")
        st.markdown(" ".join(badges))
        if reason := why(row, threshold, _cited(result, row), bool(result.model)):
            st.markdown(f"**{t('compare.col.why')}:** {reason}")
        if row.places:
            st.caption(f"{t('mykb.col.paragraph')}: {_rank(row)}")
        try:
            found = get_app().kb_evaluation.found(result, row)
            expected = get_app().kb_evaluation.expected(result, row)
        except ChatbotError as error:
            show_error(error)
            return
        left, side = st.columns([3, 2], gap="large")
        with left:
            st.markdown(f"**{t('mykb.found')}**")
            if found:
                show_sources(found)
            else:
                st.caption(t("mykb.found_none" if not row.found else "mykb.result_of_other_text"))
        with side:
            st.markdown(f"**{t('mykb.expected')}**")
            for source in expected:
                show_passage(source.chunk, source.highlights)
                st.caption(place_text(source.chunk, source.highlights))
            if not expected:
                lost = row.question.paragraph
                st.caption(t("mykb.expected_lost") if lost else t("mykb.expected_none"))
            if row.question.answers:
                st.caption(f"{t('eval.answer')}: {plain('; '.join(row.question.answers))}")
