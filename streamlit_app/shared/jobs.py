"""Background jobs: their progress, stop, end and resumption, as every page draws them; the panel of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from chatbot_mvp.api import JobStatus
from chatbot_mvp.errors import ChatbotError, all_errors
from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Progress
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import Markdown, duration, moment, number, plain, score, t, word
from streamlit_app.shared.links import open_run
from streamlit_app.shared.metrics import dollars, metric_label
from streamlit_app.shared.runs import data_namer, spoken
from streamlit_app.shared.state import confirm, error_text, errors_shown, get_app


def draw_live(is_active: Callable[[], bool], draw: Callable[[], object], seen_active: bool = False) -> None:
    """Draw a part of the page, each second while ``is_active``; when that ends, the whole page without the timer.

    Args:
        seen_active: whether the caller has seen that it was; it may have ended since.
    """
    active, place = seen_active or is_active(), f"live-{is_active.__module__}.{is_active.__qualname__}"
    if st.session_state.get(place) and not active:
        # It has ended since the page began, and a list above may lack its result.
        st.session_state[place] = False
        st.rerun()
    st.session_state[place] = active
    st.fragment(_drawn, run_every=1 if active else None)(active, is_active, draw, place)


def _drawn(was_active: bool, is_active: Callable[[], bool], draw: Callable[[], object], place: str) -> None:
    if was_active and not is_active():
        st.session_state[place] = False
        st.rerun()
    draw()


def phase_name(name: str) -> str:
    """Return what is done in a phase; the name of one that this version does not know."""
    return word("phase", name).partition(":")[0]


def show_progress(job: JobStatus, title: str = "") -> None:
    """Draw what a job is and how far it is.

    Args:
        title: in Markdown; "" for the job's own.
    """
    said = f" · {t(f'job.state.{job.state}')}" if job.active else ""  # it may have ended since it was listed
    st.markdown(f"{title or f'**{plain(spoken(job.title))}**'}{said}")
    if job.phase:
        st.progress(share_done(job), progress_text(job))
    show_provider(job)


def share_done(progress: JobStatus | Progress) -> float:
    """Return how much of its phase is done, from 0 to 1; 0 if that is not known."""
    return min(1.0, progress.done / progress.total) if progress.total else 0.0


def phase_text(progress: JobStatus | Progress) -> str:
    """Return the phase with its counts, and the time left."""
    parts = [t(f"phase.{progress.phase}", done=number(progress.done), total=number(progress.total))]
    if progress.seconds_left is not None:
        parts.append(t("job.left", time=duration(progress.seconds_left)))
    return " · ".join(parts)


def progress_text(job: JobStatus) -> str:
    """Return the phase, its progress, rate and time left, and the tokens and cost so far."""
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
        parts.append(dollars(job.cost_usd))
    return " · ".join(parts)


def show_provider(job: JobStatus) -> None:
    """Say with which provider a job goes on, or went on, if another one was chosen while it ran."""
    if job.provider:
        st.info(t("job.provider", provider=job.provider), icon=":material/swap_horiz:")


def stop_button(job: JobStatus, key: str, stop: Callable[[], object], action: Action | None = None) -> None:
    """Draw the button that stops a job.

    Args:
        action: what the visitor must be allowed to do; None where only those who may see the button.
    """
    stopping, waiting = job.state == "stopping", job.state == "queued"
    if st.button(
        t("job.unqueue" if waiting else "job.stop"),
        key=key,
        icon=":material/playlist_remove:" if waiting else ":material/stop_circle:",
        **(guarded(action, disabled=stopping) if action else {"disabled": stopping}),
    ):
        stop()
        st.rerun()


def resume_button(key: str, resume: Callable[[], object]) -> None:
    """Draw the button that goes on with what was measured in part."""
    if st.button(t("job.resume"), key=key, icon=":material/play_circle:", **guarded(Action.MEASURE)):
        with errors_shown():
            resume()
            st.rerun()


def discard_button(key: str, discard: Callable[[], object], sure: str = "") -> None:
    """Draw the button that discards what failed or was stopped.

    Args:
        sure: what is asked first, in Markdown; "" if nothing is lost.
    """
    label = t("job.discard")
    if st.button(label, key=key, icon=":material/delete:", type="tertiary", **guarded(Action.MEASURE)):
        if sure:
            confirm(label, sure, f"{key}-sure", discard)
        else:
            with errors_shown():
                discard()
                st.rerun()


def show_end(job: JobStatus, stopped: str = "", title: str = "") -> None:
    """Say that a job failed, and why, or that it was stopped.

    Args:
        stopped: what is said of a stopped job; "" for nothing.
        title: in Markdown; "" for the job's own.
    """
    if job.state == "failed":
        code = job.error_code or ""
        known = all_errors().get(code)
        if known is None:  # unexpected, or of a package that is gone: the id to look up in the log
            reason = t("job.failed_unknown", job_id=job.job_id)
        else:
            reason = error_text(known(code, **job.error_params))
        st.error(t("job.failed", title=title or plain(spoken(job.title)), error=reason), icon=":material/error:")
    elif stopped and job.state in ("stopped", "interrupted"):
        st.warning(stopped, icon=":material/block:")


def job_panel(place: str = "") -> None:
    """Draw active runs with their progress, how the last one ended, and those that can be resumed.

    Args:
        place: makes the widget keys unique if a page has two panels.
    """

    stop = get_app().runs.stop_run

    def draw() -> None:
        jobs = get_app().runs.jobs()
        _show_active(jobs, lambda job: stop_button(job, f"{place}stop-{job.job_id}", partial(stop, job.job_id)))
        _show_last(jobs, place)
        _show_unfinished(place)
        if not any(job.active for job in jobs):
            st.caption(t("job.none"))

    draw_live(lambda: any(job.active for job in get_app().runs.jobs()), draw)


def progress_panel() -> None:
    """The progress of active runs, without buttons, for a page that everybody may open; how those that failed since
    this session saw them at work ended. The page is drawn anew when one begins or ends.
    """
    jobs = get_app().runs.jobs()
    active = [job.job_id for job in jobs if job.active]
    watched = st.session_state.setdefault("watched_jobs", set())
    watched.update(active)
    for job in jobs:
        if job.job_id in watched:
            show_end(job)

    def unchanged() -> bool:
        return [job.job_id for job in get_app().runs.jobs() if job.active] == active

    if active:
        draw_live(unchanged, lambda: _show_active(get_app().runs.jobs(), lambda job: None), seen_active=True)


def _show_active(jobs: Sequence[JobStatus], draw_more: Callable[[JobStatus], None]) -> None:
    """Draw the active runs: the one at work first, then the queue in its order."""
    for job in sorted((job for job in jobs if job.active), key=lambda job: (job.state == "queued", job.job_id)):
        with st.container(border=True):
            show_progress(job)
            _show_means(job)
            draw_more(job)


def _show_means(job: JobStatus) -> None:
    """Draw the mean scores so far of a run, if its kind has any."""
    try:
        means = get_app().runs.so_far(job.job_id)
    except ChatbotError:
        return
    parts = [
        f"{plain(metric_label(name))} {score(value)} ({number(scored)}/{number(total)})"
        for name, (value, scored, total) in means.items()
        if scored
    ]
    if parts:
        st.caption(t("job.so_far", means=Markdown(" · ".join(parts))))


def _show_last(jobs: Sequence[JobStatus], place: str) -> None:
    """Show how the latest job ended, unless a user stopped it."""
    ended = max((job for job in jobs if not job.active), key=lambda job: job.updated_at, default=None)
    if ended is None:
        return
    show_end(ended)
    runs = get_app().runs
    if ended.state == "failed" and all(run.run_id != ended.job_id for run in get_app().archive.unfinished()):
        discard_button(f"{place}forget-last", partial(runs.discard_run, ended.job_id))
    if ended.state == "done":
        st.success(t("job.done", title=spoken(ended.title)), icon=":material/check_circle:")
        if st.button(t("job.open"), key=f"{place}open-last", icon=":material/monitoring:"):
            open_run(ended.job_id)


def _show_unfinished(place: str) -> None:
    data_name = data_namer()
    for run in get_app().archive.unfinished():
        with st.container(border=True):
            st.markdown(f"**{plain(data_name(run))} · {plain(spoken(run.strategy))}**")
            recorded, queries = number(run.recorded), number(run.queries)
            st.caption(t("job.unfinished", when=moment(run.started_at), recorded=recorded, queries=queries))
            with st.container(horizontal=True):
                resume_button(f"{place}resume-{run.run_id}", partial(get_app().runs.resume_run, run.run_id))
                discard_button(
                    f"{place}discard-{run.run_id}",
                    partial(get_app().runs.discard_run, run.run_id),
                    t("job.discard_sure", recorded=recorded),
                )


def with_jobs(show_launcher: Callable[[], bool], place: str = "") -> None:
    """A launcher and the jobs: above it while one is active and once this session has launched one, else below.

    Args:
        show_launcher: draws the form; True when it has just launched something.
        place: tells the widgets of two panels on one page apart.
    """
    above = st.session_state.get("has_launched") or any(job.active for job in get_app().runs.jobs())
    if st.session_state.pop(f"{place}just_launched", False):
        # In view in any window, whatever the launcher's height.
        st.toast(t("job.launched"), icon=":material/play_circle:")
    if above:
        st.header(t("job.title"), anchor=f"{place}jobs")
        job_panel(place)
    if show_launcher():
        st.session_state["has_launched"] = st.session_state[f"{place}just_launched"] = True
        st.rerun()
    if above:
        st.markdown(f":material/arrow_upward: [{t('job.above')}](#{place}jobs)")
    else:
        st.header(t("job.title"))
        job_panel(place)
