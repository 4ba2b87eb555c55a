"""The promise on wrong answers: what is promised, what it costs, what is missing, and whether it still applies."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord, KbResult
from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.promise.kb_change import KbChange
from chatbot_mvp.wings.promise.live_watch import LiveWatch
from chatbot_mvp.wings.promise.promise import Promise
from chatbot_mvp.wings.promise.service import Promises, PromiseState
from streamlit_app.shared.guard import guarded, may
from streamlit_app.shared.i18n import moment, number, t
from streamlit_app.shared.metrics import percent
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import draw_table
from streamlit_app.wings.promise.progress import show_promise_progress

_SETTING = "kb_min_proof"
_LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2)
_USUAL = 0.05


def show_promise(kb: KbRecord, result: KbResult) -> None:
    """Draw the promise of a knowledge base and the controls that make one from the chosen result."""
    st.caption(t("mykb.promise_about"))
    level = _make(kb, result)
    state = get_app().get(Promises).state(kb.kb_id)
    show_promise_progress(kb, level, state)
    if state is None:
        return
    _show(state)
    _show_change(get_app().get(Promises).after_change(kb.kb_id, state.promise))
    if state.applies:
        _take(state)
    comparable = state.promise.made and set(state.changed) <= {"live"}
    if comparable and may(Action.MEASURE):  # the sample may hold the words of other people's questions
        _watch(get_app().get(Promises).watch(kb.kb_id, state.promise))


def _show_change(change: KbChange | None) -> None:
    """Say what the changes of the knowledge base did to the labels of the promise."""
    if change is None:
        return
    bound = percent(change.bound) if change.bound is not None else "–"
    said = t(
        f"mykb.promise_after.{change.verdict}",
        version=number(change.version),
        current=number(change.current),
        lapsed=number(len(change.lapsed)),
        labels=number(change.labels),
        remaining=number(change.remaining),
        bound=bound,
    )
    st.info(said, icon=":material/difference:")
    if change.documents:
        st.caption(t("mykb.promise_after.documents", documents=", ".join(change.documents)))


def _make(kb: KbRecord, result: KbResult) -> float:
    """Draw the level and the button; return the level."""
    names = {value: percent(value) for value in _LEVELS}
    which, button = st.columns([2, 1], vertical_alignment="bottom")
    level = which.select_slider(
        t("mykb.promise_level"), _LEVELS, _USUAL, format_func=names.__getitem__, key="mykb_promise_level"
    )
    singly = st.toggle(t("mykb.promise_singly"), key="mykb_promise_singly", help=t("mykb.promise_singly_help"))
    if button.button(
        t("mykb.promise_make"),
        icon=":material/verified:",
        key="mykb_promise_make",
        width="stretch",
        **guarded(Action.MEASURE, t("mykb.promise_make_help")),
    ):
        with errors_shown():
            get_app().get(Promises).make(kb.kb_id, result.result_id, float(level), "question" if singly else None)
    return float(level)


def _show(state: PromiseState) -> None:
    promise = state.promise
    level, confidence = percent(promise.level), percent(promise.confidence)
    if state.changed:
        reasons = " ".join(t(f"mykb.promise_changed.{name}") for name in state.changed)
        st.warning(t("mykb.promise_back", reasons=reasons, when=moment(promise.made_at)), icon=":material/undo:")
        return
    counted = {"wrong": number(promise.wrong), "answered": number(promise.answered)}
    by_document = promise.unit == "document"
    if promise.threshold is not None:
        made = t(
            "mykb.promise_made_documents" if by_document else "mykb.promise_made", level=level, confidence=confidence
        )
        st.success(made, icon=":material/verified:")
        low, high = number(promise.threshold, 2), number(promise.strictest, 2)
        st.markdown(t("mykb.promise_seen", low=low, high=high, **counted), help="KB_MIN_PROOF")
    elif promise.missing is None:
        st.info(t("mykb.promise_never", level=level, **counted), icon=":material/block:")
    else:
        missing = t(
            "mykb.promise_missing_documents" if by_document else "mykb.promise_missing",
            level=level,
            missing=number(promise.missing),
            **counted,
        )
        st.info(missing, icon=":material/edit_note:")
    if by_document:
        documents, least = number(promise.documents), percent(promise.least)
        st.caption(t("mykb.promise_documents", documents=documents, least=least))
    counts = {name: number(getattr(promise, name)) for name in ("labels", "sources", "parts", "repeated")}
    st.caption(t("mykb.promise_labels", unit=t(f"mykb.promise_unit.{promise.unit}"), **counts))
    st.markdown(
        t("mykb.promise_price", refused=number(promise.refused), answerable=number(promise.answerable))
        if promise.answerable
        else t("mykb.promise_no_price")
    )
    st.markdown(_far(promise))
    if promise.left_out:
        st.caption(t("mykb.promise_left_out", count=number(promise.left_out)))
    st.caption(t("mykb.promise_basis", name=promise.basis.set_name, when=moment(promise.made_at)))


def _far(promise: Promise) -> str:
    far = promise.far
    counted = {"answered": number(far.answered), "total": number(far.total), "level": percent(promise.level)}
    if far.held:
        return t("mykb.promise_far", confidence=percent(promise.confidence), **counted)
    if far.missing is None:
        return t("mykb.promise_far_never", **counted)
    return t("mykb.promise_far_missing", missing=number(far.missing), **counted)


def _take(state: PromiseState) -> None:
    threshold = state.promise.threshold or 1.0
    if state.in_chat:
        st.caption(f":green[:material/check_circle:] {t('mykb.promise_in_chat')}")
        return
    st.warning(t("mykb.promise_not_in_chat"), icon=":material/tune:")
    if st.button(
        t("mykb.promise_apply", value=number(threshold, 2)),
        icon=":material/check:",
        key="mykb_promise_apply",
        **guarded(Action.CHANGE_SETTINGS, t("mykb.promise_apply_help"), not get_app().live.changeable(_SETTING)),
    ):
        with errors_shown():
            get_app().live.change(_SETTING, threshold)
            st.toast(t("mykb.promise_applied", value=number(threshold, 2)), icon=":material/check_circle:")
            st.rerun()


def _watch(watch: LiveWatch) -> None:
    count = number(watch.count)
    if not watch.count:
        st.caption(t("mykb.live_none"))
        return
    if watch.since is None:
        st.caption(f":green[:material/check_circle:] {t('mykb.live_alike', count=count)}")
        return
    st.error(
        t(
            "mykb.live_differ",
            count=number(watch.unlike),
            distance=number(100 * watch.distance),
            when=moment(watch.since),
        ),
        icon=":material/alarm:",
    )
    with st.expander(t("mykb.live_sample"), icon=":material/rule:"):
        rows = [
            {
                t("eval.col.when"): moment(one.asked_at),
                t("eval.col.question"): one.text,
                t("mykb.col.evidence"): number(one.evidence, 2),
            }
            for one in watch.sample
        ]
        draw_table(rows)
        st.caption(t("mykb.live_text"))
