"""Admin's tab *Mejorar*: searches the best configuration, shows what was found, applies it and undoes that."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import TuneState
from streamlit_app.shared.configuration import setting_label
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import moment, plain, t
from streamlit_app.shared.jobs import draw_live, progress_text, resume_button, share_done, show_end, stop_button
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.wings.tune.form import tune_form
from streamlit_app.wings.tune.result import show_tune_result


def tune_section() -> None:
    """Draw what is in use, the form, tunes under way, and the finished tune that is chosen."""
    st.markdown(t("tune.about"))
    _in_use()
    if tune_form():
        st.toast(t("tune.launched"), icon=":material/play_circle:")
        st.rerun()
    draw_live(lambda: any(one.job is not None and one.job.active for one in get_app().get(Tuner).tunes()), _under_way)
    states = get_app().get(Tuner).tunes()
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
            t("admin.kb_undelete"),
            icon=":material/undo:",
            key="tune_undo",
            **guarded(Action.CHANGE_SETTINGS, t("tune.undo_help")),
        ):
            with errors_shown():
                kept = ", ".join(map(setting_label, get_app().get(Tuner).undo().kept))
                st.toast(t("tune.undone_but", names=kept) if kept else t("tune.undone"), icon=":material/undo:")
                st.rerun()


def _name_of(tune_id: str) -> str:
    try:
        state = get_app().get(Tuner).read(tune_id)
    except ChatbotError:
        return tune_id
    return f"{state.plan.target} · {moment(state.plan.created_at)}"


def _under_way() -> None:
    for state in get_app().get(Tuner).tunes():
        if state.state != "finished":
            with st.container(border=True):
                st.markdown(f"**{plain(state.plan.target)}** · {moment(state.plan.created_at)}")
                _show_unfinished(state)


def _show_unfinished(state: TuneState) -> None:
    tuner, job = get_app().get(Tuner), state.job
    if job is not None and job.active:
        st.progress(share_done(job), progress_text(job) if job.phase else "")
        stop_button(job, f"tune_stop_{state.tune_id}", lambda: tuner.stop(state.tune_id), Action.MEASURE)
        return
    if job is not None:
        show_end(job)
    if state.state == "running":
        st.caption(t("job.elsewhere"))
        return
    st.caption(t("tune.unfinished"))
    resume_button(f"tune_resume_{state.tune_id}", lambda: tuner.resume(state.tune_id))


def _finished(states: dict[str, TuneState]) -> None:
    st.header(t("mykb.result"))
    names: dict[str, str] = {}
    for tune_id in states:
        # Streamlit sends a selection as its text, so two equal texts could not be told apart.
        name = _name_of(tune_id)
        names[tune_id] = f"{name} · {tune_id}" if name in names.values() else name
    chosen = st.selectbox(t("tune.choose"), list(names), format_func=names.__getitem__, key="tune_chosen")
    result = states[chosen].result
    if result is not None:
        show_tune_result(result)
