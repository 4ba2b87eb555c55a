"""Admin's tab *Mejorar*: searches the best configuration, shows what was found, applies it and undoes that."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import TuneState
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import bare, moment, plain, t
from streamlit_app.shared.jobs import progress_text
from streamlit_app.shared.state import errors_shown, get_app, show_failed_job
from streamlit_app.wings.tune.form import tune_form
from streamlit_app.wings.tune.result import show_tune_result


def tune_section() -> None:
    """Draw what is in use, the form, tunes under way, and the finished tune that is chosen."""
    st.markdown(t("tune.about"))
    _in_use()
    if tune_form():
        st.toast(t("tune.launched"), icon=":material/play_circle:")
        st.rerun()
    states = get_app().get(Tuner).tunes()
    active = any(_is_active(state) for state in states)
    st.fragment(_under_way, run_every=1 if active else None)(active)
    finished = {state.tune_id: state for state in states if state.result is not None}
    if finished:
        _finished(finished)


def _in_use() -> None:
    """Say which tune's configuration is in use, with the button that undoes it."""
    applied = get_app().get(Tuner).applied()
    if not applied:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="tune-in-use"):
        st.markdown(f":material/check_circle: {t('tune.applied', name=_name_of(applied[-1]))}")
        if st.button(
            t("tune.undo"),
            icon=":material/undo:",
            key="tune_undo",
            **guarded(Action.CHANGE_SETTINGS, t("tune.undo_help")),
        ):
            _undo()


def _undo() -> None:
    with errors_shown():
        undone = get_app().get(Tuner).undo()
        kept = ", ".join(name.upper() for name in undone.kept)
        st.toast(t("tune.undone_but", names=kept) if kept else t("tune.undone"), icon=":material/undo:")
        st.rerun()


def _name_of(tune_id: str) -> str:
    try:
        state = get_app().get(Tuner).read(tune_id)
    except ChatbotError:
        return tune_id
    return bare("tune.name", target=state.plan.target, when=moment(state.plan.created_at))


def _is_active(state: TuneState) -> bool:
    return state.job is not None and state.job.active


def _under_way(was_active: bool) -> None:
    states = get_app().get(Tuner).tunes()
    if was_active and not any(_is_active(state) for state in states):
        # The tune has ended: draw the whole page again, with its result and without the timer.
        st.rerun()
    for state in states:
        if state.state != "finished":
            _show_unfinished(state)


def _show_unfinished(state: TuneState) -> None:
    job = state.job
    with st.container(border=True):
        st.markdown(f"**{plain(state.plan.target)}** · {moment(state.plan.created_at)}")
        if job is not None and job.active:
            st.progress(min(1.0, job.done / job.total) if job.total else 0.0, progress_text(job) if job.phase else "")
            if st.button(
                t("job.stop"),
                key=f"tune_stop_{state.tune_id}",
                icon=":material/stop_circle:",
                **guarded(Action.MEASURE, disabled=job.state == "stopping"),
            ):
                get_app().get(Tuner).stop(state.tune_id)
                st.rerun()
            return
        if job is not None and job.state == "failed":
            show_failed_job(job)
        if state.state == "running":
            st.caption(t("tune.elsewhere"))
            return
        st.caption(t("tune.unfinished"))
        if st.button(
            t("job.resume"),
            key=f"tune_resume_{state.tune_id}",
            icon=":material/play_circle:",
            **guarded(Action.MEASURE),
        ):
            with errors_shown():
                get_app().get(Tuner).resume(state.tune_id)
                st.rerun(scope="app")


def _finished(states: dict[str, TuneState]) -> None:
    st.subheader(t("tune.found"))
    names: dict[str, str] = {}
    for tune_id in states:
        # Streamlit sends a selection as its text, so two equal texts could not be told apart.
        name = _name_of(tune_id)
        names[tune_id] = f"{name} · {tune_id}" if name in names.values() else name
    chosen = st.selectbox(t("tune.choose"), list(names), format_func=names.__getitem__, key="tune_chosen")
    result = states[chosen].result
    if result is not None:
        show_tune_result(result)
