"""Jobs that propose or run a knowledge base's questions: their progress, and how the latest ended."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from chatbot_mvp.api import EvaluationJob, KbRecord
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import bare, duration, moment, number, plain, t
from streamlit_app.shared.state import errors_shown, get_app, show_failed_job, show_provider

QUESTIONS, RESULTS = "questions", "results"  # the own steps of the page


def follow(job_id: str) -> None:
    """Show the result of this job as soon as it ends."""
    st.session_state.mykb_job = job_id


def choose_set(set_id: str) -> None:
    """Show this set of questions."""
    st.session_state.mykb_set = set_id
    st.session_state.mykb_step = QUESTIONS


def take_ended(kb: KbRecord) -> None:
    """If the job that this session started has ended, choose its result. Call before drawing any widget."""
    followed = st.session_state.get("mykb_job")
    job = next((job for job in get_app().kb_evaluation.jobs(kb.kb_id) if job.status.job_id == followed), None)
    if job is None or job.status.active:
        return
    del st.session_state.mykb_job
    if job.kind == "run" and job.status.state == "done":
        st.session_state.mykb_result, st.session_state.mykb_step = job.made, RESULTS
    elif job.kind == "propose" and any(one.set_id == job.made for one in get_app().kb_evaluation.sets(kb.kb_id)):
        choose_set(job.made)


def job_panel(kb: KbRecord) -> None:
    """Draw the running job, refreshed while it runs; otherwise why the latest job failed or stopped."""
    jobs = get_app().kb_evaluation.jobs(kb.kb_id)
    if not jobs:
        return
    if jobs[0].status.active:
        # After a reload the session no longer knows which job it started.
        st.session_state.mykb_job = jobs[0].status.job_id
        st.fragment(_live, run_every=1)(kb, jobs[0].status.job_id)
    else:
        _show_ended(jobs[0])


def busy(kb: KbRecord) -> bool:
    """Return whether a job is active for this knowledge base; only one may be."""
    return any(job.status.active for job in get_app().kb_evaluation.jobs(kb.kb_id))


def _live(kb: KbRecord, job_id: str) -> None:
    job = next((job for job in get_app().kb_evaluation.jobs(kb.kb_id) if job.status.job_id == job_id), None)
    if job is None or not job.status.active:
        # Redraw the whole page, with the result and without the timer.
        st.rerun()
        return
    status = job.status
    with st.container(border=True, key="mykb-job"):
        st.markdown(f"**{plain(status.title)}** · {t(f'mykb.job.{job.kind}')} · {t(f'job.state.{status.state}')}")
        if status.phase:
            parts = [t(f"phase.{status.phase}", done=number(status.done), total=number(status.total))]
            if status.seconds_left is not None:
                parts.append(t("job.left", time=duration(status.seconds_left)))
            if status.tokens:
                parts.append(t("job.tokens", count=number(status.tokens)))
            if status.cost_usd:
                parts.append(t("job.cost", cost=number(status.cost_usd, 4)))
            st.progress(min(1.0, status.done / status.total) if status.total else 0.0, " · ".join(parts))
        show_provider(status)
        if st.button(
            t("job.stop"),
            key="mykb_stop",
            icon=":material/stop_circle:",
            **guarded(Action.MEASURE, disabled=status.state == "stopping"),
        ):
            get_app().kb_evaluation.stop(job_id)
            st.rerun()


def _show_ended(job: EvaluationJob) -> None:
    status = job.status
    show_provider(status)
    if status.state == "failed":
        show_failed_job(status)
    elif status.state in ("stopped", "interrupted"):
        st.warning(t(f"mykb.ended.{job.kind}", title=plain(status.title)), icon=":material/block:")
    if any(run.run_id == job.made for run in get_app().archive.unfinished()) and st.button(
        t("job.resume"), icon=":material/play_circle:", key="mykb_resume", **guarded(Action.MEASURE)
    ):
        with errors_shown():
            get_app().runs.resume_run(job.made)
            follow(job.made)
            st.rerun()


def set_names(sets: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return id -> "name · date" for each (id, name, time); repeated texts are completed with the end of the id.

    Streamlit sends a selection as its text, so two equal texts could not be told apart.
    """
    names: dict[str, str] = {}
    for key, name, when in sets:
        text = bare("mykb.set_label", name=name, when=moment(when))
        names[key] = f"{text} · {key[-6:]}" if text in names.values() else text
    return names


def run_set(kb: KbRecord, set_id: str) -> None:
    """Start a background job that evaluates the questions of a set."""
    with errors_shown():
        follow(get_app().kb_evaluation.start(kb.kb_id, set_id))
        st.rerun()
