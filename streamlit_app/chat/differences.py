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
    said, source = _short(difference.said), _short(difference.source)
    key = "chat.differs" if said and source else "chat.differs_here" if said else "chat.differs_there"
    if difference.kind == "negation" and not (said and source):
        key = "chat.differs_denied" if said else "chat.differs_denied_there"
    if difference.kind == "role":
        key = "chat.differs_role"
    return t(key, said=safe_markdown(said, True), source=safe_markdown(source, True))


def _short(words: str) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST].rsplit(' ', 1)[0]} …"
