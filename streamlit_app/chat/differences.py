"""Says in one line what an unsupported sentence says otherwise than its passage."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import AnswerRecord, Difference
from streamlit_app.chat.answer_text import safe_markdown
from streamlit_app.shared.i18n import t

_LONGEST = 90  # characters of a quotation: enough to find the words in the answer


def show_differences(answer: AnswerRecord) -> None:
    """Draw a line for each unsupported sentence of which it is known what differs."""
    told = [each.differences[0] for each in answer.statements if not each.supported and each.differences]
    for difference in dict.fromkeys(told):
        st.caption(f":orange[:material/difference:] {difference_text(difference)}")


def difference_text(difference: Difference) -> str:
    """Return a sentence about a difference, as Markdown."""
    said = safe_markdown(_short(difference.said), True)
    source = safe_markdown(_short(difference.source), True)
    if said and source:
        return t("chat.differs", said=said, source=source)
    if difference.kind == "negation":
        return t("chat.differs_denied", said=said) if said else t("chat.differs_denied_there", source=source)
    return t("chat.differs_here", said=said) if said else t("chat.differs_there", source=source)


def _short(words: str) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST].rsplit(' ', 1)[0]} …"
