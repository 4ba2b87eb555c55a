"""A person who has a keyboard alone: presses keys, and looks at what has the focus after each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.test_tour import settle

_LOOK = Path(__file__).with_suffix(".js").read_text("utf-8").partition("\n")[2]


@dataclass(frozen=True)
class Focus:
    """What has the focus."""

    role: str
    """As the browser tells it to a screen reader."""
    name: str
    key: str
    """Class name ``st-key-…`` of the nearest container that has one."""
    value: str
    """Text of a field."""
    wrong: tuple[str, ...]
    """What a person would miss here; empty if all is well."""


@dataclass
class Keyboard:
    """Presses keys on a page; whatever gets the focus on the way has to be seen and named."""

    page: Any
    wrong: list[str] = field(default_factory=list)
    """What was wrong with a place that had the focus, one line each."""

    def __post_init__(self) -> None:
        self._browser = self.page.context.new_cdp_session(self.page)
        self._browser.send("Accessibility.enable")

    def focus(self) -> Focus:
        """Look at what has the focus; the page as a whole has role ``page``."""
        seen = self.page.evaluate(_LOOK)
        if seen["page"]:
            return Focus("page", "", "", "", ())
        node = self._browser.send("Runtime.evaluate", {"expression": "document.activeElement"})["result"]["objectId"]
        [told, *_] = self._browser.send("Accessibility.getPartialAXTree", {"objectId": node, "fetchRelatives": False})[
            "nodes"
        ]
        role, name = (str(told.get(what, {}).get("value", "")).strip() for what in ("role", "name"))
        wrong = [] if name else ["has no name"]
        for what, said in {
            "inside": "is outside the window",
            "clear": "is transparent",
            "ring": "has no outline",
            "free": "is covered",
        }.items():
            if not seen[what]:
                wrong.append(said)
                break
        found = Focus(role, name, seen["key"], seen["value"], tuple(wrong))
        self.wrong += [f"{role} {name!r} in {found.key} {line}: {seen['box']} {seen['html']}" for line in wrong]
        return found

    def press(self, key: str) -> Focus:
        """Press a key, wait until the page stands still, and look.

        What the press has made useless keeps the focus for a moment, until the page gives it another place. An arrow
        leaves a tab, however late: a second one would pass over the next tab unseen.
        """
        tab = self.page.evaluate_handle("document.activeElement.closest('[role=tab]')")
        self.page.keyboard.press(key)
        if key.startswith("Arrow"):
            self.page.wait_for_function("tab => !tab || document.activeElement !== tab", arg=tab)
        self.page.wait_for_timeout(60)
        settle(self.page)
        if self.page.evaluate("document.activeElement.disabled === true"):
            self.page.wait_for_timeout(600)
        return self.focus()

    def tab_to(self, name: str, role: str = "", key: str = "", most: int = 60, back: bool = False) -> int:
        """Press Tab until something of this name has the focus; return how often.

        Args:
            name: the beginning of its name, "" for any.
            role: as a screen reader says it, "" for any.
            key: the beginning of the class name of its container.
            back: press Shift+Tab instead.

        Raises:
            AssertionError: it does not have the focus after so many presses.
        """
        passed = []
        for presses in range(1, most + 1):
            self.page.keyboard.press("Shift+Tab" if back else "Tab")
            self.page.wait_for_timeout(120)  # the page scrolls, and the tools of a chart appear
            at = self.focus()
            if at.name.startswith(name) and role in ("", at.role) and at.key.startswith(key) and at.role != "page":
                return presses
            passed.append(f"{at.role} {at.name[:40]!r} {at.key}")
        raise AssertionError(f"no {role} {name!r} {key} within {most} presses, only: {passed}")

    def type(self, text: str) -> None:
        self.page.keyboard.type(text, delay=5)
