"""Status tiles of the configured parts: icon, word and next step. Drawing them never waits for a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from chatbot_mvp.api import Health
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import Markdown, duration_text, number, plain, t
from streamlit_app.shared.state import PAGES, error_text, get_app
from streamlit_app.shared.style import card_grid

State = Literal["ok", "basic", "failed", "none", "checking"]
_SIGNS: dict[State, tuple[str, Literal["green", "orange", "gray"]]] = {
    "ok": (":material/check_circle:", "green"),
    "basic": (":material/info:", "gray"),
    "failed": (":material/warning:", "orange"),
    "none": (":material/radio_button_unchecked:", "gray"),
    "checking": (":material/hourglass_top:", "gray"),
}
_NAMES_SHOWN = 3
_TABS = {
    "configure": "admin.group.provider",
    "providers": "admin.group.provider",
    "add_dataset": "admin.data",
    "measure": "admin.benchmark",
}
"""Step -> tab of Admin."""


@dataclass(frozen=True)
class Tile:
    """Status of one part of the application."""

    name: str  # suffix of the text key ``home.tile.<name>``
    state: State
    detail: str  # markdown
    page: str  # page of the next step, a key of PAGES
    step: str  # suffix of the text key ``home.step.<step>``


def show_state() -> None:
    """Draw one line on what is not set up; the tiles behind it refresh only while a check is running."""
    states = get_app().health.states()
    missing = [t(f"home.tile.{tile.name}") for tile in _tiles(states) if tile.state != "ok"]
    said = t("home.not_set_up", parts=", ".join(missing)) if missing else t("home.all_set_up")
    failed, busy = any(health.state == "failed" for health in states), _busy(states)
    with st.expander(
        t("home.word.checking") if busy else said, icon=":material/tune:", expanded=failed, key="home-state"
    ):
        st.fragment(_show_tiles, run_every=1 if busy else None)(busy)


def _tiles(states: Sequence[Health]) -> list[Tile]:
    return [*(_tried(health) for health in states), _kbs(), _datasets()]


def _show_tiles(was_busy: bool) -> None:
    states = get_app().health.states()
    if _busy(states) != was_busy:
        st.rerun()  # redraw with or without the refresh timer
    with card_grid("home-tiles", narrowest=340):  # four tiles: two rows of two
        for tile in _tiles(states):
            with st.container(border=True, height="stretch", key=f"tile-{tile.name}"):
                _show_tile(tile)
    if any(health.state == "failed" for health in states):
        st.button(
            t("home.again"),
            icon=":material/refresh:",
            key="home-again",
            type="tertiary",
            on_click=get_app().health.forget,
            **guarded(Action.CHECK),
        )


def _busy(states: Sequence[Health]) -> bool:
    return any(health.state == "checking" for health in states)


def _show_tile(tile: Tile) -> None:
    icon, colour = _SIGNS[tile.state]
    st.markdown(f"**{t(f'home.tile.{tile.name}')}**")
    st.badge(t(f"home.word.{tile.state}"), icon=icon, color=colour)
    st.caption(tile.detail)
    tab = {"tab": _TABS[tile.step]} if tile.step in _TABS else None
    st.page_link(
        PAGES[tile.page][0], label=t(f"home.step.{tile.step}"), icon=":material/arrow_forward:", query_params=tab
    )


def _tried(health: Health) -> Tile:
    """Return the tile of a checked part: provider, embedder, storage, sharing or an added one."""
    state: State = health.state
    detail = plain(health.identity)
    step = "providers" if health.name == "provider" else "measure"
    if health.name == "provider" and health.identity == "demo" and state == "ok":
        return Tile("provider", "basic", t("home.provider_demo"), "admin", "configure")
    if state == "ok" and health.seconds is not None:
        detail += f" · {duration_text(health.seconds)}"
    if state == "failed":
        detail += f" · {plain(error_text(health.error)) if health.error else t('home.no_answer')}"
        step = "configure" if health.name == "provider" else "look"
    return Tile(health.name, state, detail, "admin", step)


def _kbs() -> Tile:
    records = get_app().kbs.records()
    if not records:
        return Tile("kb", "none", t("home.kb_none"), "chat", "upload")
    newest = plain(records[0].kb_name)
    size = t("home.kb_chars", name=newest, chars=number(records[0].chars))
    if len(records) > 1:
        size = t("home.kb_count", count=number(len(records)), name=newest)
    return Tile("kb", "ok", size, "chat", "ask")


def _datasets() -> Tile:
    app = get_app()
    names = app.datasets.names()
    own = [name for name in names if not (app.settings.samples_dir / name).is_dir()]
    if not names:
        return Tile("datasets", "none", t("home.datasets_none"), "admin", "add_dataset")
    if not own:
        return Tile("datasets", "basic", t("home.datasets_sample", name=plain(names[0])), "admin", "add_dataset")
    shown = Markdown(", ".join(plain(name) for name in own[:_NAMES_SHOWN]))
    more = len(own) - _NAMES_SHOWN
    if more > 0:
        return Tile("datasets", "ok", t("home.datasets_more", names=shown, count=number(more)), "admin", "measure")
    return Tile("datasets", "ok", shown, "admin", "measure")
