"""Makes the text of a model safe to draw as Markdown: it keeps its formatting and its code, and nothing else.

Images, links, HTML, formulas, icons and diagrams are shown as text.
"""

from __future__ import annotations

import re

from chatbot_mvp.api import outside_code
from streamlit_app.shared.i18n import BREAK, Markdown

_LIVE = re.compile(
    r"""(?P<escaped>\\[!-/:-@\[-`{-~])
    |(?P<link>https?|www|@)
    |(?P<mark>[\[\]<&$]|:(?=[:A-Za-z+\d-]))""",
    re.VERBOSE | re.IGNORECASE,
)


def safe_markdown(text: str, whole: bool = True) -> Markdown:
    """Return a model's text as Markdown: with formatting, lists, tables and code, without what loads or links.

    Args:
        whole: False for a piece of a text, in which it is unknown what is code.
    """
    return Markdown(outside_code(text, _escaped, whole))


def _escaped(text: str) -> str:
    return _LIVE.sub(_replaced, text).replace(":material/", r":material\/")


def _replaced(found: re.Match[str]) -> str:
    text = found[0]
    if found.lastgroup == "link":
        return text + BREAK
    if found.lastgroup == "escaped":
        return text + (BREAK if text in (r"\:", r"\@") else "")
    return f"\\{text}{BREAK if text == ':' else ''}"
