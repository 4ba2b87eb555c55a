"""Background jobs: a panel with live progress, stop and resume, and the progress alone."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import JobStatus
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.i18n import Markdown, duration, moment, number, plain, score, t
from streamlit_app.shared.links import open_run
from streamlit_app.shared.metrics import metric_label
from streamlit_app.shared.runs import data_namer
from streamlit_app.shared.state import errors_shown, get_app, show_failed_job


def job_panel(place: str = "") -> None:
    """Draw active jobs with their progress, then runs that can be resumed. Refreshes only while a job is active.

    Args:
        place: makes the widget keys unique if a page has two panels.
    """
    active = any(job.active for job in get_app().runs.jobs())
    st.fragment(_live_panel, run_every=1 if active else None)(active, place)


def _live_panel(was_active: bool, place: str) -> None:
    jobs = get_app().runs.jobs()
    running = [job for job in jobs if job.active]
    if was_active and not running:
        # The last job ended: draw the whole page again, with its result and without the timer.
        st.rerun()
    for job in _in_order(running):
        _show_active(job, place)
    _show_last(jobs, place)
    _show_unfinished(place)
    if not running:
        st.caption(t("job.none"))


def progress_panel() -> None:
    """The progress of active jobs, without buttons, for a page that everybody may open; how those that failed since
    this session saw them at work ended. Refreshes itself while a job is active, and draws the page anew when one ends.
    """
    jobs = get_app().runs.jobs()
    active = [job.job_id for job in jobs if job.active]
    watched = st.session_state.setdefault("watched_jobs", set())
    watched.update(active)
    for job in jobs:
        if job.state == "failed" and job.job_id in watched:
            show_failed_job(job)
    if active:
        st.fragment(_live_progress, run_every=1)(active)


def _live_progress(active: Sequence[str]) -> None:
    running = [job for job in get_app().runs.jobs() if job.active]
    if [job.job_id for job in running] != active:
        st.rerun()
    for job in _in_order(running):
        with st.container(border=True):
            _show_progress(job)


def _in_order(jobs: Sequence[JobStatus]) -> list[JobStatus]:
    """The one at work first, then the queue in its order."""
    return sorted(jobs, key=lambda job: (job.state == "queued", job.job_id))


def _show_progress(job: JobStatus) -> None:
    st.markdown(f"**{plain(job.title)}** · {t(f'job.state.{job.state}')}")
    if job.phase:
        st.progress(min(1.0, job.done / job.total) if job.total else 0.0, progress_text(job))
    _show_means(job)


def _show_active(job: JobStatus, place: str) -> None:
    with st.container(border=True):
        _show_progress(job)
        waiting = job.state == "queued"
        if st.button(
            t("job.unqueue" if waiting else "job.stop"),
            key=f"{place}stop-{job.job_id}",
            icon=":material/playlist_remove:" if waiting else ":material/stop_circle:",
            disabled=job.state == "stopping",
        ):
            get_app().runs.stop_run(job.job_id)
            st.rerun()


def _show_means(job: JobStatus) -> None:
    """Draw the mean scores so far of a run, if its kind has any."""
    try:
        means = get_app().runs.so_far(job.job_id)
    except ChatbotError:
        return
    if any(scored for _, scored, _ in means.values()):
        parts = [
            t("job.mean", metric=metric_label(name), value=score(value), scored=number(scored), total=number(total))
            for name, (value, scored, total) in means.items()
            if scored
        ]
        st.caption(t("job.so_far", means=Markdown(" · ".join(parts))))


def progress_text(job: JobStatus) -> str:
    """Draw the phase, its progress, rate and time left, and the tokens and cost so far."""
    in_bytes = job.phase == "download"
    done, total = (number(value / 1e6, 1) if in_bytes else number(value) for value in (job.done, job.total))
    parts = [t(f"phase.{job.phase}", done=done, total=total if job.total else "?")]
    if job.rate is not None and not in_bytes:
        parts.append(t("job.rate", rate=number(job.rate, 1)))
    if job.seconds_left is not None:
        parts.append(t("job.left", time=duration(job.seconds_left)))
    if job.failed:
        parts.append(t("job.failures", count=number(job.failed)))
    if job.tokens:
        parts.append(t("job.tokens", count=number(job.tokens)))
    if job.cost_usd:
        parts.append(t("job.cost", cost=number(job.cost_usd, 4)))
    return " · ".join(parts)


def _show_last(jobs: list[JobStatus], place: str) -> None:
    """Show how the latest job ended, unless a user stopped it."""
    ended = max((job for job in jobs if not job.active), key=lambda job: job.updated_at, default=None)
    if ended is None:
        return
    if ended.state == "done":
        st.success(t("job.done", title=ended.title), icon=":material/check_circle:")
        if st.button(t("job.open"), key=f"{place}open-last", icon=":material/monitoring:"):
            open_run(ended.job_id)
    elif ended.state == "failed":
        show_failed_job(ended)


def _show_unfinished(place: str) -> None:
    data_name = data_namer()
    for run in get_app().archive.unfinished():
        with st.container(border=True):
            st.markdown(f"**{plain(data_name(run))} · {plain(run.strategy)}**")
            st.caption(
                t(
                    "job.unfinished",
                    when=moment(run.started_at),
                    recorded=number(run.recorded),
                    queries=number(run.queries),
                )
            )
            if st.button(t("job.resume"), key=f"{place}resume-{run.run_id}", icon=":material/play_circle:"):
                with errors_shown():
                    get_app().runs.resume_run(run.run_id)
                    st.rerun()
