"""What a browser shows of a page: elements that are cut or outside, and the words of each element."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8").strip()


def cut(page: Any) -> list[str]:
    """What is cut or outside the window, one line each: kind, element, place, text.

    A table that is wider than its place counts unless its scroll bar is always visible; the value of a list counts
    unless its tooltip has all of it.
    """
    found: list[str] = page.evaluate(f"{_SCRIPT}.cut()")
    return found


def words(page: Any) -> list[str]:
    """The texts of the page, also those that only a screen reader says; code and charts are left out."""
    found: list[str] = page.evaluate(f"{_SCRIPT}.words()")
    return found


def nameless(page: Any) -> list[str]:
    """Buttons, fields, links and pictures without a name that a screen reader could say."""
    found: list[str] = page.evaluate(f"{_SCRIPT}.nameless()")
    return found
