"""The one way to show a picture: title, chart, the same as a table, and PNG and SVG to keep."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import streamlit as st

from streamlit_app.pictures.palette import palette
from streamlit_app.shared.i18n import bare, current_language, number, plain, t
from streamlit_app.shared.tables import draw_table, fitting_height
from streamlit_app.web.scripts import PICTURES, run_script

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

# Vega's number format per language: separators and digits per group. English is Vega's default.
_NUMBERS = {"es": {"decimal": ",", "thousands": ".", "grouping": [3], "currency": ["", " US$"]}}
_FORMATS = ("png", "svg")
_MOST_ROWS = 300
_MOST_READ = 12  # rows of a table that does not scroll

# A picture of a fixed width shrinks on a narrow screen. A finger that moves sideways drags, and does not scroll.
# The bar that Streamlit lays over a chart is in English, and its PNG has neither title nor background.
_STYLE = """<style>
[class*="st-key-picture-"] [data-testid="stElementToolbar"] {display: none;}
[class*="st-key-picture-"] svg.marks {max-width: 100%; height: auto;
  touch-action: pan-y pinch-zoom;}
.picture-save {display: flex; gap: .25rem;}
.picture-save button {font: inherit; font-size: .875rem; color: inherit; background: none; cursor: pointer;
  border: 0; border-radius: .4rem; padding: .45rem .6rem; opacity: .85;}
.picture-save button:hover, .picture-save button:focus-visible {opacity: 1;
  background: color-mix(in srgb, currentColor 10%, transparent);}
</style>"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart and what stands beside it."""

    name: str
    """Unique on its page: letters, digits and hyphens. Also the name of the files that it is kept in."""
    title: str
    said: str
    """One sentence that says what the chart shows, for those who cannot see it and below the title."""
    chart: Chart
    table: Sequence[Mapping[str, Any]]
    """The same as rows; empty if the page has them anyway."""
    hint: str = ""
    """What one can do with it on the page; not in its files."""


def ink() -> str:
    """Return the colour of texts and lines in a chart; Altair's default is black."""
    return palette().ink


def pixels(width: float, height: float) -> dict[str, Any]:
    """Return the places of rectangles whose ``x`` to ``x2`` and ``y`` to ``y2`` are pixels, from the upper left."""
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, height], nice=False, reverse=True))
    return {"x": x, "x2": "x2:Q", "y": y, "y2": "y2:Q"}


def show_chart(chart: Chart, **options: Any) -> Any:
    """Draw a chart alone, in the full available width, with numbers in the session's language.

    Args:
        options: passed to ``st.altair_chart``, whose result is returned.
    """
    number_format = _NUMBERS.get(current_language())
    quiet = {"labelColor": palette().quiet, "titleColor": palette().quiet}
    locale = {"number": number_format} if number_format else alt.Undefined
    # Without room beside it, the last label of an axis is cut.
    spoken = chart.properties(padding={"right": 5}).configure(locale=locale, axis=quiet, legend=quiet)
    return st.altair_chart(spoken, **{"width": "stretch", **options})


def show_picture(picture: Picture, *, headed: bool = True, **options: Any) -> Any:
    """Draw a picture.

    Args:
        headed: whether its title stands above it; False below a tab that says the same.
        options: passed to ``st.altair_chart``, whose result is returned.
    """
    # Above some thousand marks Streamlit would draw on a canvas, which has no text to keep.
    chart = picture.chart.properties(usermeta={"embedOptions": {"renderer": "svg"}})
    with st.container(key=f"picture-{picture.name}"):
        if headed:
            st.markdown(f"## {plain(picture.title)}")
        st.caption(plain(f"{picture.said} {picture.hint}".strip()))
        drawn = show_chart(chart, alt=f"{picture.title}. {picture.said}", **options)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if picture.table:
                with st.popover(t("picture.table"), icon=":material/table_rows:", type="tertiary"):
                    _show_table(picture)
            st.html(_STYLE + _buttons(picture), width="content")
        run_script(PICTURES)
    return drawn


def lead_to(place: str) -> None:
    """Let the page scroll to ``lead_here`` of this place when it is drawn next: a click in a picture led there."""
    st.session_state["picture-lead"] = place


def lead_here(place: str) -> None:
    """Draw, unseen, the place that a click in a picture leads to."""
    if st.session_state.get("picture-lead") == place:
        del st.session_state["picture-lead"]
        st.html(f'<span data-lead="{html.escape(place, quote=True)}"></span>')


def _show_table(picture: Picture) -> None:
    rows = list(picture.table[:_MOST_ROWS])
    if len(rows) <= _MOST_READ:
        # A table of the page, which readers of the screen know their way in; it reads Markdown.
        shown = [{plain(name): plain(str(value)) for name, value in row.items()} for row in rows]
        st.table(shown, hide_index=True, border="horizontal", width="content", alt=picture.title)
    else:
        draw_table(rows, height=fitting_height(len(rows)))
    if len(rows) < len(picture.table):
        st.caption(t("picture.table_cut", shown=number(len(rows)), total=number(len(picture.table))))


def _buttons(picture: Picture) -> str:
    """Return the buttons that the page's script keeps the picture with, as HTML."""
    colours = palette()
    about = {
        "name": picture.name,
        "title": picture.title,
        "said": picture.said,
        "ground": colours.ground,
        "ink": colours.ink,
    }
    data = " ".join(f'data-{name}="{html.escape(value, quote=True)}"' for name, value in about.items())
    buttons = []
    for form in _FORMATS:
        label = html.escape(bare("picture.save", form=form.upper(), title=picture.title), quote=True)
        buttons.append(f'<button type="button" data-saves="{form}" {data} aria-label="{label}">{form.upper()}</button>')
    return f'<div class="picture-save">{"".join(buttons)}</div>'
