"""Lets a folder that is dropped on an uploader give the paths of its files, as one that is chosen does."""

from __future__ import annotations

import streamlit as st

# Streamlit names a file by its ``webkitRelativePath``, which browsers leave empty for what is dropped. The library that
# it reads dropped folders with says the path in ``relativePath``.
SCRIPT = """
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
"""The only script of ours in a page; the policy of the pages names its hash."""


def keep_folders() -> None:
    """Let the uploaders of this page keep the paths of dropped folders."""
    st.html(f"<script>{SCRIPT}</script>", unsafe_allow_javascript=True)
