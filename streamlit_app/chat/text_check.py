"""Checks any text against the documents of a knowledge base, sentence by sentence, as ``chatbot-mvp check`` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from chatbot_mvp.api import Difference, KbRecord, check_in_base
from streamlit_app.chat.differences import difference_text
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import errors_shown, get_app

_MOST_CHARS = 20_000
_SIGNS = {
    "tick": ":green[:material/check_circle:]",
    "part": ":gray[:material/rule:]",
    "differs": ":orange[:material/difference:]",
    "nowhere": ":red[:material/block:]",
}


def check_box(kb: KbRecord) -> None:
    """Draw the box, folded, and below it what was found for each sentence of its text."""
    with st.expander(t("check.title"), icon=":material/fact_check:"):
        st.caption(t("check.about", name=kb.kb_name))
        with st.form("check-form", border=False):
            text = st.text_area(t("kbdoc.view.text"), max_chars=_MOST_CHARS, height=160, key="check-area")
            sent = st.form_submit_button(t("check.do"), key="check-do")
        if sent and text.strip():
            with errors_shown():
                for one in check_in_base(text, get_app().kbs, kb.kb_id).statements:
                    _sentence(one)


def _sentence(one: Mapping[str, Any]) -> None:
    found = one["found"]
    state = "tick" if one["tick"] else "part" if one["supported"] else "differs" if found else "nowhere"
    st.markdown(f"{_SIGNS[state]} **{t(f'check.{state}')}** · {plain(' '.join(one['text'].split()))}")
    lines = [f":orange[{difference_text(Difference(**each))}]" for each in one["differences"]]
    if found is not None:
        page = t("check.page", page=number(found["page"])) if found["page"] else ""
        place = " · ".join(plain(part) for part in (found["file"] or "", page, found["section"]) if part)
        lines.append(f"{place}: {plain(' '.join(found['text'].split()))}")
    for line in lines:
        st.caption(line)
