"""The review queue: one answer of the chat at a time, a key for each verdict, and the reviewers' agreement."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from chatbot_mvp.api import KbRecord
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.review.service import Order, Reviews, ReviewSummary
from chatbot_mvp.wings.review.settings import ReviewSettings
from chatbot_mvp.wings.review.verdicts import GivenVerdict, ReviewItem, Verdict, visible_name
from streamlit_app.mykb.jobs import busy, run_set, set_names
from streamlit_app.shared.guard import guarded, may
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.metrics import percent
from streamlit_app.shared.permissions import is_logged_in, is_protected, sign_in_providers
from streamlit_app.shared.session import session_name
from streamlit_app.shared.sources import place_text, show_passage
from streamlit_app.shared.state import errors_shown, get_app, show_error

_KEYS: dict[Verdict, str] = {"right": "A", "wrong": "F", "should_refuse": "N", "should_answer": "S", "skip": "X"}
_ICONS: dict[Verdict, str] = {
    "right": ":material/check:",
    "wrong": ":material/close:",
    "should_refuse": ":material/block:",
    "should_answer": ":material/chat:",
    "skip": ":material/skip_next:",
}
_UNDO_KEY = "Z"
_ORDERS: tuple[Order, ...] = ("doubtful", "random")
_NAME_CHARS = 80
_SECTION_CHARS = 40
_ANSWER_PX = 260  # a longer answer scrolls, so that the buttons stay in their place


def show_review(kb: KbRecord) -> None:
    """Draw the queue, the reviewers' agreement, and the disagreements to decide."""
    st.markdown(t("review.about"))
    if not may(Action.REVIEW):
        st.info(t("review.locked"), icon=":material/lock:")
        return
    reviewer = _reviewer()
    if not reviewer:
        return
    st.fragment(_queue)(kb, reviewer)


def _reviewer() -> str:
    """Return the reviewer's name: the e-mail of the sign-in, else a name that is asked for once; "" before that."""
    if is_logged_in() and st.user.get("email"):
        return str(st.user.get("email"))
    if sign_in_providers():  # a typed name could be that of somebody who signs in
        st.info(t("review.sign_in"), icon=":material/login:")
        return ""
    # Kept under its own key in the state, because a widget that is not drawn loses its value.
    known = str(st.session_state.get("review_reviewer", ""))
    if known:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("review.as", name=plain(known)), width="content")
            st.button(t("review.other"), key="review-other", type="tertiary", on_click=_forget_reviewer)
        return known
    with st.form("review-name", border=False):
        name = st.text_input(
            t("review.name"), max_chars=_NAME_CHARS, key="review-name-text", help=t("review.name_help")
        )
        sent = st.form_submit_button(t("review.begin"), type="primary", icon=":material/rate_review:")
    if sent and (name := visible_name(name)):
        st.session_state.review_reviewer = name
        st.rerun()
    return ""


def _forget_reviewer() -> None:
    st.session_state.pop("review_reviewer", None)


@errors_shown()
def _queue(kb: KbRecord, reviewer: str) -> None:
    reviews = get_app().get(Reviews)
    names = {order: t(f"review.order.{order}") for order in _ORDERS}
    order = st.segmented_control(
        t("review.order"),
        _ORDERS,
        default="doubtful",
        required=True,
        key="review-order",
        format_func=names.__getitem__,
        help=t("review.order_help"),
    )
    if (failed := st.session_state.pop("review_failed", None)) is not None:
        show_error(failed)
    # Without a sign-in everybody may review, and nobody may read the conversations of others.
    session = None if is_protected(get_app().access) else session_name()
    waiting = reviews.waiting(kb.kb_id, reviewer, order or "doubtful", session)
    summary = reviews.summary(kb.kb_id, session)
    if session is not None:
        st.caption(f":material/visibility_lock: {t('review.own_only')}")
    st.caption(t("review.left", left=number(len(waiting)), labelled=number(summary.labelled)))
    if waiting:
        _show_item(kb, waiting[0], reviewer)
    else:
        st.success(t("review.none"), icon=":material/done_all:")
    _undo_button(kb, reviewer)
    _after(kb, summary)
    _show_agreement(summary)
    _show_disputed(kb, summary, reviewer)


def _show_item(kb: KbRecord, item: ReviewItem, reviewer: str) -> None:
    picked = _picked(item)
    with st.container(border=True, key="review-item"):
        st.markdown(f"**{plain(item.question)}**")
        badges = [f":blue-badge[{t(f'review.outcome.{item.outcome}')}]"]
        if item.bad:
            badges.append(f":red-badge[:material/thumb_down: {t('review.bad')}]")
        if item.times > 1:
            badges.append(f":gray-badge[{t('kb.times', count=number(item.times))}]")
        threshold = number(get_app().settings.kb_min_evidence, 2)
        evidence = t("mykb.evidence_of", evidence=number(item.evidence, 2), threshold=threshold)
        st.markdown(f"{' '.join(badges)} :small[{evidence}]")
        if item.note:
            st.caption(t("review.note", note=plain(item.note)))
        with st.container(height=_ANSWER_PX if len(item.answer) > 500 else "content", border=False):
            st.markdown(plain(item.answer))
        _buttons(kb, item, reviewer, picked)
        if item.passages:
            _passages(item, picked)


def _buttons(kb: KbRecord, item: ReviewItem, reviewer: str, picked: int | None) -> None:
    # The keys have the item's id: a key that is pressed twice must not judge the next item, which nobody has read.
    with st.container(horizontal=True, key="review-verdicts"):
        for verdict in item.legal:
            st.button(
                _verdict_text(verdict, item.outcome),
                key=f"review-{verdict}-{item.item_id}",
                icon=_ICONS[verdict],
                type="primary" if verdict == "right" else "secondary",
                shortcut=_KEYS[verdict],
                on_click=_trying,
                args=(lambda chosen=verdict: get_app().get(Reviews).judge(kb.kb_id, item, chosen, reviewer, picked),),
                **guarded(Action.REVIEW),
            )


def _passages(item: ReviewItem, picked: int | None) -> None:
    st.markdown(f"**{t('review.passages')}**", help=t("review.passages_help"))
    with st.container(horizontal=True, key="review-passages"):
        for position, source in enumerate(item.passages):
            st.button(
                plain(source.chunk.section[:_SECTION_CHARS]),
                key=f"review-passage-{position}-{item.item_id}",
                icon=":material/radio_button_checked:" if picked == position else ":material/radio_button_unchecked:",
                shortcut=str(position + 1),
                on_click=_pick,
                args=(item, None if picked == position else position),
            )
    for position, source in enumerate(item.passages):
        cited = f" · {t('review.cited')}" if position < item.cited else ""
        opened = position == (picked if picked is not None else 0)
        with st.expander(f"{number(position + 1)} · {plain(source.chunk.section)}{cited}", expanded=opened):
            show_passage(source.chunk, source.highlights)
            st.caption(place_text(source.chunk, source.highlights))


def _undo_button(kb: KbRecord, reviewer: str) -> None:
    st.button(
        t("review.undo"),
        key="review-undo",
        icon=":material/undo:",
        type="tertiary",
        shortcut=_UNDO_KEY,
        on_click=_trying,
        args=(lambda: get_app().get(Reviews).undo(kb.kb_id, reviewer),),
        **guarded(Action.REVIEW),
    )


def _after(kb: KbRecord, summary: ReviewSummary) -> None:
    """Draw what to do with the labels: the set that takes them, and its evaluation."""
    sets = {one.set_id: one for one in get_app().question_sets.sets(kb.kb_id)}
    if summary.set_id not in sets:
        return
    which, run = st.columns([2, 1], vertical_alignment="bottom")
    names = set_names((one.set_id, one.name, one.changed_at) for one in sets.values())
    chosen = which.selectbox(
        t("review.set"),
        list(sets),
        index=list(sets).index(summary.set_id),
        format_func=names.__getitem__,
        key=f"review-set-{summary.set_id}-{sets[summary.set_id].changed_at}",
        **guarded(Action.REVIEW, t("review.set_help")),
    )
    if chosen != summary.set_id:
        _trying(lambda: get_app().get(Reviews).choose_set(kb.kb_id, chosen))
        st.rerun()
    kept = len(sets[summary.set_id].kept)
    if run.button(
        t("mykb.run", count=number(kept)),
        key="review-run",
        icon=":material/play_arrow:",
        width="stretch",
        **guarded(Action.MEASURE, t("review.run_help"), busy(kb) or not kept),
    ):
        run_set(kb, summary.set_id)


def _show_agreement(summary: ReviewSummary) -> None:
    found = summary.agreement
    if found.agreed.value is None:
        st.caption(
            t("review.agreement_none", share=percent(get_app().settings.of(ReviewSettings).kb_review_twice_share))
        )
        return
    parts = [t("review.agreement", share=percent(found.agreed.value), count=number(found.agreed.total))]
    if found.kappa is not None and found.interval is not None:
        low, high = (number(end, 2) for end in found.interval)
        parts.append(t("review.kappa", kappa=number(found.kappa, 2), low=low, high=high))
    if found.alpha is not None:
        parts.append(t("review.alpha", alpha=number(found.alpha, 2), people=number(found.reviewers)))
    st.caption(" ".join(parts), help=t("review.agreement_help"))


def _show_disputed(kb: KbRecord, summary: ReviewSummary, reviewer: str) -> None:
    if not summary.disputed:
        return
    count = number(len(summary.disputed))
    with st.expander(t("review.disputed", count=count), icon=":material/balance:", expanded=True):
        st.caption(t("review.disputed_about"))
        for verdicts in summary.disputed:
            _show_one_disputed(kb, verdicts, reviewer)


def _show_one_disputed(kb: KbRecord, verdicts: tuple[GivenVerdict, ...], reviewer: str) -> None:
    first = verdicts[0]
    with st.container(border=True, key=f"review-disputed-{first.item_id}"):
        st.markdown(f"**{plain(first.question)}**\n\n{plain(first.answer)}")
        said = [f"{plain(one.reviewer)}: {_verdict_text(one.verdict, one.outcome)}" for one in verdicts]
        st.caption(" · ".join(said))
        with st.container(horizontal=True):
            for verdict in dict.fromkeys(one.verdict for one in verdicts):
                st.button(
                    _verdict_text(verdict, first.outcome),
                    key=f"review-decide-{verdict}-{first.item_id}",
                    icon=_ICONS[verdict],
                    on_click=_trying,
                    args=(
                        lambda item_id=first.item_id, chosen=verdict: (
                            get_app().get(Reviews).decide(kb.kb_id, item_id, chosen, reviewer)
                        ),
                    ),
                    **guarded(Action.REVIEW),
                )


def _verdict_text(verdict: Verdict, outcome: str) -> str:
    if verdict == "right" and outcome != "answered":
        return t("review.verdict.right_refusal")
    return t(f"review.verdict.{verdict}")


def _picked(item: ReviewItem) -> int | None:
    item_id, position = st.session_state.get("review_picked", ("", None))
    return position if item_id == item.item_id else None


def _pick(item: ReviewItem, position: int | None) -> None:
    st.session_state.review_picked = (item.item_id, position)


def _trying(act: Callable[[], object]) -> None:
    """Call the App; keep an error to be shown in the next run, because a callback cannot draw."""
    try:
        act()
    except ChatbotError as error:
        st.session_state.review_failed = error
