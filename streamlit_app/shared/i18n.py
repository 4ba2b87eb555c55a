"""Texts of the pages, one catalogue per language, and formatting of numbers and dates in that language."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path

import streamlit as st

from chatbot_mvp.errors import all_errors
from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.rows import Texts
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from streamlit_app.shared.lasting import lasting

LANGUAGE_NAMES = {"es": "Español", "en": "English"}
# The format of ``moment``, for table columns that sort by time.
MOMENT_FORMAT = {"es": "DD/MM/YYYY HH:mm", "en": "YYYY-MM-DD HH:mm"}
_FOLDER = Path(__file__).resolve().parent.parent / "i18n"


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the catalogue of a language: key -> text. A key that is added twice keeps its first text.

    What has its English in the core has it there only; ``en.json`` may have other words for pages.
    """
    texts: dict[str, str] = {}
    for more in added("texts", Texts).values():
        texts = {**more.of(language), **texts}
    own: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    texts |= own
    return texts if language == "es" else {**_english_of_core(catalogue("es")), **texts}


@cache
def words_of_streamlit(language: str) -> str:
    """Return Streamlit's own texts in a language, as JSON: English -> text; "{}" for English itself."""
    return json.dumps(json.loads((_FOLDER / "streamlit_words.json").read_text("utf-8")) if language == "es" else {})


def _english_of_core(wanted: Collection[str]) -> dict[str, str]:
    """Return the texts of errors, and of the settings for which there is a text to translate."""
    for path in (PROJECT_ROOT / "chatbot_mvp" / "wings").glob("*/errors.py"):
        import_module(f"chatbot_mvp.wings.{path.parent.name}.errors")
    # !r would escape the characters that escape Markdown in a value, so that quotation marks stand in its place.
    texts = {
        f"error.{code}": re.sub(r"\{(\w+)!r\}", r"“{\1}”", error.texts[code]) for code, error in all_errors().items()
    }
    texts |= {f"admin.setting.{name}": field.description or "" for name, field in Settings.model_fields.items()}
    return {key: text for key, text in texts.items() if key in wanted}


def choose_language(default: str) -> str:
    """Set and return the session's language: the one chosen, else the one in the URL, else ``default``.

    The URL keeps a language other than ``default``, so that a reload finds it.
    """
    asked = st.query_params.get("lang", default)
    language: str = st.session_state[lasting("language", asked if asked in LANGUAGE_NAMES else default)]
    if language != st.session_state.get("language_said", language):
        # The browser knows what is chosen by its text, in the language of before: it is to hear it again.
        for key, value in dict(st.session_state).items():
            if type(value) in (str, int) or (isinstance(value, list) and value and isinstance(value[0], str)):
                st.session_state[key] = value
    st.session_state.language_said = language
    if language == default:
        st.query_params.pop("lang", None)
    else:
        st.query_params["lang"] = language
    return language


def current_language() -> str:
    """Return the session's language."""
    language: str = st.session_state.get("language", "es")
    return language


class Markdown(str):
    """A text that Streamlit may read as Markdown: it is ours, or what is not ours in it is escaped.

    Wrap a text with it only if that is true of all its parts.
    """

    __slots__ = ()


def t(key: str, **values: object) -> str:
    """Return the text of a key in the session's language, as ``Markdown``.

    Args:
        values: values of its placeholders. All but numbers and ``Markdown`` are escaped, so that they appear literally.
    """
    return Markdown(bare(key, **{name: _shown(value) for name, value in values.items()}))


def bare(key: str, **values: object) -> str:
    """Return the text of a key for a place where Markdown is not read: tables, options of lists, charts, file names.

    Of a text "one | several", the second part is for a ``count``, or without one a ``k``, other than 1.
    """
    one, _, several = catalogue(current_language())[key].partition(" | ")
    return (several if several and str(values.get("count", values.get("k"))) != "1" else one).format(**values)


def t_or(key: str, otherwise: str, **values: object) -> str:
    """Return the text of a key as ``t`` does; ``otherwise``, escaped, if what was added brings no text for it."""
    return t(key, **values) if key in catalogue(current_language()) else plain(otherwise)


def word(group: str, name: str) -> str:
    """Return the text of ``<group>.<name>``; ``name`` itself if there is none, as with names from imported files.

    The name is not escaped, so the text is for tables and charts; ``plain`` makes it Markdown.
    """
    return catalogue(current_language()).get(f"{group}.{name}", name)


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters; one that is cut ends in "…"."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def number(value: float, decimals: int = 0) -> str:
    """Format a number with the language's separators: 11.860 and 0,844 in Spanish."""
    text = f"{round(value, decimals + 6):,.{decimals}f}"  # 100 * .575 is 57.49999…, which is no 57
    if current_language() == "es":
        text = text.translate(str.maketrans(",.", ".,"))
    return Markdown(text)


def score(value: float | None) -> str:
    """Format a metric with three decimals; None as *not scored*."""
    return t("common.not_scored") if value is None else number(value, 3)


def duration(seconds: float) -> str:
    """Format seconds: 8 s, 3 min 20 s, 1 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return Markdown(f"{whole} s")
    if whole < 3_600:
        return Markdown(f"{whole // 60} min {whole % 60} s")
    return Markdown(f"{whole // 3_600} h {whole % 3_600 // 60} min")


def duration_text(seconds: float) -> str:
    """Format seconds as ``duration`` does, with decimals for short times."""
    if seconds < 0.1:
        return Markdown(f"{number(1_000 * seconds, 0 if seconds >= 0.01 else 1)} ms")
    return Markdown(f"{number(seconds, 1 if seconds >= 1 else 2)} s") if seconds < 10 else duration(seconds)


def local_time(iso: str) -> datetime | None:
    """Convert an ISO 8601 time to a naive datetime in the server's zone; None if it is not a time."""
    try:
        return datetime.fromisoformat(iso).astimezone().replace(tzinfo=None)
    except (ValueError, OverflowError):  # no time, or one that no calendar has in the server's zone
        return None


def moment(iso: str) -> str:
    """Format an ISO 8601 time in the server's zone: 21/11/2026 04:46. Any other text is escaped."""
    local = local_time(iso)
    if local is None:
        return plain(iso)
    return Markdown(local.strftime("%d/%m/%Y %H:%M" if current_language() == "es" else "%Y-%m-%d %H:%M"))


def date_format() -> str:
    """Return the format of ``day``, for fields that ask for one."""
    return MOMENT_FORMAT[current_language()].partition(" ")[0]


def day(iso: str) -> str:
    """Format the day of an ISO 8601 date or time: 21/11/2026."""
    return Markdown(moment(f"{iso[:10]}T12:00:00").partition(" ")[0])


def ago(iso: str) -> str:
    """Say how long ago an ISO 8601 time was: hace 3 días. Any text that is no time gives ""."""
    local = local_time(iso)
    if local is None:
        return Markdown()
    seconds = (datetime.now() - local).total_seconds()
    for unit, length in (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if (count := int(seconds // length)) >= 1:
            return t(f"ago.{unit}", count=number(count))
    return t("ago.now")


_SYNTAX = re.compile(
    r"""(?P<link>https?(?=://)|www(?=\.)|@(?=[-\w]+\.))  # GitHub's Markdown makes links of these even if escaped
    |(?P<code>:(?=[\w+-]+:))                             # names of emojis and icons
    |(?P<mark>[\\`*{}\[\]|<>~$:\#&]|(?<!\w)_|_(?!\w)|(?<=:material)/)
    |(?P<line>^[ \t]*(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+=](?:\s|[-=]|$))))""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
BREAK = ":small[]"
"""Draws nothing. It separates characters that the browser would otherwise read together after removing escapes."""


def plain(text: str) -> str:
    """Escape a text so that Markdown shows it literally: no formatting, links, images, icons or formulas.

    A ``Markdown`` is returned unchanged.
    """
    return text if isinstance(text, Markdown) else Markdown(_SYNTAX.sub(_escaped, text))


def code(text: str) -> Markdown:
    """Return a text as inline code, which is shown literally whatever it contains."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    # Streamlit reads icons before it reads Markdown. Spaces beside a fence are not shown; code has one line.
    inside = " ".join(text.split()).replace(":material/", ":material\u200b/")
    return Markdown(f"{fence} {inside} {fence}" if longest else f"{fence}{inside}{fence}") if inside else Markdown()


def _escaped(found: re.Match[str]) -> str:
    kind, text = found.lastgroup, found[0]
    if kind == "link":
        return text + BREAK
    if kind == "code":
        return f"\\:{BREAK}"
    return text.strip() + "\\" if kind == "line" else f"\\{text}"


def _shown(value: object) -> object:
    return value if isinstance(value, int | float | Markdown) else plain(str(value))
