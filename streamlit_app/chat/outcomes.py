"""What the chat shows around an answer: its outcome, the nearest passages, and questions to ask with one click."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from chatbot_mvp.api import (
    OUTCOMES,
    AnswerRecord,
    Conversation,
    KbRecord,
    Nearest,
    Source,
    Turn,
    UserContext,
    age_of,
    lacks,
    purged_on,
)
from chatbot_mvp.errors import ChatbotError
from streamlit_app.chat.asking import Asking, ask
from streamlit_app.shared.i18n import Markdown, current_language, day, number, plain, t
from streamlit_app.shared.originals import address_of
from streamlit_app.shared.sources import show_passages
from streamlit_app.shared.state import get_app
from streamlit_app.shared.style import card_grid

_ICONS = {
    "answered": ":green[:material/check_circle:]",
    "asks": ":blue[:material/alt_route:]",
    "nearest": ":orange[:material/contact_support:]",
    "refused": ":red[:material/block:]",
}
_UNTICKED = {**_ICONS, "answered": ":gray[:material/rule:]"}
_REASONS = ("relevance", "declined", "unsupported")
"""Reasons that a reader cannot see otherwise; the evidence is in the facts of every answer."""
_SUGGESTIONS = 4
"""Suggested questions at most, shared among the knowledge bases; each has at least one."""


def show_outcome(answer: AnswerRecord) -> None:
    """Draw, above passages that are no answer, what they are, how many, and their age if it is notable."""
    nearest = answer.nearest.passages if answer.nearest and answer.outcome == "nearest" else ()
    passages = [one for one in nearest if not purged_on(one.chunk.text)]
    icon, said = _ICONS[answer.outcome], [t(f"outcome.{answer.outcome}")] if answer.mode == "strict" else []
    if passages:
        count = len(passages)
        said.append(t("outcome.passages.nearest", count=number(count)))
        said += _notes(passages)
    if answer.outcome == "nearest" and answer.mode == "strict":
        said.insert(1, t("outcome.not_found"))
        st.markdown(_quiet_line(icon, said))
    elif said:
        st.caption(_quiet_line(icon if answer.mode == "strict" else "", said))
    show_reason(answer)


def show_reason(answer: AnswerRecord) -> None:
    """Draw why there is no answer, where a reader could not see it otherwise."""
    if answer.why in _REASONS and not (answer.why == "declined" and answer.fell_back):  # as older records say
        st.caption(t(f"outcome.why.{answer.why}"))


def outcome_words(turn: Turn, answer: AnswerRecord) -> Markdown:
    """Return the sign and the words of an outcome for the row below an answer; "" in general mode, which has none.

    The row says nothing of passages that stand above it with words of their own.
    """
    if answer.outcome == "answered" and answer.chosen:
        return _quiet_line(":gray[:material/touch_app:]", [t("outcome.chosen")])
    if answer.is_outline:
        return _quiet_line(":gray[:material/toc:]", [t("outcome.outline")])
    if answer.outcome == "answered" and turn.answer_in:
        return _quiet_line(":gray[:material/translate:]", [t(f"outcome.in.{turn.answer_in}")])
    above = answer.nearest is not None and (answer.outcome == "asks" or bool(answer.nearest.passages))
    if answer.mode != "strict" or above or answer.is_talk:
        return Markdown("")
    if answer.outcome == "answered" and not answer.tick:
        return _quiet_line(_UNTICKED["answered"], [t("outcome.partly" if answer.unsupported else "outcome.unchecked")])
    return _quiet_line(_ICONS[answer.outcome], [t(f"outcome.{answer.outcome}")])


def source_count(answer: AnswerRecord) -> tuple[str, str]:
    """Return how many sources an answer has, and what is notable of them: a great age, files not read whole."""
    count = len(answer.sources)
    said = t("outcome.passages.answered", count=number(count))
    return said, " · ".join(_notes(answer.sources))


def _quiet_line(icon: str, said: Sequence[str]) -> Markdown:
    """Return an icon and texts of the catalogue as one line, the first text bold."""
    return Markdown(f"{icon} **{said[0]}**".strip() + "".join(f" · {part}" for part in said[1:]))


def _notes(passages: Sequence[Source]) -> list[str]:
    """Return how old the oldest passage is, if that is a year or more, and which files could not be read whole."""
    oldest = min((one.place.updated_at for one in passages if one.place and one.place.updated_at), default="")
    unit, count = age_of(oldest)
    said = [t("outcome.old", count=number(count))] if unit in ("year", "years") else []
    files = dict.fromkeys(one.place.file for one in passages if one.place and _lacks(address_of(one), one.place.page))
    return [*said, t("outcome.lacks", files=plain(", ".join(files)))] if files else said


def _lacks(address: Mapping[str, str], page: int | None) -> bool:
    with suppress(ChatbotError):  # its version may no longer be kept
        return bool(address) and lacks(
            get_app().kb_documents.find(address["kb"], address["document"], address["version"]), page
        )
    return False


def show_nearest(turn: Turn, nearest: Nearest, asks: bool) -> None:
    """Draw the nearest passages, the first one open, each with the button to answer from it, and what may be meant.

    Args:
        asks: whether the buttons may ask.
    """
    key = turn.turn_id
    gone = sorted({purged_on(source.chunk.text) for source in nearest.passages} - {""})
    for iso in gone:  # one note for all that a purge took out
        st.caption(f":material/delete_forever: {t('chat.cited.purged', day=day(iso))}")
    for row, source in enumerate(one for one in nearest.passages if not purged_on(one.chunk.text)):
        show_passages([source], opened=row == 0)
        st.button(
            t("nearest.answer"),
            key=f"answer-{key}-{row}",
            icon=":material/touch_app:",
            disabled=not asks,
            help=t("nearest.answer_help"),
            on_click=ask,
            args=(Asking(turn.question, turn.after, source.chunk),),
        )
    if nearest.did_you_mean:
        st.markdown(t("nearest.meant"))
        with st.container(horizontal=True, key=f"meant-{key}"):
            for row, suggestion in enumerate(nearest.did_you_mean):
                icon = "spellcheck" if suggestion.kind == "spelling" else "toc"
                _ask_button(Asking(suggestion.question), f"meant-{key}-{row}", icon, asks)


def show_readings(turn: Turn, readings: Nearest, asks: bool) -> None:
    """Draw the readings of a question; a click asks the clear question.

    Args:
        asks: whether the buttons may ask.
    """
    st.caption(t("outcome.readings"))
    pairs = zip(readings.did_you_mean, readings.passages, strict=True)
    for row, (reading, passage) in enumerate(pairs):
        clear = Asking(reading.question, turn.after, is_reading=True)
        _ask_button(clear, f"reading-{turn.turn_id}-{row}", "subdirectory_arrow_right", asks)
        show_passages([passage])


def show_hint(answer: AnswerRecord) -> None:
    """Draw the hint to rephrase a question that got a fixed reply."""
    if answer.abstained:
        st.caption(f":material/edit: {t('nearest.rephrase')}")


def show_counts(conversation: Conversation) -> None:
    """Draw how many questions of a conversation had each outcome. Draws nothing before the first answer."""
    counts = conversation.outcomes
    icons = _ICONS if all(one.tick for one in conversation.counted if one.outcome == "answered") else _UNTICKED
    if any(counts.values()):
        said = {name: t(f"outcome.turns.{name}", count=number(counts[name])) for name in OUTCOMES if counts[name]}
        st.caption(" · ".join(f"{icons[name]} {text}" for name, text in said.items()))


def _once(slot: str, key: object, find: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Return questions that are found once: later runs of the script keep them."""
    if st.session_state.get(slot, (None,))[0] != key:
        try:
            st.session_state[slot] = key, find()
        except ChatbotError:
            return ()  # the user will see the error when asking a question
    found: Sequence[str] = st.session_state[slot][1]
    return found


def show_follow_ups(kbs: Sequence[KbRecord], turns: Sequence[Turn], context: UserContext) -> None:
    """Draw a button per question that may follow the last answer."""
    key = (turns[-1].turn_id, *(kb.version for kb in kbs), context.documents, current_language())
    ids, answering = [kb.kb_id for kb in kbs], get_app().answering
    questions = _once("chat_follow_ups", key, lambda: answering.follow_ups(ids, turns, context))
    if not questions:
        return
    st.caption(t("chat.follow_ups"))
    with st.container(horizontal=True, key="follow-ups"):
        for row, question in enumerate(questions):
            _ask_button(Asking(question), f"follow-up-{turns[-1].turn_id}-{row}", "subdirectory_arrow_right")


def suggestions(kbs: Sequence[KbRecord], context: UserContext) -> None:
    """Draw one button per suggestion about the chosen documents, which asks the question. Each is searched before."""
    key = (tuple((kb.kb_id, kb.version) for kb in kbs), context)
    ids, answering = [kb.kb_id for kb in kbs], get_app().answering
    questions = _once("chat_suggested", key, lambda: answering.first_questions(ids, context, _SUGGESTIONS))
    if not questions:
        return
    with card_grid("suggestions", narrowest=320):
        for row, question in enumerate(questions):
            _ask_button(Asking(question), f"suggested-{row}", "lightbulb", width="stretch")


def _ask_button(asking: Asking, key: str, icon: str, asks: bool = True, **options: Any) -> None:
    """Draw a question as a button that asks it, if buttons may ask."""
    icon, said = f":material/{icon}:", plain(asking.question)
    st.button(said, key=key, icon=icon, disabled=not asks, on_click=ask, args=(asking,), **options)
