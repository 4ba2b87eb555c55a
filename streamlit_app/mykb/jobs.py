"""Jobs that propose or run a knowledge base's questions: their progress, and how the latest ended."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from chatbot_mvp.api import EvaluationJob, KbRecord
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.i18n import moment, plain, t
from streamlit_app.shared.jobs import (
    discard_button,
    draw_live,
    resume_button,
    show_end,
    show_progress,
    show_provider,
    stop_button,
)
from streamlit_app.shared.runs import spoken
from streamlit_app.shared.state import errors_shown, get_app

QUESTIONS, RESULTS, MAP = "questions", "results", "map"  # the own steps of the page


def follow(job_id: str) -> None:
    """Show the result of this job as soon as it ends."""
    st.session_state.mykb_job = job_id


def choose_set(set_id: str) -> None:
    """Show this set of questions."""
    st.session_state.mykb_set = set_id
    st.session_state.mykb_step = QUESTIONS


def take_ended(kb: KbRecord) -> None:
    """If the job that this session started has ended, choose its result. Call before drawing any widget."""
    job = _job(kb, st.session_state.get("mykb_job"))
    if job is None or job.status.active:
        return
    del st.session_state.mykb_job
    if job.kind == "run" and job.status.state == "done":
        st.session_state.mykb_result, st.session_state.mykb_step = job.made, RESULTS
    elif job.kind == "propose" and any(one.set_id == job.made for one in get_app().question_sets.sets(kb.kb_id)):
        choose_set(job.made)


def job_panel(kb: KbRecord) -> None:
    """Draw the running job, refreshed while it runs; otherwise why the latest job failed or stopped."""
    jobs = get_app().kb_evaluation.jobs(kb.kb_id)
    if not jobs:
        return
    if not jobs[0].status.active:
        if jobs[0].status.job_id == st.session_state.get("mykb_job"):
            st.rerun()  # it has ended since ``take_ended`` looked, and nothing else would draw its result
        _show_ended(jobs[0])
        return
    # After a reload the session no longer knows which job it started.
    job_id = st.session_state.mykb_job = jobs[0].status.job_id

    def draw() -> None:
        if (job := _job(kb, job_id)) is not None:
            _show_active(job)

    draw_live(lambda: (job := _job(kb, job_id)) is not None and job.status.active, draw, seen_active=True)


def busy(kb: KbRecord) -> bool:
    """Return whether a job is active for this knowledge base; only one may be."""
    return any(job.status.active for job in get_app().kb_evaluation.jobs(kb.kb_id))


def _job(kb: KbRecord, job_id: str | None) -> EvaluationJob | None:
    return next((job for job in get_app().kb_evaluation.jobs(kb.kb_id) if job.status.job_id == job_id), None)


def _show_active(job: EvaluationJob) -> None:
    status = job.status
    with st.container(border=True, key="mykb-job"):
        show_progress(status, f"**{plain(spoken(status.title))}** · {t(f'mykb.job.{job.kind}')}")
        stop_button(status, "mykb_stop", lambda: get_app().kb_evaluation.stop(status.job_id), Action.MEASURE)


def _show_ended(job: EvaluationJob) -> None:
    show_provider(job.status)
    show_end(job.status, t(f"mykb.ended.{job.kind}", title=plain(spoken(job.status.title))))

    def resume() -> None:
        get_app().runs.resume_run(job.made)
        follow(job.made)

    unfinished = any(run.run_id == job.made for run in get_app().archive.unfinished())
    if job.status.state == "done":
        return
    with st.container(horizontal=True):
        if unfinished:
            resume_button("mykb_resume", resume)
        discard_button("mykb_discard", lambda: _discard(job, unfinished))


def _discard(job: EvaluationJob, unfinished: bool) -> None:
    if unfinished:
        get_app().runs.discard_run(job.made)
    else:
        get_app().kb_evaluation.forget(job.status.job_id)


def set_names(sets: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return id -> "name · date" for each (id, name, time); repeated texts are completed with the end of the id.

    Streamlit sends a selection as its text, so two equal texts could not be told apart.
    """
    names: dict[str, str] = {}
    for key, name, when in sets:
        text = f"{name} · {moment(when)}"
        names[key] = f"{text} · {key[-6:]}" if text in names.values() else text
    return names


def run_set(kb: KbRecord, set_id: str) -> None:
    """Start a background job that evaluates the questions of a set."""
    with errors_shown():
        follow(get_app().kb_evaluation.start(kb.kb_id, set_id))
        st.rerun()
