"""Draws what changed between two versions: by document, and within a document by paragraph."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

import streamlit as st

from chatbot_mvp.api import DocumentDifference, ParagraphDifference
from streamlit_app.shared.i18n import Markdown, number, plain, t

_ICONS = {
    "added": ":green[:material/add_circle:]",
    "removed": ":red[:material/do_not_disturb_on:]",
    "changed": ":blue[:material/edit:]",
    "moved": ":violet[:material/drive_file_move:]",
    "described": ":gray[:material/sell:]",
}
_RULE, _ROW = re.compile(r"^\|[ :|-]+\|\n?", re.M), re.compile(r"^\| ?(.*?) ?\|$", re.M)
_MOST_PARAGRAPHS = 40
_MOST_WORDS = 600
"""Words of a paragraph up to which it is compared word by word."""

# Told apart without colour too: what came is underlined behind a +, what went is struck through behind a −.
_STYLE = """<style>
.kbdiff {margin: 0 0 .8rem; overflow-wrap: anywhere; white-space: pre-wrap; line-height: 1.55;}
.kbdiff.two {display: grid; grid-template-columns: 1fr 1fr; gap: .8rem;}
@media (max-width: 640px) {.kbdiff.two {grid-template-columns: 1fr;}}
.kbdiff p {margin: 0; padding: .45rem .7rem .45rem 1.7rem; position: relative; border-radius: .4rem;
  border-left: 3px solid color-mix(in srgb, currentColor 30%, transparent);}
.kbdiff p + p {margin-top: .3rem;}
.kbdiff p::before {position: absolute; left: .6rem; font-weight: 700;}
.kbdiff p.went {border-left-style: dashed; background: color-mix(in srgb, #b91c1c 9%, transparent);}
.kbdiff p.went::before {content: "−";}
.kbdiff p.came {background: color-mix(in srgb, #0f766e 11%, transparent);}
.kbdiff p.came::before {content: "+";}
.kbdiff p.none {opacity: .75; font-style: italic; padding-left: .7rem;}
.kbdiff del, .kbdiff ins {border-radius: 3px; padding: 0 2px; text-decoration-thickness: 2px;}
.kbdiff del {background: color-mix(in srgb, #b91c1c 18%, transparent); text-decoration-line: line-through;}
.kbdiff ins {background: color-mix(in srgb, #0f766e 22%, transparent); text-decoration-line: underline;
  text-underline-offset: 3px;}
</style>"""


def counts_text(found: Sequence[DocumentDifference]) -> Markdown:
    """Return how many documents came, went and changed, in the words of one line."""
    counts: Counter[str] = Counter(one.what for one in found)
    names = [name for name in _ICONS if counts[name]]
    return Markdown(" · ".join(t(f"kbdiff.count.{name}", count=number(counts[name])) for name in names))


def show_differences(found: Sequence[DocumentDifference], key: str) -> None:
    """Draw the documents that differ, each with its paragraphs.

    Args:
        key: makes the widget keys unique.
    """
    if not found:
        st.caption(t("kbdiff.none"))
        return
    st.caption(counts_text(found))
    two = False
    if any(one.paragraphs for one in found):
        two = st.toggle(t("kbdiff.two"), key=f"two-{key}")
        st.caption(t("kbdiff.legend"))
    for one in found:
        name = f"{plain(one.before)} → {plain(one.path)}" if one.before else plain(one.path)
        title = f"{_ICONS[one.what]} **{name}** · {t(f'kbdiff.{one.what}')}"
        if not one.paragraphs:
            st.markdown(title)
            continue
        with st.expander(title, expanded=len(found) <= 3):
            shown = one.paragraphs[:_MOST_PARAGRAPHS]
            st.html(_STYLE + "".join(_paragraphs_html(part, two) for part in shown))
            if len(one.paragraphs) > len(shown):
                st.caption(t("kbdiff.more", count=number(len(one.paragraphs) - len(shown))))


def _paragraphs_html(part: ParagraphDifference, two: bool) -> str:
    before, after = _marked(part)
    if two:
        nothing = f'<p class="none">{html.escape(t("kbdiff.nothing"))}</p>'
        return f'<div class="kbdiff two"><div>{before or nothing}</div><div>{after or nothing}</div></div>'
    return f'<div class="kbdiff">{before}{after}</div>'


def _marked(part: ParagraphDifference) -> tuple[str, str]:
    """Return both sides as HTML, tables without their signs; words are marked in paragraphs that face each other."""
    was, now = (
        [_ROW.sub(lambda row: row[1].replace(" | ", " · "), _RULE.sub("", one)) for one in side]
        for side in (part.before, part.after)
    )
    if len(was) != len(now):
        return "".join(map(_went, map(html.escape, was))), "".join(map(_came, map(html.escape, now)))
    pairs = [_words(old, new) for old, new in zip(was, now, strict=True)]
    return "".join(_went(old) for old, _ in pairs), "".join(_came(new) for _, new in pairs)


def _words(old: str, new: str) -> tuple[str, str]:
    before, after = old.split(" "), new.split(" ")
    if max(len(before), len(after)) > _MOST_WORDS:
        return html.escape(old), html.escape(new)
    left, right = [], []
    for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        was, now = html.escape(" ".join(before[a:b])), html.escape(" ".join(after[c:d]))
        left += [was if what == "equal" else f"<del>{was}</del>"] if was else []
        right += [now if what == "equal" else f"<ins>{now}</ins>"] if now else []
    return " ".join(left), " ".join(right)


def _went(inner: str) -> str:
    return f'<p class="went" role="deletion">{inner}</p>'


def _came(inner: str) -> str:
    return f'<p class="came" role="insertion">{inner}</p>'
