"""Texts of the pages, one catalogue per language, and formatting of numbers and dates in that language."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path

import streamlit as st

LANGUAGE_NAMES = {"es": "Español", "en": "English"}
# The format of ``moment``, for table columns that sort by time.
MOMENT_FORMAT = {"es": "DD/MM/YYYY HH:mm", "en": "YYYY-MM-DD HH:mm"}
_FOLDER = Path(__file__).resolve().parent.parent / "i18n"


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the catalogue of a language: key -> text."""
    texts: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    return texts


def choose_language(default: str) -> str:
    """Set and return the session's language: the one chosen, else the one in the URL, else ``default``.

    The URL keeps a language other than ``default``, so that a reload finds it.
    """
    if "language" not in st.session_state:
        asked = st.query_params.get("lang", default)
        st.session_state.language = asked if asked in LANGUAGE_NAMES else default
    else:
        # Streamlit drops a widget's state when its page is left; writing it again keeps it for the session.
        st.session_state.language = st.session_state.language
    language: str = st.session_state.language
    if language == default:
        st.query_params.pop("lang", None)
    else:
        st.query_params["lang"] = language
    return language


def current_language() -> str:
    """Return the session's language."""
    language: str = st.session_state.get("language", "es")
    return language


def t(key: str, **values: object) -> str:
    """Return the text of a key in the session's language, with ``values`` in its placeholders."""
    return catalogue(current_language())[key].format(**values)


def word(group: str, name: str) -> str:
    """Return the text of ``<group>.<name>``; ``name`` itself if there is none, as with names from imported files."""
    return catalogue(current_language()).get(f"{group}.{name}", name)


def number(value: float, decimals: int = 0) -> str:
    """Format a number with the language's separators: 11.860 and 0,844 in Spanish."""
    text = f"{value:,.{decimals}f}"
    if current_language() == "es":
        text = text.translate(str.maketrans(",.", ".,"))
    return text


def score(value: float | None) -> str:
    """Format a metric with three decimals; None as *not scored*."""
    return t("common.not_scored") if value is None else number(value, 3)


def duration(seconds: float) -> str:
    """Format seconds: 8 s, 3 min 20 s, 1 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


def local_time(iso: str) -> datetime | None:
    """Convert an ISO 8601 time to a naive datetime in the server's zone; None if it is not a time."""
    try:
        return datetime.fromisoformat(iso).astimezone().replace(tzinfo=None)
    except ValueError:
        return None


def moment(iso: str) -> str:
    """Format an ISO 8601 time in the server's zone: 21/11/2026 04:46. Any other text is returned unchanged."""
    local = local_time(iso)
    if local is None:
        return iso
    return local.strftime("%d/%m/%Y %H:%M" if current_language() == "es" else "%Y-%m-%d %H:%M")


def plain(text: str) -> str:
    """Escape a text so that Markdown shows it literally."""
    return re.sub(r"[\\`*{}\[\]|<>~$:#]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
