"""Colours of the pictures: those of the theme that the page is drawn in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

Scheme = Literal["light", "dark"]
_QUIET = {"light": "#6b7280", "dark": "#9ca3af"}


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours as ``#rrggbb``."""

    ground: str
    """What a picture is drawn on."""
    ink: str
    """Texts and lines."""
    good: str
    """What went as it should: the theme's first colour."""
    lost: str
    """What the search lost."""
    other: str
    """What stands apart from both."""
    wrong: str
    """What was answered or declined wrongly."""
    quiet: str
    """What tells neither: not scored, not there yet."""


def palette(scheme: Scheme | None = None) -> Palette:
    """Return the colours of a scheme; by default, of the one that the visitor sees."""
    wanted: Scheme = scheme or ("dark" if st.context.theme.type == "dark" else "light")
    hues: list[str] = _option(wanted, "chartCategoricalColors")
    good, lost, other, wrong = hues[:4]
    ground, ink = _option(wanted, "backgroundColor"), _option(wanted, "textColor")
    return Palette(ground, ink, good, lost, other, wrong, _QUIET[wanted])


def _option(scheme: Scheme, name: str) -> Any:
    """Return a value of the theme's scheme; the theme's own where the scheme has none."""
    return st.get_option(f"theme.{scheme}.{name}") or st.get_option(f"theme.{name}")
