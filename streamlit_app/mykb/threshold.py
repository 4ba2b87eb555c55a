"""Strict mode against the evidence threshold: picture, slider, figures at the threshold, and a button to use it."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import (
    ENOUGH_OWN,
    LEAST_LABELS,
    LEAST_OF_A_SIDE,
    PROVEN,
    KbResult,
    OwnThreshold,
    Share,
    ThresholdFigures,
    few_of,
    figures_at,
    own_threshold,
)
from chatbot_mvp.settings.access import Action
from streamlit_app.mykb.rows import show_rows
from streamlit_app.pictures.evidence import DRAGGED, dragged_to, evidence_picture
from streamlit_app.pictures.palette import palette
from streamlit_app.pictures.picture import show_picture
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.lasting import lasting
from streamlit_app.shared.metrics import of_text, percent, span_text
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.style import card_grid

_SETTING = "kb_min_evidence"
_LINES = ("coverage", "wrong_answers")
_TOLERANCES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_USUAL = 0.05
_SAME = 0.005
"""Thresholds that differ by less are shown as the same number."""


@st.fragment
def judge(result: KbResult, advise: bool) -> None:
    """Draw the threshold, folded, then the questions; this part of the page redraws when the threshold moves.

    Args:
        advise: whether the questions are those of people, by which a threshold can be suggested.
    """
    current = get_app().settings.kb_min_evidence
    key = lasting(f"mykb-threshold-{result.result_id}", round(current, 2))
    with st.expander(t("mykb.threshold_title"), icon=":material/tune:"):
        _judge(result, advise, key, current)
    # Below it: their number follows the threshold, and would push what is dragged from under the pointer.
    show_rows(result, st.session_state[key] if result.scores else current)


def _judge(result: KbResult, advise: bool, key: str, current: float) -> None:
    scores = result.scores
    if not scores:
        st.info(t("mykb.no_kinds"), icon=":material/info:")
        return
    st.caption(t("mykb.threshold_about"))
    if not advise:
        st.warning(t("mykb.proposed_only"), icon=":material/auto_fix_high:")
    grid = card_grid("mykb-threshold", 320)
    with grid.container():
        threshold = float(
            st.slider(t("mykb.threshold"), 0.0, 1.0, step=0.01, key=key, on_change=_begin_at, args=(key,))
        )
        st.caption(t("mykb.threshold_now", value=number(current, 2)), help="KB_MIN_EVIDENCE")
        if advise and len(result.rows) >= ENOUGH_OWN:
            _suggestion(result, key, current)
        elif advise:
            st.caption(t("mykb.no_advice", least=number(ENOUGH_OWN)))
        _take(threshold, current)
    with grid.container():
        _draggable(result, key, current)
    at = figures_at(scores, threshold)
    _tiles(at)
    for kind, count in few_of(scores):
        st.caption(f":orange[:material/info:] {t(f'mykb.few.{kind}', count=number(count))}")
    if get_app().kb_evaluation.proposer():
        st.caption(t("mykb.doubt", low=number(get_app().settings.kb_doubt_evidence, 2)))


def _tiles(at: ThresholdFigures) -> None:
    for column, name in zip(st.columns(len(_LINES)), _LINES, strict=True):
        share: Share = getattr(at, name)
        with column, st.container(border=True, height="stretch"):
            shown = t("common.not_scored") if share.value is None else percent(share.value)
            st.metric(t(f"mykb.line.{name}"), shown, help=t(f"mykb.line_help.{name}"))
            if share.total:
                st.caption(f"{of_text(share)} · {span_text(share)}")
            if name == "wrong_answers":
                kinds = [
                    f"{t(f'mykb.kind.{kind}')}: {of_text(part)}" for kind, part in at.by_kind.items() if part.total
                ]
                st.caption(" · ".join(kinds))


def _suggestion(result: KbResult, key: str, current: float) -> None:
    names = {value: percent(value) for value in _TOLERANCES}
    tolerance = st.select_slider(
        t("mykb.tolerance"),
        _TOLERANCES,
        _USUAL,
        format_func=names.__getitem__,
        help=t("mykb.tolerance_help"),
        key="mykb_tolerance",
    )
    found = own_threshold(result.scores, float(tolerance), result.min_evidence)
    if found is None:
        st.caption(t("mykb.no_suggestion", least=number(LEAST_LABELS), side=number(LEAST_OF_A_SIDE)))
        return
    value, general = number(found.threshold, 2), number(found.general, 2)
    advised = found.better > found.worse
    told = {"value": value, "general": general, "labels": number(found.labels)}
    st.markdown(t("mykb.suggestion" if advised else "mykb.suggestion_none", **told))
    st.caption(t("mykb.suggestion_unseen", answered=_with_span(found.answered), wrong=_with_span(found.all_wrong)))
    _compare(found, general, advised)
    if abs(current - found.threshold) < _SAME:
        st.caption(f":green[:material/check_circle:] {t('mykb.suggestion_current', value=number(current, 2))}")
    st.button(
        t("mykb.see_suggestion", value=value),
        icon=":material/moving:",
        key="mykb_see",
        on_click=_move,
        args=(key, round(found.threshold, 2)),
    )


def _compare(found: OwnThreshold, general: str, advised: bool) -> None:
    """Say how many questions are decided better and worse than at the threshold they were asked with."""
    if not found.better + found.worse:
        st.caption(t("mykb.suggestion_same", general=general))
        return
    changed = {"better": number(found.better), "worse": number(found.worse), "general": general}
    proven = found.p < PROVEN
    icon = ":orange[:material/casino:] " if not proven else ":green[:material/check_circle:] " if advised else ""
    st.caption(f"{icon}{t('mykb.suggestion_proven' if proven else 'mykb.suggestion_chance', **changed)}")


def _with_span(share: Share) -> str:
    return f"{of_text(share)} ({span_text(share)})"


def _move(key: str, threshold: float) -> None:
    st.session_state[key] = threshold
    _begin_at(key)


def _begin_at(key: str) -> None:
    """Let the line of the picture stand where the slider is."""
    st.session_state[f"{key}-line"] = st.session_state[key]


def _draggable(result: KbResult, key: str, current: float) -> None:
    """Draw the picture, whose line and the slider move each other.

    A picture that changes is drawn anew, which would end the drag: it only does if the slider has moved.
    """
    begin = float(st.session_state.setdefault(f"{key}-line", st.session_state[key]))
    chart_key = f"{key}-chart-{begin:.2f}"

    def dragged() -> None:
        if (value := dragged_to(st.session_state[chart_key])) is not None:
            st.session_state[key] = value

    picture = evidence_picture(f"evidence-{result.result_id[:15]}", result.scores, begin, current, palette())
    show_picture(picture, key=chart_key, on_select=dragged, selection_mode=DRAGGED)


def _take(threshold: float, current: float) -> None:
    fixed = not get_app().live.changeable(_SETTING)
    if fixed:
        st.caption(f":material/lock: {t('mykb.fixed')}", help="KB_MIN_EVIDENCE")
    if st.button(
        t("mykb.apply", value=number(threshold, 2)),
        type="primary",
        icon=":material/check:",
        key="mykb_apply",
        **guarded(Action.CHANGE_SETTINGS, t("mykb.apply_help"), fixed or abs(threshold - current) < _SAME),
    ):
        with errors_shown():
            get_app().live.change(_SETTING, threshold)
            st.toast(t("mykb.applied", value=number(threshold, 2)), icon=":material/check_circle:")
            st.rerun()
