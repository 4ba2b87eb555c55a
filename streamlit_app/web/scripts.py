"""The scripts of ours in a page. The policy of the pages names the hash of each, so that no other one runs."""

from __future__ import annotations

import html
from pathlib import Path

import streamlit as st

LANGUAGE = Path(__file__).with_name("language.js").read_text("utf-8")
"""Says Streamlit's own texts in the session's language, and names that language to the browser."""

FOCUS = Path(__file__).with_name("focus.js").read_text("utf-8")
"""Moves the focus into what the keyboard opens, and back from what vanishes."""

# Streamlit names a file by its ``webkitRelativePath``, which browsers leave empty for what is dropped. The library that
# it reads dropped folders with says the path in ``relativePath``.
FOLDERS = """
if (!window.keepsFolders) {
  window.keepsFolders = true;
  const own = Object.getOwnPropertyDescriptor(File.prototype, "webkitRelativePath").get;
  Object.defineProperty(File.prototype, "webkitRelativePath", {
    get() {
      const path = (this.relativePath || "").replace(/^[.]?[/]+/, "");
      return own.call(this) || (path.includes("/") ? path : "");
    },
  });
}
"""
"""Lets a folder that is dropped on an uploader give the paths of its files, as one that is chosen does."""

SOURCES = """
if (!window.opensSources) {
  window.opensSources = true;
  const press = (name) => {
    const button = document.querySelector(`.st-key-${name} button:not(:disabled)`);
    button?.click();
    return Boolean(button);
  };
  // The focus follows a source that is opened into its pane, and goes back to what opened it when the pane is closed.
  const pane = () => document.querySelector(".st-key-source-pane");
  let opener = "", opening = false, within = false;
  document.addEventListener("click", (event) => {
    const kind = "[class*='st-key-open-source-'], [class*='st-key-sources-']";
    const opens = event.target.closest?.(kind)?.className.match(/st-key-(?:open-(source-[^ ]+)|(sources-[^ ]+))/);
    if (opens) {
      opener = opens[1] ? `a[href="#${CSS.escape(opens[1])}"]` : `.st-key-${CSS.escape(opens[2])} button`;
      opening = Boolean(opens[1]) || !pane();
    }
    const name = event.target.closest?.("a[href^='#source-']")?.getAttribute("href").slice(1);
    if (name && press("open-" + CSS.escape(name))) event.preventDefault();
  }, true);
  document.addEventListener("focusin", (event) => { within = Boolean(pane()?.contains(event.target)); });
  document.addEventListener("keydown", (event) => {
    const name = {"[": "source-before", "]": "source-after"}[event.key];
    const off = document.querySelector("#chat-page")?.dataset.keys === "off";
    const typing = event.target.closest?.("input, textarea, select, [contenteditable='true']");
    if (name && !off && !typing && press(name)) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const other = "[role='dialog'], [role='menu'], [role='listbox'], [data-testid='stPopoverBody']";
    const busy = document.querySelector(`${other}, [class*='st-key-stop-'] button`);
    if (event.key === "Escape" && !busy) press("source-close");
  }, true);
  new MutationObserver(() => {
    const at = document.activeElement, nowhere = !at || at === document.body || at.disabled, here = pane();
    if (here) {
      here.setAttribute("role", "region");
      const head = here.querySelector("[data-testid='stMarkdownContainer']")?.innerText.trim();
      if (head && here.getAttribute("aria-label") !== head) here.setAttribute("aria-label", head);
      if (!opening && !(within && nowhere)) return;
      here.tabIndex = -1;
      here.focus({preventScroll: true});
      opening = false;
    } else if (within && nowhere) {
      within = false;
      const back = opener && document.querySelector(opener);
      (back || document.querySelector("[data-testid='stChatInputTextArea']"))?.focus({preventScroll: true});
    }
  }).observe(document.body, {childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"]});
  const shown = new WeakSet();
  new MutationObserver(() => document.querySelectorAll("[data-first-mark]").forEach((mark) => {
    if (shown.has(mark)) return;
    shown.add(mark);
    const floor = document.querySelector("[data-testid='stBottom']")?.getBoundingClientRect().top ?? window.innerHeight;
    const boxes = [mark.closest(".kbtext"), mark.closest(".st-key-source-pane, [data-testid='stMain']")];
    boxes.filter(Boolean).forEach((box) => {
      const top = box.getBoundingClientRect().top;
      const above = mark.getBoundingClientRect().top - top;
      const height = Math.min(box.clientHeight, floor - top);
      if (above > 0.8 * height) box.scrollTop += above - height / 3;
    });
  })).observe(document.body, {childList: true, subtree: true});
}
"""
"""A click on a citation clicks the button of its source; [, ] and Escape click those of the source pane, which gets the
focus. The first mark of a passage comes into sight when it is drawn."""


PICTURES = Path(__file__).with_name("pictures.js").read_text("utf-8")
"""Keeps a picture as PNG or SVG."""


def run_script(script: str) -> None:
    """Run one of these scripts in the page; again does nothing."""
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def speak(language: str, words: str) -> None:
    """Let the page name its language, and say Streamlit's own texts in it.

    Args:
        words: a JSON object, English text -> text in that language; "…" stands for what changes.
    """
    told = f'data-language="{language}" data-words="{html.escape(words)}"'
    st.html(f'<div id="page-language" hidden {told}></div>')
    run_script(LANGUAGE)
