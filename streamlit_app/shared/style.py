"""Name and mark of the product, and what its look needs beyond the theme; docs/develop/design.md has the rules."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

NAME = "Cotejo"
"""What people call the product; the package and the command are ``chatbot-mvp``."""
_WEB = Path(__file__).resolve().parents[1] / "web"
MARK, LOGO = _WEB / "mark.svg", _WEB / "logo.svg"

_FRAME = """<style>
/* Streamlit's text on primary buttons and on chosen items is white; on the dark theme's light accent it is dark. */
.stApp button[kind="primary"]:not(:disabled), .stApp button[kind="primaryFormSubmit"]:not(:disabled),
.stApp [data-testid="stMultiSelect"] [data-tag] * {color: light-dark(#ffffff, #07201c);}
.st-key-confirm button[kind="primary"] {
  background: light-dark(#b3261e, #f2a7a1) !important; border-color: transparent !important;}
/* A line of text that is read has at most some 90 characters; a page at most some 1200 pixels. */
[data-testid="stMainBlockContainer"], [data-testid="stBottomBlockContainer"] {max-width: 84rem; margin-inline: auto;}
[data-testid="stMain"] [data-testid="stMarkdownContainer"] > p {max-width: 46rem;}
[data-testid="stMain"] h1 {letter-spacing: -0.01em; text-wrap: balance;}
/* Headings follow each other without a gap; a sentence or the title of a picture is smaller than that of a part. */
[data-testid="stMain"] h2 {font-size: 1.25rem; padding: 0.75rem 0 1rem;}
[data-testid="stMain"] [data-testid="stMarkdown"] h2 {font-size: 1.0625rem; padding: 0.5rem 0 1rem;}
/* Streamlit fades captions as a whole, which is too light to read; coloured words in them keep their colour. */
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] > p {
  opacity: 1; color: light-dark(#56625e, #aab4b0);}
[data-testid="stCaptionContainer"] a, [data-testid="stCaptionContainer"] a * {color: light-dark(#0f766e, #5eead4);}
/* What has nothing to show takes no room: each would add a gap. */
[data-testid="stElementContainer"]:has(> [data-testid="stHtml"]):not(
  :has(> [data-testid="stHtml"] > :not(style, script, [hidden]))) {position: absolute;}
/* Figures stand under each other. */
[data-testid="stMetricValue"] {font-variant-numeric: tabular-nums;}
/* What does not fit in its line wraps: a figure or a label that is cut misleads. */
[data-testid="stMetricValue"] *, [data-testid="stMetricLabel"] *, [data-testid="stButtonGroup"] p,
[data-testid="stMetricDelta"] * {white-space: normal; overflow: visible; text-overflow: clip;}
[data-testid="stSelectbox"] input {text-overflow: ellipsis;}
[data-testid="stButtonGroup"] > [role="radiogroup"], [data-testid="stButtonGroup"] > [role="group"],
[data-testid="stTabs"] [role="tablist"] {flex-wrap: wrap; row-gap: 0.25rem;}
[data-testid="stMultiSelect"] [data-tag], [data-testid="stMultiSelect"] [data-tag] * {
  white-space: normal; height: auto; max-width: 100%; overflow-wrap: anywhere;}
[data-testid="stMultiSelect"] .react-aria-ComboBox:has([data-tag]),
[data-testid="stMultiSelect"] .react-aria-ComboBox:has([data-tag]) > [role="group"],
[data-testid="stMultiSelectTagsContainer"]:has([data-tag]) {height: auto; max-height: none;}
[data-testid="stMultiSelectTagsContainer"]:has([data-tag]) {
  flex-wrap: wrap; overflow: visible !important; mask-image: none !important;}
[data-testid="stMain"] button:not([role="tab"]) * {white-space: normal; min-width: 0;}
[data-testid="stMain"] button:is([kind="secondary"], [kind="primary"]) {overflow: visible;}
/* Few boxes: parts of a row begin with a line, and what says more about a figure stands close to it. */
.st-key-home-tiles [class*="st-key-tile-"], .st-key-home-runs > * > [class*="st-key-runs-"],
[data-testid="stVerticalBlock"]:has(> [data-testid="stElementContainer"]:first-child > [data-testid="stMetric"]) {
  border-width: 1px 0 0; border-radius: 0; padding: 0.75rem 0.25rem 0.5rem 0; gap: 0.35rem;}
/* Questions stand on the second grey, answers on the page. */
[data-testid="stChatMessage"]:has([aria-label="Chat message from user"], [aria-label="Pregunta"]) {
  background: light-dark(#f2f4ee, #1c2221);}
/* What is cited of a text is marked, and its tables are tables. */
:is(.passage, .kbtext) :is(mark, td:has(mark)) {background: #fde68a; color: #1c1f1e;}
:is(.passage, .kbtext) mark {border-radius: 3px; padding: 0 2px;}
:is(.passage, .kbtext) table {border-collapse: collapse; margin: .2rem 0; line-height: 1.4;}
:is(.passage, .kbtext) :is(td, th) {border: 1px solid color-mix(in srgb, currentColor 25%, transparent);
  padding: .2rem .5rem; text-align: left; overflow-wrap: break-word;}
/* A table that is wider than the page shows its scroll bar. */
[data-testid="stDataFrame"] .dvn-scroller {
  scrollbar-width: auto; scrollbar-color: light-dark(#9aa5a1, #5a6662) transparent;}
/* What asked a question in a dialog does not stand in front of it. */
body:has([data-testid="stDialog"]) [data-testid="stPopoverBody"] {visibility: hidden;}
/* Whoever uses the keyboard sees where it is; a field and the button in it have one line around both. */
:focus-visible, label:has(input:is([type="checkbox"], [type="radio"]):focus-visible) {
  outline: 2px solid light-dark(#0f766e, #2dd4bf) !important; outline-offset: 1px;}
:is(input:not([type="range"]), textarea):focus-visible {outline: none !important;}
:is(.react-aria-ComboBox > [role="group"], [data-testid$="RootElement"], [data-testid="stNumberInputContainer"],
  [data-testid="stChatInput"] > div):has(:is(input, textarea):focus-visible) {
  outline: 2px solid light-dark(#0f766e, #2dd4bf); outline-offset: 1px;}
[data-testid="stElementToolbar"]:focus-within {opacity: 1 !important; z-index: 100;}
[data-testid="stMain"]:focus-visible {outline-offset: -2px;}
@media (min-width: 800px) and (max-width: 1600px) {
  [data-testid="stMainBlockContainer"], [data-testid="stBottomBlockContainer"] {padding-inline: 3rem;}
}
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] {padding-inline: 1rem;}
  [data-testid="stMain"] h1 {font-size: 1.625rem;}
}
@media (prefers-reduced-motion: reduce) {* {animation-duration: 0.01ms !important; transition: none !important;}}
</style>"""


def frame_style() -> None:
    """Put into the page what the theme's options cannot say. Called on every page."""
    st.html(_FRAME)


def card_grid(key: str, narrowest: int = 230) -> DeltaGenerator:
    """Return a container that places its children side by side, none narrower than ``narrowest`` pixels.

    Args:
        key: unique key of the grid on its page.
    """
    st.html(
        f"""<style>
.st-key-{key} {{display: grid; gap: 1rem; align-items: stretch;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, {narrowest}px), 1fr));}}
.st-key-{key} > * {{width: 100% !important; min-width: 0; height: 100%;}}
</style>"""
    )
    return st.container(key=key)


def translate_uploader(button: str) -> None:
    """Set the text of the button of every uploader on the page. The limits are in the uploader's label."""
    st.html(
        f"""<style>
[data-testid="stFileUploaderDropzoneInstructions"] {{display: none;}}
[data-testid="stFileUploaderDropzone"] > span button p,
[data-testid="stFileUploaderDropzone"] > button p {{font-size: 0;}}
[data-testid="stFileUploaderDropzone"] > span button p::after,
[data-testid="stFileUploaderDropzone"] > button p::after {{content: {json.dumps(button)} / ""; font-size: 0.875rem;}}
</style>"""
    )
