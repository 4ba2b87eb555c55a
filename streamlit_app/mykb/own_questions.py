"""Step 1 begins with questions that people really ask: written, from the chat or said by a colleague.

Search shows passages that may answer each, in an order that says nothing, and none is chosen beforehand: the person
says which one does, points to another place, or says that the documents do not answer it. What is left open does not
count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from chatbot_mvp.api import ENOUGH_OWN, KbRecord, Proposed, Source, spoken_questions
from chatbot_mvp.settings.access import Action
from streamlit_app.mykb.jobs import busy, run_set
from streamlit_app.shared.guard import guarded, may
from streamlit_app.shared.i18n import bare, number, plain, t
from streamlit_app.shared.lasting import forget, lasting
from streamlit_app.shared.series import follow_series
from streamlit_app.shared.session import session_name
from streamlit_app.shared.sources import show_passage
from streamlit_app.shared.state import errors_shown, get_app

_NOWHERE, _ELSEWHERE = "nowhere", "elsewhere"
_LETTERS = "ABCDEFGH"
_OPEN: Literal["open"] = "open"
"""In place of a decision: there is none yet."""
_BOX_PX = 270  # ten lines
_LIST_PX = 520


def show_own(kb: KbRecord) -> bool:
    """Draw the box for questions or, once they have been searched, each with its passage.

    Return whether questions wait to be decided.
    """
    found: tuple[Proposed, ...] = st.session_state.get(_found_key(kb), ())
    if not found and _enough_in_chat(kb):
        _search(kb, get_app().own_questions.asked_in_chat(kb.kb_id, session_name()))
    if found:
        st.fragment(_decide)(kb, found)
        return True
    own = get_app().own_questions.own_set(kb.kb_id)
    count = len(own.kept) if own else 0
    if count >= ENOUGH_OWN and own is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="own-done"):
            st.markdown(f":material/check_circle: {t('own.have', count=number(count))}")
            _run_buttons(kb, own.set_id)
        with st.expander(t("own.more"), icon=":material/add_comment:"):
            _ask(kb)
        return False
    with st.container(border=True, key="own-questions"):
        st.header(t("own.title"), anchor=False)
        if count:
            st.progress(count / ENOUGH_OWN, t("own.progress", count=number(count), missing=number(ENOUGH_OWN - count)))
        _ask(kb)
    return False


def _ask(kb: KbRecord) -> None:
    st.markdown(t("own.about"))
    asked = get_app().own_questions.asked_in_chat(kb.kb_id, session_name())
    if asked:
        st.caption(f":material/forum: {t('own.from_chat', count=number(len(asked)))}")
    key = f"own-text-{kb.kb_id}-{len(asked)}"
    with st.form(f"own-form-{kb.kb_id}", border=False):
        text = st.text_area(
            t("own.box"),
            "\n".join(asked),
            height=_BOX_PX,
            placeholder=t("own.placeholder"),
            key=key,
            help=t("own.help"),
        )
        sent = st.form_submit_button(
            t("own.find"), type="primary", icon=":material/search:", key="own_find", **guarded(Action.CHANGE_QUESTIONS)
        )
    if not sent:
        return
    questions = spoken_questions(text)
    if not questions:
        st.warning(t("own.none"), icon=":material/warning:")
        return
    _search(kb, questions)


def _enough_in_chat(kb: KbRecord) -> bool:
    """Return whether the chat has questions enough to begin with, and nobody has put them back."""
    if st.session_state.get(f"own-back-{kb.kb_id}") or not may(Action.CHANGE_QUESTIONS):
        return False
    return len(get_app().own_questions.asked_in_chat(kb.kb_id, session_name())) >= ENOUGH_OWN


def _search(kb: KbRecord, questions: Sequence[str], found: tuple[Proposed, ...] = ()) -> None:
    """Search the questions, and draw the page again with their passages, below those that were found before."""
    if not found:
        forget(_kept_key(kb))
    with errors_shown(), st.spinner(t("own.searching", count=number(len(questions)))):
        st.session_state[_found_key(kb)] = (*found, *get_app().own_questions.find(kb.kb_id, questions))
        st.rerun()


def _decide(kb: KbRecord, found: tuple[Proposed, ...]) -> None:
    """Draw each question with its passages, and the buttons that keep and measure what was decided."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(t("own.check_title", count=number(len(found))), anchor=False, width="content")
        if st.button(t("own.back"), icon=":material/edit_note:", type="tertiary", key="own_back"):
            st.session_state.pop(_found_key(kb), None)
            st.session_state[f"own-back-{kb.kb_id}"] = True
            st.rerun()
    st.markdown(t("own.check_about"))
    # A new key for each, so that what was taken is not taken again.
    text = st.text_input(t("own.one"), key=f"own-one-{kb.kb_id}-{len(found)}", placeholder=t("own.one_hint"))
    if more := [asked for asked in spoken_questions(text) if all(asked != one.question for one in found)]:
        _search(kb, more, found)
    decided: dict[str, Source | None] = {}
    # A window of its own, so that the buttons below stay in sight, and the result comes into it.
    with st.container(height=_LIST_PX, border=False, key="own-list"):
        for place, proposed in enumerate(found):
            with st.container(border=True, key=f"own-{place}"):
                if (choice := _choice(kb, proposed, place)) != _OPEN:
                    decided[proposed.question] = choice

    def keep() -> str:
        made = get_app().own_questions.keep(kb.kb_id, t("mykb.name_own"), decided)
        still_open = tuple(one for one in found if one.question not in decided)
        st.session_state[_found_key(kb)] = still_open
        st.session_state.mykb_take_set = made.set_id
        return made.set_id

    said = t("own.decided", count=number(len(decided)), total=number(len(found)))
    st.caption(f"{said} {t('own.undecided')}" if len(decided) < len(found) else said)
    with st.container(horizontal=True):
        _run_buttons(kb, keep, ready=bool(decided))


def _choice(kb: KbRecord, proposed: Proposed, place: int) -> Source | Literal["open"] | None:
    """Draw a question and its passages, none of them chosen.

    Returns:
        The passage that was chosen, None if the documents do not answer the question, or "open" if nothing was chosen.
    """
    st.markdown(f"**{plain(proposed.question)}**")
    passages = dict(zip(_LETTERS, proposed.shuffled, strict=False))
    for letter, passage in passages.items():
        # Without highlights: they would show which passage search takes its answer from.
        st.caption(f"**{plain(letter)}** · {plain(passage.chunk.section)}")
        show_passage(passage.chunk, ())
    if not passages:
        st.caption(t("own.nothing"))
    labels = {letter: t("own.this", letter=letter) for letter in passages}
    labels |= {_ELSEWHERE: t("own.elsewhere"), _NOWHERE: t("own.nowhere")}
    key = _lasting(kb, proposed, "choice", place)
    choice = st.segmented_control(
        t("own.where"), list(labels), format_func=labels.__getitem__, key=key, label_visibility="collapsed"
    )
    if choice == _NOWHERE:
        st.caption(t("own.said_nowhere"))
        return None
    if choice == _ELSEWHERE:
        return _elsewhere(kb, proposed, place)
    return passages[choice] if choice else _OPEN


def _lasting(kb: KbRecord, proposed: Proposed, name: str, place: int) -> str:
    """Return the key of a widget whose value stays while another step is drawn, and if its question moves up."""
    own = proposed.question
    return lasting(f"own-{name}-{place}-{own}", "" if name == "words" else None, f"{_kept_key(kb)}-{name}-{own}")


def _elsewhere(kb: KbRecord, proposed: Proposed, place: int) -> Source | Literal["open"]:
    """Draw the box for words of the document that answer a question, and the paragraph that has them."""
    words = st.text_input(t("own.words"), max_chars=300, key=_lasting(kb, proposed, "words", place))
    if not words.strip():
        return _OPEN
    found = get_app().own_questions.passage_with(kb.kb_id, words)
    if found is None:
        st.warning(t("own.words_unknown"), icon=":material/search_off:")
        return _OPEN
    show_passage(found.chunk, found.highlights)
    return found


def _run_buttons(kb: KbRecord, made: str | Callable[[], str], ready: bool = True) -> None:
    """Draw the buttons that measure a set: the chat's own search, and all the ways to search.

    Args:
        made: id of the set, or what saves it and returns that.
        ready: whether there is something to measure.
    """
    off = busy(kb) or not ready
    measured = st.button(
        t("own.measure"),
        type="primary",
        icon=":material/play_arrow:",
        key="own_measure",
        **guarded(Action.MEASURE, t("own.measure_help"), off),
    )
    compared = st.button(
        t("own.compare"),
        icon=":material/compare_arrows:",
        key="own_compare",
        **guarded(Action.MEASURE, t("own.compare_help"), off),
    )
    if not (measured or compared):
        return
    with errors_shown():
        set_id = made if isinstance(made, str) else made()
        if compared:
            run_ids = get_app().kb_evaluation.start_strategies(kb.kb_id, set_id)
            follow_series(bare("own.series", kb=kb.kb_name), run_ids)
            st.rerun()
        else:
            run_set(kb, set_id)


def _kept_key(kb: KbRecord) -> str:
    return f"own-kept-{kb.kb_id}"


def _found_key(kb: KbRecord) -> str:
    return f"own-found-{kb.kb_id}"
