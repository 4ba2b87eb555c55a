"""Guided first run: sample knowledge base, question, benchmark, result. Progress is derived from existing data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from chatbot_mvp.api import JobStatus, UserContext, kb_reference
from chatbot_mvp.settings.access import Action
from streamlit_app.knowledge_bases.upload import take_sample
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import bare, number, plain, t
from streamlit_app.shared.jobs import draw_live, phase_text, share_done, show_end
from streamlit_app.shared.links import open_run
from streamlit_app.shared.runs import spoken
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import PAGES, active_kb, errors_shown, get_app, leave_for
from streamlit_app.shared.style import card_grid

STEPS = ("kb", "ask", "measure", "read")
_ICONS = {"kb": ":material/library_add:", "ask": ":material/forum:", "measure": ":material/speed:"}

_SIGNS: dict[str, tuple[str, Literal["green", "blue", "gray"]]] = {
    "done": (":material/check_circle:", "green"),
    "now": (":material/arrow_circle_right:", "blue"),
    "later": (":material/radio_button_unchecked:", "gray"),
}
_ACTIONS = {"kb": Action.UPLOAD, "ask": Action.ASK, "measure": Action.MEASURE}
_RUN: dict[str, Any] = {"retrieval_strategy": "BRIDGE", "provider": "demo", "generation_enabled": False}
_RUN |= {"eval_max_queries": 0, "dev_mode": False}
"""It takes seconds and costs nothing with any provider: it needs neither vectors nor a model."""
_PROPOSED = 10
"""Questions of a document that has none."""


@dataclass(frozen=True)
class TourState:
    """Progress of the guided first run, derived from the data folder and this session."""

    done: frozenset[str]
    job: JobStatus | None  # the active benchmark, or the ended one that this session started
    result: str  # the run to open; "" before there is one

    @property
    def next(self) -> str:
        """The first step that is not done; "" if all are done."""
        return next((step for step in STEPS if step not in self.done), "")


def tour_state() -> TourState:
    """Return how far the tour has come with the base of this session.

    Computed each time, so it survives reloads and reflects other sessions.
    """
    app, record = get_app(), active_kb()
    kb_id = record.kb_id if record else ""
    runs = [run for run in app.archive.runs()[0] if run.dataset.startswith(f"{kb_id}/")]
    own = st.session_state.get("tour_run", "")
    jobs = [job for job in app.runs.jobs() if job.active or job.job_id == own]
    job = next((job for job in jobs if job.job_id == own), jobs[0] if jobs else None)
    steps = {
        "kb": bool(kb_id),
        "ask": any(head.turns and kb_id in head.kb_ids for head in app.chat.heads(session_name())),
        "measure": bool(runs),
        "read": bool(runs) and st.session_state.get("tour_read", False),
    }
    done = frozenset(step for step, is_done in steps.items() if is_done)
    finished = [run.run_id for run in runs]
    return TourState(done, job, own if own in finished else finished[0] if finished else "")


def keep_tour() -> None:
    """Keep in the URL whether the tour is shown, so that a reload preserves it. Called on every page."""
    given = st.query_params.get("tour")
    if "tour" not in st.session_state and given in ("on", "off"):
        st.session_state.tour = given
    if wanted := st.session_state.get("tour"):
        st.query_params["tour"] = wanted


def show_tour() -> None:
    """Draw the steps with a button for the next one; a button that shows them unless the tour was begun."""
    state = tour_state()
    if st.session_state.get("tour") != "on":
        st.button(t("tour.show"), key="tour-show", icon=":material/tour:", type="tertiary", on_click=_begin_again)
        return
    with st.container(border=True, key="tour"):
        title, close = st.columns([5, 1.4], vertical_alignment="center")
        title.header(t("tour.title"), anchor=False)
        close.button(t("tour.dismiss"), key="tour-dismiss", icon=":material/close:", type="tertiary", on_click=_dismiss)
        st.progress(len(state.done) / len(STEPS), t("tour.done", done=len(state.done), total=len(STEPS)))
        with card_grid("tour-steps", narrowest=340):
            for position, step in enumerate(STEPS):
                with st.container(key=f"tour-step-{step}"):
                    _show_step(position, step, state)
        if not state.next:
            st.success(t("tour.finished"), icon=":material/celebration:")
            with st.container(horizontal=True):
                for page, key in (("chat", "tour.own_ask"), ("mykb", "tour.own_measure"), ("admin", "tour.public")):
                    st.page_link(PAGES[page][0], label=t(key), icon=PAGES[page][1])


def show_tour_in_result() -> None:
    """Draw the way to one's own documents on the page of the result that ended the tour."""
    if not st.session_state.get("tour_read") or st.session_state.get("tour") != "on":
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="tour-in-result"):
        st.markdown(f":material/tour: {t('tour.own_text')}")
        if st.button(t("tour.own"), key="tour-own-result", icon=":material/upload_file:", type="primary"):
            leave_for("chat")


def show_tour_in_chat(asked: bool) -> None:
    """Draw one line on how to continue the tour from the chat; nothing if the tour is not active."""
    if st.session_state.get("tour") != "on":
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="tour-in-chat"):
        st.markdown(f":material/tour: {t('tour.chat_asked' if asked else 'tour.chat_ready')}")
        if asked and st.button(t("tour.go_on"), key="tour-go-on", icon=":material/arrow_forward:", type="primary"):
            leave_for("home")


def _show_step(position: int, step: str, state: TourState) -> None:
    at = "done" if step in state.done else "now" if step == state.next else "later"
    icon, colour = _SIGNS[at]
    st.badge(t(f"tour.state.{at}"), icon=icon, color=colour)
    st.markdown(f"**{number(position + 1)}. {t(f'tour.{step}.title')}**")
    st.caption(t(f"tour.{step}.text"))
    if step == state.next:
        _show_action(step, state)


def _show_action(step: str, state: TourState) -> None:
    """Draw the button of a step; while the benchmark runs, its progress instead."""
    if state.job is not None and state.job.active and step in ("measure", "read"):
        _watch(state.job.job_id)
        return
    if step == "measure" and state.job is not None:
        show_end(state.job, t("series.stopped"))
    if not st.button(
        t(f"tour.{step}.button"),
        key=f"tour-go-{step}",
        type="primary",
        icon=_ICONS.get(step, ":material/monitoring:"),
        width="stretch",
        **guarded(_ACTIONS.get(step, Action.READ)),
    ):
        return
    st.session_state.tour = "on"
    keep_tour()
    if step == "kb":
        if take_sample() is not None:
            st.rerun(scope="app")
    elif step == "ask":
        _ask()
    elif step == "measure":
        _measure()
    else:
        st.session_state.tour_read = True
        open_run(state.result)


def _ask() -> None:
    """Open the chat with a sample question, which the knowledge base answers, already in the input."""
    record = active_kb()
    if record is None:
        return  # deleted since this page was drawn
    with errors_shown():
        questions = get_app().answering.first_questions([record.kb_id], UserContext())
        if questions:
            st.session_state.kb_id, st.session_state.chat_draft = record.kb_id, questions[0]
        leave_for("chat")


def _measure() -> None:
    """Run the newest questions of the document that is asked; without any, the bundled ones or some that rules make."""
    app, record = get_app(), active_kb()
    if record is None:
        return  # deleted since this page was drawn
    with errors_shown():
        sample = next((app.settings.samples_dir / "kb").glob("*.md"))
        if not (sets := app.question_sets.sets(record.kb_id)):
            if record.files == (sample.name,):
                bundled = next(sample.parent.glob("*.jsonl"))
                sets = [app.question_sets.import_set(record.kb_id, bundled.name, bundled.read_bytes())]
            else:
                found = app.kb_evaluation.propose_now(record.kb_id, _PROPOSED, use_model=False)
                sets = [app.question_sets.save(replace(found, name=bare("tour.measure.title")))]
        asked = kb_reference(record.kb_id, sets[0].set_id)
        st.session_state.tour_run = app.runs.start_run(mteb_dataset_name=asked, **_RUN)
        st.rerun()


def _watch(job_id: str) -> None:
    def job() -> JobStatus | None:
        return next((job for job in get_app().runs.jobs() if job.job_id == job_id and job.active), None)

    def draw() -> None:
        if (found := job()) is not None:
            phase = [phase_text(found)] if found.phase else []
            st.progress(share_done(found), " · ".join([plain(spoken(found.title)), *phase]))

    draw_live(lambda: job() is not None, draw, seen_active=True)


def _dismiss() -> None:
    st.session_state.tour = "off"


def _begin_again() -> None:
    st.session_state.tour = "on"
    st.session_state.pop("tour_read", None)
