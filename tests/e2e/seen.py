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


def focusable(page: Any) -> list[tuple[str, str]]:
    """Return role and name, as the browser tells them to a screen reader, of whatever the keyboard can reach."""
    browser = page.context.new_cdp_session(page)
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    browser.detach()
    found = []
    for node in nodes:
        properties = {one["name"]: one["value"].get("value") for one in node.get("properties", [])}
        role = str(node.get("role", {}).get("value", ""))
        if properties.get("focusable") and not node.get("ignored") and role != "RootWebArea":
            found.append((role, str(node.get("name", {}).get("value", "")).strip()))
    return found


def free_height(page: Any) -> float:
    """Return the share of the window's height that bars which always stay in sight leave to what is read."""
    found: float = page.evaluate(f"{_SCRIPT}.free()")
    return found
