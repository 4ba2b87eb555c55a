"""Sections of pages: a page's own and those that are added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import streamlit as st

from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.kinds import attribute
from chatbot_mvp.plugins.rows import Page, Section
from streamlit_app.shared.i18n import plain, t


def show_tabs(page: Page, own: Mapping[str, tuple[int, str, Callable[[], Any]]]) -> None:
    """Draw the sections of a page as tabs; ``own`` as in ``with_added``. ``?tab=`` in the address opens one by name."""
    found, wanted = with_added(page, own), st.query_params.get("tab", "")
    draw_tabs(dict(found.values()), f"tabs-{page}{wanted}", found[wanted][0] if wanted in found else None)


def draw_tabs(tabs: Mapping[str, Callable[[], Any]], key: str, first: str | None = None) -> None:
    """Draw tabs: title -> what draws it. A tab is drawn from when it is first open, so that what is typed in it stays.

    Args:
        key: by which the chosen tab stays, whatever comes and goes above.
        first: title of the tab that is open at first.
    """
    drawn = st.tabs([plain(title) for title in tabs], key=key, default=first and plain(first), on_change="rerun")
    opened = st.session_state.setdefault("opened_tabs", set())
    for tab, (title, draw) in zip(drawn, tabs.items(), strict=True):
        if tab.open:
            opened.add((key, title))
        if (key, title) in opened:
            with tab:
                draw()


def with_added(
    page: Page, own: Mapping[str, tuple[int, str, Callable[..., Any]]]
) -> dict[str, tuple[str, Callable[..., Any]]]:
    """Return the sections of a page, in their order: name -> (title, what draws it).

    Args:
        own: the page's own sections: name -> (place, title, what draws it).
    """
    others = {name: (one.order, t(one.title), drawn_by(one)) for name, one in sections_of(page).items()}
    found = sorted({**others, **own}.items(), key=lambda section: section[1][0])
    return {name: (title, draw) for name, (_, title, draw) in found}


def draw_added(page: Page, *about: Any) -> None:
    """Draw the sections that are added to a page below each other, each under its title.

    Args:
        about: what the sections are given.
    """
    for section in sections_of(page).values():
        if section.title:
            st.header(t(section.title))
        drawn_by(section)(*about)


@cache
def sections_of(page: Page) -> dict[str, Section]:
    """Return the sections that are added to a page, in their order: name of the entry point -> section."""
    found = [(name, section) for name, section in added("section", Section).items() if section.page == page]
    return dict(sorted(found, key=lambda one: one[1].order))


def drawn_by(section: Section) -> Callable[..., Any]:
    """Return the function that draws a section, which imports it when it is called."""
    return lambda *about: attribute(section.draw)(*about)
