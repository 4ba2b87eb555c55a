"""Runs that are started together to be compared: their progress, and their comparison as soon as all have ended."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from chatbot_mvp.api import JobStatus
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.jobs import draw_live, phase_text, share_done, show_end, stop_button
from streamlit_app.shared.links import open_comparison
from streamlit_app.shared.runs import spoken
from streamlit_app.shared.state import get_app

_SERIES = "series"


def follow_series(title: str, run_ids: Sequence[str]) -> None:
    """Follow runs that were queued together; the comparison of those that finish opens by itself.

    Args:
        run_ids: the base of the comparison first.
    """
    st.session_state[_SERIES] = (title, list(run_ids))


def series_panel(place: str = "series") -> bool:
    """Draw the runs that this session started together, and return whether some are at work. Once all have ended, leave
    for their comparison. ``place`` tells the panels of one page apart."""
    if _SERIES not in st.session_state:
        return False
    title, run_ids = st.session_state[_SERIES]
    jobs = _jobs(run_ids)
    if any(job.active for job in jobs):
        draw_live(lambda: any(job.active for job in _jobs(run_ids)), partial(_show, title, run_ids, place), True)
        return True
    del st.session_state[_SERIES]
    finished = {run.run_id for run in get_app().archive.runs()[0]}
    done = [run_id for run_id in run_ids if run_id in finished]
    if len(done) > 1:
        open_comparison(done)
    for job in jobs:
        show_end(job, t("series.stopped"))
    return False


def _jobs(run_ids: Sequence[str]) -> list[JobStatus]:
    return [job for job in get_app().runs.jobs() if job.job_id in run_ids]


def _show(title: str, run_ids: Sequence[str], place: str) -> None:
    jobs = _jobs(run_ids)
    ended = len(run_ids) - sum(job.active for job in jobs)
    with st.container(border=True, key=place):
        st.markdown(f"**{plain(title)}** · {t('series.done', done=number(ended), total=number(len(run_ids)))}")
        for job in jobs:
            if job.active:
                said = phase_text(job) if job.phase else t("series.waiting")
                st.progress(share_done(job), f"{plain(spoken(job.title))} · {said}")
                stop = partial(get_app().runs.stop_run, job.job_id)
                stop_button(job, f"{place}_stop_{job.job_id}", stop, Action.MEASURE)
