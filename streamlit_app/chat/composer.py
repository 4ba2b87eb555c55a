"""Mode and model in the bar of the page Chat; and the page's style and script."""

from __future__ import annotations

import html

import streamlit as st

from chatbot_mvp.api import MODES
from chatbot_mvp.settings.access import Action
from streamlit_app.chat.keyboard import keys_are_on
from streamlit_app.shared.guard import may
from streamlit_app.shared.i18n import bare, plain, t
from streamlit_app.shared.lasting import lasting
from streamlit_app.shared.state import get_app
from streamlit_app.web.guard import CHAT_SCRIPT

_STYLE = """<style>
/* What Tab reaches is scrolled to a place between the bar above and the box below, not behind them. */
[data-testid="stMain"] {scroll-padding: 5rem 0 7rem;}
[data-testid="stMainBlockContainer"] {padding-top: 0.25rem;}
[data-testid="stBottomBlockContainer"] {padding-block: 0.5rem 0.9rem;}
[data-testid="stBottomBlockContainer"] .st-key-kb-upload-panel {max-height: 30vh; overflow-y: auto; gap: 0.25rem;
  padding: 0.5rem 0.75rem;}
[data-testid="stLayoutWrapper"]:has(> .st-key-chat-bar) {padding: 0.25rem 0; top: 0;}
.st-key-chat-bar {gap: 0.4rem;}
@media (min-width: 800px) and (min-height: 600px) {
  [data-testid="stLayoutWrapper"]:has(> .st-key-chat-bar) {position: sticky; z-index: 90;
    background: light-dark(#fdfdfb, #121615);}
}
/* Where the side bar is closed, the button that opens it stands above. */
.stApp:has([data-testid="stExpandSidebarButton"]) [data-testid="stMainBlockContainer"] {padding-top: 3.75rem;}
.stApp:has([data-testid="stExpandSidebarButton"]) :has(> .st-key-chat-bar) {top: 3.75rem;}
.stApp:has([data-testid="stExpandSidebarButton"]) .st-key-chat-panes > :last-child:not(:first-child) {top: 8rem;}
[class*="st-key-question-"] {flex-wrap: nowrap;}
[class*="st-key-question-"] > :first-child {flex: 0 1 auto; min-width: 0;}
[class*="st-key-answer-"] {margin: -0.9rem 0 0.8rem;}
/* The row below an answer: what it is, its sources, and what can be done with it. */
[class*="st-key-actions-"] {gap: 0 0.6rem; margin-top: -0.35rem;}
[class*="st-key-tools-"] {gap: 0.15rem;}
/* Without a width of its own, what has just been drawn is measured before its icons are, and wraps. */
[class*="st-key-tools-"], [data-testid="stLayoutWrapper"]:has(> [class*="st-key-tools-"]) {
  width: max-content; max-width: 100%;}
[class*="st-key-tools-"] [data-testid="stPopoverButton"][kind="tertiary"] div[aria-hidden="true"] {display: none;}
:is([class*="st-key-actions-"], [class*="st-key-question-"]) button[kind="tertiary"] {min-height: 2rem; min-width: 2rem;
  padding: 0 0.35rem; justify-content: center;}
[class*="st-key-actions-"] :is(button[kind="tertiary"], .chat-copy, [data-testid="stFeedback"] button):not(:hover) {
  color: light-dark(#56625e, #aab4b0);}
[class*="st-key-actions-"] button [data-testid="stIconMaterial"], .copy-answer .icon {font-size: 1.2rem;}
[class*="st-key-sources-"] button p {text-decoration: underline dotted; text-underline-offset: 0.25em;}
:is([class*="st-key-tools-"], [class*="st-key-question-"], .st-key-keys-help) button[kind="tertiary"]
  [data-testid="stMarkdownContainer"], .chat-unseen,
/* The page's name stands in the navigation, and here for whoever hears the page. */
[data-testid="stMain"] [data-testid="stElementContainer"]:has(h1) {position: absolute; width: 1px; height: 1px;
  overflow: hidden; clip-path: inset(50%); white-space: nowrap;}
.chat-copy {display: inline-flex; align-items: center; justify-content: center; gap: 0.4rem; min-height: 2rem;
  min-width: 2rem; padding: 0 0.35rem; border: 0; border-radius: 0.6rem; background: none; color: inherit;
  font: inherit; cursor: pointer;}
.chat-copy:hover {color: light-dark(#0f766e, #2dd4bf);}
.chat-copy.copy-source {display: flex; text-align: start; min-height: 1.8rem; font-size: 0.875rem;}
.chat-copy.copy-shared {border: 1px solid color-mix(in srgb, currentColor 22%, transparent); padding: 0.2rem 0.8rem;}
.chat-copy .icon {font-family: "Material Symbols Rounded"; font-size: 1.25rem; line-height: 1;}
.chat-skip {position: fixed; left: 0.5rem; top: -4rem; z-index: 1000000; padding: 0.6rem 1rem; border-radius: 0.6rem;
  background: light-dark(#0f766e, #2dd4bf); color: light-dark(#ffffff, #07201c);}
.chat-skip:focus {top: 0.5rem;}
[data-testid="stLayoutWrapper"]:has(> .st-key-keys-hidden) {display: none;}
@media (max-width: 799px) {
  .st-key-keys-help {display: none;}
  .st-key-chat-bar > :first-child {flex: 1 1 10rem;}
  .st-key-chat-bar [data-testid="stPopoverButton"] [data-testid="stMarkdownContainer"] {position: absolute; width: 1px;
    height: 1px; overflow: hidden; clip-path: inset(50%);}
  .st-key-chat-bar [data-testid="stPopoverButton"] div[aria-hidden="true"] {display: none;}
}
</style>"""


def mode_and_model() -> str:
    """Draw mode and model; return the provider that shall answer, "" for the one that is chosen for all."""
    st.segmented_control(
        t("chat.mode"),
        MODES,
        required=True,
        key=lasting("chat_mode", "strict"),
        format_func=lambda name: t(f"chat.mode.{name}"),
        label_visibility="collapsed",
    )
    return _ask_model()


def _ask_model() -> str:
    """Draw the name of the model that answers; a list of those that are configured for whoever may choose for all."""
    providers = get_app().providers
    configured = {one.name: one for one in providers.statuses() if one.configured}
    names = {name: f"{name} · {one.model}" if one.model else bare("chat.demo") for name, one in configured.items()}
    chosen = providers.chosen
    if len(names) < 2 or providers.fixed or not may(Action.CHANGE_SETTINGS):
        st.caption(f":material/smart_toy: {plain(names.get(chosen, chosen))}", width="content")
        return ""
    others = {"": names.get(chosen, chosen), **{name: said for name, said in names.items() if name != chosen}}
    if st.session_state[lasting("chat_provider", "")] not in others:
        st.session_state.chat_provider = ""
    return st.selectbox(
        t("chat.model_choice"),
        list(others),
        key="chat_provider",
        format_func=others.__getitem__,
        label_visibility="collapsed",
        help=t("chat.model_help"),
        width=180,
    )


def page_script(opened: str) -> None:
    """Put the page's style and script into the page, with what the script has to know.

    Args:
        opened: the turn that the address names, "" for none.
    """
    said = {
        "skip": t("keys.input"),
        "copied": t("message.copied"),
        "keys": "on" if keys_are_on() else "off",
        "open": opened,
    }
    attributes = " ".join(f'data-{name}="{html.escape(text)}"' for name, text in said.items())
    st.html(f'{_STYLE}<div id="chat-page" hidden {attributes}></div>')
    st.html(f"<script>{CHAT_SCRIPT}</script>", unsafe_allow_javascript=True)
