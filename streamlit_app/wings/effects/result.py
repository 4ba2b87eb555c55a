"""A finished comparison: the headline, the tests, each answer that is not the same beside the other, and what next."""

from __future__ import annotations

from functools import partial

import streamlit as st

from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Chunk
from chatbot_mvp.wings.effects.comparing import LEAST, EffectsReport, Tested
from chatbot_mvp.wings.effects.service import Effects
from chatbot_mvp.wings.effects.types import KINDS, Effect, EffectsPlan, Kind, SideAnswer
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import bare, number, plain, score, t
from streamlit_app.shared.sources import show_passage
from streamlit_app.shared.state import confirm, errors_shown, get_app
from streamlit_app.shared.tables import draw_table

_BADGES: dict[Kind, str] = {
    "lost": "red",
    "new": "green",
    "changed": "orange",
    "elsewhere": "blue",
    "same": "gray",
    "declined": "gray",
}
_ICONS = {
    "better": ":material/trending_up:",
    "not_worse": ":material/check_circle:",
    "worse": ":material/trending_down:",
    "unclear": ":material/help:",
}
_PER_KIND = 50


def show_report(report: EffectsReport) -> None:
    """Draw a report, and the buttons that publish or drop the draft that it is about."""
    st.header(_headline(report))
    if report.gone:
        st.caption(t("effects.gone", count=number(report.gone)))
    verdict = report.verdict
    told = {"worse": st.error, "unclear": st.info}.get(verdict, st.success)
    told(t(f"effects.verdict.{verdict}", least=LEAST), icon=_ICONS[verdict])
    _decide(report.plan)
    with st.expander(t("effects.tests"), icon=":material/query_stats:"):
        draw_table([_row(one) for one in report.tested])
        st.caption(t("effects.tests_help"))
    counts = report.counts
    kinds = [kind for kind in KINDS if counts[kind]]
    labels = {kind: f"{t(f'effects.kind.{kind}')}: {number(counts[kind])}" for kind in kinds}
    shown = st.pills(
        t("effects.show"),
        kinds,
        selection_mode="multi",
        default=[kind for kind in kinds if kind not in ("same", "declined")],
        format_func=labels.__getitem__,
        key=f"effects_kinds_{report.plan.effects_id}",
    )
    for kind in shown:
        of_kind = [one for one in report.effects if one.kind == kind]
        for effect in of_kind[:_PER_KIND]:
            _show_effect(effect)
        if len(of_kind) > _PER_KIND:
            st.caption(t("effects.more", count=number(len(of_kind) - _PER_KIND)))


def _headline(report: EffectsReport) -> str:
    counts = report.counts
    parts = {kind: t(f"effects.n.{kind}", count=number(counts[kind])) for kind in ("changed", "lost", "new")}
    return t("effects.headline", total=number(len(report.effects)), **parts)


def _row(one: Tested) -> dict[str, str]:
    test = one.test
    interval = "" if test.low is None or test.high is None else f"{number(test.low, 3)} … {number(test.high, 3)}"
    return {
        bare("effects.col.metric"): bare(f"effects.metric.{one.metric}"),
        bare("effects.before"): score(one.before),
        bare("effects.after"): score(one.after),
        bare("effects.col.interval"): interval,
        bare("compare.col.worsened"): number(one.fell),
        bare("compare.col.improved"): number(one.rose),
        bare("eval.queries"): number(test.pairs),
        bare("effects.col.p"): "" if test.p_worse is None else number(test.p_worse, 4),
        bare("effects.col.verdict"): bare(f"effects.says.{test.verdict}"),
    }


def _show_effect(effect: Effect) -> None:
    badge = f":{_BADGES[effect.kind]}-badge[{t(f'effects.kind.{effect.kind}')}]"
    with st.expander(f"{badge} {plain(effect.question.question)}"):
        if effect.gone:
            st.caption(f":material/content_cut: {t('effects.paragraph_gone')}")
        for column, name, side in zip(
            st.columns(2), ("effects.before", "effects.after"), (effect.before, effect.after), strict=True
        ):
            with column:
                st.markdown(f"**{t(name)}**")
                _show_side(side)


def _show_side(side: SideAnswer) -> None:
    if not side.answered:
        st.markdown(f":gray-badge[{t('effects.no_answer')}]")
    st.markdown(plain(side.text))
    if side.right is not None:
        st.caption(t("effects.right" if side.right else "effects.wrong"))
    for passage in side.passages:
        page = "" if passage.page is None else t("check.page", page=passage.page)
        place = " · ".join(part for part in (plain(passage.path), page, plain(passage.section)) if part)
        st.caption(f":material/draft: {place}")
        show_passage(Chunk("", "", passage.section, passage.text, 0, len(passage.text)), passage.quotes)


def _decide(plan: EffectsPlan) -> None:
    """Draw the buttons that publish or drop the draft, if it is still the one that was asked."""
    staged = get_app().kb_changes.staged(plan.kb_id)
    if staged is None or staged.version_id != plan.after:
        return
    with st.container(horizontal=True):
        if st.button(
            t("effects.publish"),
            type="primary",
            icon=":material/publish:",
            key="effects_publish",
            **guarded(Action.CHANGE_KB, t("effects.publish_help")),
        ):
            with errors_shown():
                made = get_app().get(Effects).publish(plan)
                st.toast(t("kbdoc.done", number=number(made.number)), icon=":material/check_circle:")
                st.rerun()
        label, drop = t("kbdraft.drop_yes"), partial(get_app().kb_changes.drop, plan.kb_id)
        if st.button(label, icon=":material/delete:", key="effects_drop", **guarded(Action.CHANGE_KB)):
            confirm(label, t("kbdraft.drop_sure"), "effects_drop_yes", drop)
