"""All texts of the pages, one catalogue per language; numbers and dates in the language's form."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path

import streamlit as st

LANGUAGE_NAMES = {"es": "Español", "en": "English"}
# As ``moment`` writes it, for a column of a table that sorts by time.
MOMENT_FORMAT = {"es": "DD/MM/YYYY HH:mm", "en": "YYYY-MM-DD HH:mm"}
_FOLDER = Path(__file__).resolve().parent.parent / "i18n"


@cache
def catalogue(language: str) -> dict[str, str]:
    """Key -> text."""
    texts: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    return texts


def choose_language(default: str) -> str:
    """Settle the session's language: chosen before, else in the address (a reload keeps it), else ``default``."""
    if "language" not in st.session_state:
        asked = st.query_params.get("lang", default)
        st.session_state.language = asked if asked in LANGUAGE_NAMES else default
    else:
        # A widget's state goes when its page does; writing it again keeps it for the session.
        st.session_state.language = st.session_state.language
    language: str = st.session_state.language
    if language == default:
        st.query_params.pop("lang", None)
    else:
        st.query_params["lang"] = language
    return language


def current_language() -> str:
    """The session's language."""
    language: str = st.session_state.get("language", "es")
    return language


def t(key: str, **values: object) -> str:
    """The text of a key in the session's language, with ``values`` filled in."""
    return catalogue(current_language())[key].format(**values)


def word(group: str, name: str) -> str:
    """The text of ``<group>.<name>``; a name that others may make up, and that has none, as it is."""
    return catalogue(current_language()).get(f"{group}.{name}", name)


def number(value: float, decimals: int = 0) -> str:
    """A number with the language's separators: 11.860 and 0,844 in Spanish."""
    text = f"{value:,.{decimals}f}"
    if current_language() == "es":
        text = text.translate(str.maketrans(",.", ".,"))
    return text


def score(value: float | None) -> str:
    """A metric with three decimals, or the words for *not scored*."""
    return t("common.not_scored") if value is None else number(value, 3)


def duration(seconds: float) -> str:
    """Seconds as a person says them: 8 s, 3 min 20 s, 1 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


def local_time(iso: str) -> datetime | None:
    """A point in time in the server's zone, without the zone's name; None for what is none."""
    try:
        return datetime.fromisoformat(iso).astimezone().replace(tzinfo=None)
    except ValueError:
        return None


def moment(iso: str) -> str:
    """A point in time in the server's zone: 21/11/2026 04:46."""
    local = local_time(iso)
    if local is None:
        return iso
    return local.strftime("%d/%m/%Y %H:%M" if current_language() == "es" else "%Y-%m-%d %H:%M")


def plain(text: str) -> str:
    """A text as Markdown that shows it as it is."""
    return re.sub(r"[\\`*{}\[\]|<>~$:#]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
