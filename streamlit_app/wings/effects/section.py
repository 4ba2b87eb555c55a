"""The step *Cambios*: asks two versions the same questions, shows the comparisons under way and the one chosen."""

from __future__ import annotations

from functools import partial

import streamlit as st

from chatbot_mvp.api import KbRecord
from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.effects.questions import LAST
from chatbot_mvp.wings.effects.service import DRAFT, Effects
from chatbot_mvp.wings.effects.types import EffectsPlan, EffectsState
from streamlit_app.shared.guard import guarded, may
from streamlit_app.shared.i18n import bare, moment, number, t
from streamlit_app.shared.jobs import draw_live, progress_text, resume_button, share_done, show_end, stop_button
from streamlit_app.shared.metrics import dollars
from streamlit_app.shared.permissions import is_protected
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.wings.effects.result import show_report

_CHAT = "chat"


def show_effects(kb: KbRecord) -> None:
    """Draw the form, the comparisons under way, and the finished one that is chosen."""
    st.markdown(t("effects.about"))
    if not may(Action.MEASURE):
        st.info(t("admin.guard.needed"), icon=":material/lock:")
        return
    _launch(kb)
    draw_live(lambda: any(state.active for state in _states(kb)), partial(_under_way, kb))
    finished = {state.plan.effects_id: state.plan for state in _states(kb) if state.finished}
    if not finished:
        return
    names = {effects_id: _name(plan) for effects_id, plan in finished.items()}
    chosen = st.selectbox(t("effects.choose"), list(names), format_func=names.__getitem__, key="effects_chosen")
    if chosen:
        with errors_shown():
            show_report(get_app().get(Effects).report(kb.kb_id, chosen))


def _states(kb: KbRecord) -> list[EffectsState]:
    return get_app().get(Effects).comparisons(kb.kb_id, _session())


def _session() -> str:
    """Return the session whose chats may be read; "" for all: without a sign-in nobody reads those of others."""
    return "" if is_protected(get_app().access) else session_name()


def _launch(kb: KbRecord) -> None:
    """Draw the form of a new comparison."""
    versions = _versions(kb)
    if len(versions) < 2:
        st.info(t("effects.one_version"), icon=":material/history:")
        return
    names, sets = list(versions), get_app().question_sets.sets(kb.kb_id)
    asked = {**{one.set_id: one.name for one in sets if one.kept}, _CHAT: bare("effects.of_chat", count=LAST)}
    left, right, what = st.columns(3)
    before = left.selectbox(
        t("effects.before"), names, index=1, format_func=versions.__getitem__, key=f"effects_before_{len(names)}"
    )
    after = right.selectbox(
        t("effects.after"), names, index=0, format_func=versions.__getitem__, key=f"effects_after_{len(names)}"
    )
    questions = what.selectbox(t("eval.queries"), list(asked), format_func=asked.__getitem__, key="effects_asked")
    of_chat = questions == _CHAT

    def plan() -> EffectsPlan:
        named = "" if of_chat else questions
        return get_app().get(Effects).plan(kb.kb_id, named, before, after, LAST if of_chat else 0, _session())

    if get_app().kb_evaluation.proposer():
        with errors_shown():
            _show_cost(plan())
    if st.button(
        t("effects.start"),
        type="primary",
        icon=":material/difference:",
        key="effects_start",
        **guarded(Action.MEASURE, t("effects.start_help")),
    ):
        with errors_shown():
            get_app().get(Effects).start(plan())
            st.rerun()


def _versions(kb: KbRecord) -> dict[str, str]:
    """Return name -> title of the versions that can be asked: the draft, then the history, the newest first."""
    changes = get_app().kb_changes
    found: dict[str, str] = {}
    if (staged := changes.staged(kb.kb_id)) is not None:
        found[DRAFT] = bare("effects.draft", when=moment(staged.at))
    seen: set[str] = set()
    for step in changes.history(kb.kb_id):
        if step.kept and step.entry.version_id not in seen:
            seen.add(step.entry.version_id)
            found[str(step.entry.number)] = bare(
                "effects.current" if step.current else "effects.version",
                number=step.entry.number,
                when=moment(step.entry.at),
            )
    return found


def _show_cost(plan: EffectsPlan) -> None:
    needed = get_app().get(Effects).estimate(plan)
    cost = t("eval.no_cost") if needed.cost_usd == 0 else t("effects.cost_unknown")
    if needed.cost_usd:
        cost = t("effects.cost_most", cost=dollars(needed.cost_usd))
    st.caption(
        t("effects.cost", requests=number(needed.requests), model=needed.model, cost=cost), help=t("effects.cost_help")
    )


def _under_way(kb: KbRecord) -> None:
    service = get_app().get(Effects)
    for state in _states(kb):
        if state.finished and not state.active:
            continue
        effects_id, job = state.plan.effects_id, state.job
        with st.container(border=True):
            st.markdown(f"**{t('effects.name', **_named(state.plan))}**")
            if job is not None and job.active:
                st.progress(share_done(job), progress_text(job) if job.phase else "")
                stop_button(job, f"effects_stop_{effects_id}", partial(service.stop, effects_id), Action.MEASURE)
                continue
            if job is not None:
                show_end(job)
            if state.busy:
                st.caption(t("job.elsewhere"))
                continue
            st.caption(t("effects.unfinished", done=number(state.done), total=number(state.total)))
            resume_button(f"effects_resume_{effects_id}", partial(service.resume, kb.kb_id, effects_id))


def _name(plan: EffectsPlan) -> str:
    return bare("effects.name", **_named(plan))


def _named(plan: EffectsPlan) -> dict[str, str]:
    before, after = (
        str(version) if version else bare("effects.a_draft") for version in (plan.before_number, plan.after_number)
    )
    return {"before": before, "after": after, "when": moment(plan.created_at), "count": number(len(plan.questions))}
