"""List of finished runs: search, filters, and the chosen run with its tags and note."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from chatbot_mvp.api import NO_NOTE, RunFilter, RunLine, kind_of, listed_kinds
from streamlit_app.evaluation.run_notes import show_note
from streamlit_app.shared import links
from streamlit_app.shared.i18n import MOMENT_FORMAT, current_language, local_time, number, t, word
from streamlit_app.shared.lasting import lasting
from streamlit_app.shared.runs import data_namer, main_figure, model_name, run_names, spoken
from streamlit_app.shared.state import get_app
from streamlit_app.shared.tables import choose_row

_FILTERS = ("runs-search", "runs-datasets", "runs-kinds", "runs-with-tags")
_WIDTHS = {"eval.col.dataset": 290, "eval.col.strategy": 200, "runs.col.answers": 220, "runs.col.model": 120}
"""Of columns whose texts may be longer, in pixels."""


def show_list(runs: Sequence[RunLine]) -> None:
    """Draw the search, the table, and the chosen run below it."""
    data_name = data_namer()
    asked = _filter(runs, data_name)
    found = get_app().archive.search(asked, lambda run: f"{data_name(run)} {spoken(run.strategy)}")
    if not found:
        st.info(t("runs.no_match"), icon=":material/search_off:")
        st.button(t("runs.clear"), icon=":material/filter_alt_off:", on_click=_clear)
        return
    if len(found) < len(runs):
        st.caption(t("runs.found", count=number(len(found)), total=number(len(runs))))
    names = list(run_names(found).values())
    table = pd.DataFrame(_table(found, data_name))
    key = f"runs-table-{asked}"
    cut = {t(name): width for name, width in _WIDTHS.items()}
    position = choose_row(table, names.__getitem__, key, title=t("runs.choose"), cut=cut, columns=_columns()) or 0
    _show_chosen(found[position])


def _filter(runs: Sequence[RunLine], data_name: Callable[[RunLine], str]) -> RunFilter:
    for key in _FILTERS:
        lasting(key, "" if key == "runs-search" else [])
    search, more = st.columns([4, 1], vertical_alignment="bottom")
    text = search.text_input(
        t("runs.search"), placeholder=t("runs.search_hint"), key="runs-search", icon=":material/search:"
    )
    active = sum(bool(st.session_state.get(key)) for key in _FILTERS[1:])
    label = t("runs.filters_on", count=number(active)) if active else t("runs.filters")
    with more.popover(label, icon=":material/filter_list:", width="stretch"):
        names = {run.dataset: data_name(run) for run in runs if run.dataset}
        datasets = st.multiselect(
            t("eval.col.dataset"),
            sorted(names, key=names.__getitem__),
            format_func=names.__getitem__,
            key="runs-datasets",
            placeholder=t("runs.any"),
            width=320,
        )
        kinds = st.multiselect(
            t("runs.kind"),
            list(listed_kinds()),
            format_func=lambda name: word("runs.kind", name),
            key="runs-kinds",
            placeholder=t("runs.any"),
        )
        given = {tag for note in get_app().archive.notes().values() for tag in note.tags}
        tags = st.multiselect(
            t("runs.tags"), sorted(given, key=str.casefold), key="runs-with-tags", placeholder=t("runs.any")
        )
    return RunFilter(text, tuple(datasets), tuple(kinds), tuple(tags))


def _clear() -> None:
    for key in _FILTERS:
        st.session_state[key] = "" if key == "runs-search" else []


def _table(runs: Sequence[RunLine], data_name: Callable[[RunLine], str]) -> dict[str, list[Any]]:
    """Return the table by columns, so that each heading is looked up once, not once per run."""
    notes = get_app().archive.notes()
    table: dict[str, list[Any]] = {
        t("eval.col.when"): [local_time(run.started_at) for run in runs],
        t("eval.col.dataset"): [data_name(run) for run in runs],
        t("eval.col.strategy"): [spoken(run.strategy) for run in runs],
        t("eval.queries"): [run.queries for run in runs],
        t("runs.col.answers"): [_main(run) for run in runs],
        t("runs.col.model"): [model_name(run) for run in runs],
    }
    given = [notes.get(run.run_id, NO_NOTE) for run in runs]
    if any(note != NO_NOTE for note in given):
        table[t("runs.tags")] = [list(note.tags) for note in given]
        table[t("runs.note")] = [note.note for note in given]
    return table


def _main(run: RunLine) -> str:
    """Format the main figure of a run with its name; a dash if it has none, which differs from *not scored*."""
    figure = main_figure(run)
    return f"{figure.text} · {figure.label}" if figure.name else "–"


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        t("eval.col.when"): config.DatetimeColumn(format=MOMENT_FORMAT[current_language()], width=130),
        t("eval.queries"): config.NumberColumn(format="%d", width=80),
        t("runs.col.answers"): config.TextColumn(help=t("runs.answers_help"), width=_WIDTHS["runs.col.answers"]),
        t("runs.tags"): config.ListColumn(),
        t("runs.note"): config.TextColumn(width="medium"),
    }


def _show_chosen(run: RunLine) -> None:
    with st.container(border=True):
        if kind_of(run) == "kb":
            st.badge(t("runs.kind.kb"), icon=":material/library_books:")
        show_note(run.run_id)
        opened, compared, _ = st.columns([1, 1, 2])
        opened.button(
            t("runs.open"),
            key="runs-open",
            type="primary",
            icon=":material/monitoring:",
            width="stretch",
            on_click=links.write_run,
            args=(run.run_id,),
        )
        compared.button(
            t("runs.compare"),
            key="runs-compare",
            icon=":material/compare_arrows:",
            width="stretch",
            on_click=links.write_comparison,
            args=([run.run_id],),
        )
