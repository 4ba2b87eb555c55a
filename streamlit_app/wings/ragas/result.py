"""One Ragas evaluation: its scores, the agreement of its judge with people, and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from chatbot_mvp.api import QueryRow, RunResult
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.wings.ragas.rows import InputRow
from chatbot_mvp.wings.ragas.service import RagasService
from streamlit_app.evaluation.run_summary import metric_row, metric_tile, show_files, show_usage
from streamlit_app.shared.i18n import code, duration, number, plain, score, t, word
from streamlit_app.shared.metrics import metric_help, metric_label
from streamlit_app.shared.state import get_app
from streamlit_app.shared.tables import choose_row, distinct, draw_table

_AGREEMENT = ("accuracy", "kappa", "precision", "recall")
_TILES_A_ROW = 3  # more would cut off the names of the metrics


def show_evaluation(result: RunResult) -> None:
    """Draw an evaluation, without its comparisons."""
    _show_tiles(result)
    _show_table(result)
    _show_agreement(result)
    _show_rows(result)
    st.header(t("eval.files"))
    show_files(result)


def _show_tiles(result: RunResult) -> None:
    names = [*result.metrics, None]
    for begin in range(0, len(names), _TILES_A_ROW):
        for column, name in zip(st.columns(_TILES_A_ROW), names[begin : begin + _TILES_A_ROW], strict=False):
            with column, st.container(border=True, height="stretch"):
                if name is None:
                    show_usage(result)
                    continue
                metric_tile(result, name)
                if reasons := result.not_scored.get(name):
                    said = [f"{word('ragas.reason', reason)} ({number(count)})" for reason, count in reasons.items()]
                    st.caption(t("ragas.unscored", reasons=", ".join(said)))
    judge = result.judge
    st.caption(
        t(
            "ragas.identity",
            judge=t("ragas.by", judge=judge) if judge else t("ragas.by_nobody"),
            language=word("admin.choice", result.language),
            time=duration(sum(result.seconds.values())),
        ),
        help=f"{code(result.run_id)} · {code(result.fingerprint)}",
    )


def _show_table(result: RunResult) -> None:
    rows = []
    for name in result.metrics:
        row = metric_row(result, name)
        if result.repeats > 1:
            row[t("ragas.spread")] = score(result.spread[name].deviation) if name in result.spread else "–"
        rows.append({**row, t("table.meaning"): metric_help(name), t("ragas.name"): name})
    with st.expander(t("table.title"), icon=":material/table_chart:", expanded=result.repeats > 1):
        draw_table(rows)
        if result.repeats > 1:
            st.caption(t("ragas.spread_help", repeats=number(result.repeats)))


def _show_agreement(result: RunResult) -> None:
    """Draw how well scores agree with people, if the rows have labels."""
    if not result.agreement:
        return
    st.header(t("ragas.agreement"), help=t("ragas.agreement_help"))
    for name, found in result.agreement.items():
        figures, kinds = st.columns([3, 2], gap="large")
        with figures:
            st.markdown(f"**{plain(metric_label(name))}**")
            st.caption(t("ragas.agreement_rows", scored=number(found.scored), rows=number(found.rows)))
            for column, part in zip(st.columns(len(_AGREEMENT)), _AGREEMENT, strict=True):
                value = getattr(found, part)
                with column:
                    shown = "–" if value.value is None else number(value.value, 2)
                    st.metric(t(f"ragas.agreement.{part}"), shown, help=t(f"ragas.agreement_help.{part}"))
                    if value.low is not None and value.high is not None:
                        st.caption(f"{number(value.low, 2)} – {number(value.high, 2)}")
        with kinds:
            draw_table(
                [
                    {t("ragas.error_kind"): word("ragas.kind", kind), t("ragas.error_found"): f"{right}/{count}"}
                    for kind, (right, count) in found.found.items()
                ]
            )


def _show_rows(result: RunResult) -> None:
    """Draw a table of all rows, lowest scores first, then one row in full."""
    st.header(t("eval.queries"))
    names = list(result.metrics)
    rows = sorted(result.per_query, key=lambda row: (_lowest(row), row.query_id))
    table = [
        {
            t("eval.col.question"): row.question,
            **{metric_label(name): score(row.metrics.get(name)) for name in names},
            t("ragas.response"): row.response,
        }
        for row in rows
    ]
    labels = distinct((row.question or row.response or "", row.query_id) for row in rows)
    position = choose_row(table, labels.__getitem__, f"rows-{result.run_id}") or 0
    try:
        given = get_app().get(RagasService).rows_of_run(result.run_id)
    except ChatbotError:
        given = {}
    _show_row(rows[position], names, given.get(rows[position].query_id))


def _lowest(row: QueryRow) -> float:
    """Sort key: rows without a score first, then the lowest scores."""
    return min((-1.0 if value is None else value for value in row.metrics.values()), default=0.0)


def _show_row(row: QueryRow, names: Sequence[str], given: InputRow | None) -> None:
    with st.container(border=True):
        if row.question:
            st.markdown(f"**{t('eval.col.question')}:** {plain(row.question)}")
        st.markdown(f"**{t('ragas.response')}:** {plain(row.response or '–')}")
        if row.answer:
            st.markdown(f"**{t('eval.answer')}:** {plain(row.answer)}")
        judged, contexts = st.columns([3, 2], gap="large")
        with judged:
            for name in names:
                _show_score(row, name)
        with contexts:
            passages = list(given.row.retrieved_contexts or ()) if given else []
            st.markdown(f"**{t('ragas.contexts', count=number(len(passages)))}**")
            for number_, text in enumerate(passages, 1):
                with st.container(border=True):
                    st.caption(f"{number(number_)}. {plain(text)}")
            if given is None:
                st.caption(t("ragas.input_gone"))


def _show_score(row: QueryRow, name: str) -> None:
    """Draw a metric's score of a row, and how it was obtained."""
    status = row.status.get(name, "ok")
    details = row.details.get(name) or {}
    spread = row.spread.get(name)
    told = f" ± {score(spread.deviation)}" if spread and spread.deviation is not None else ""
    with st.expander(f"{plain(metric_label(name))}: {score(row.metrics.get(name))}{told}"):
        st.caption(metric_help(name))
        if status != "ok":
            st.markdown(f":orange-badge[{plain(word('ragas.reason', status.partition(': ')[2]))}]")
            if problem := details.get("problem"):
                st.caption(plain(str(problem)))
            if raw := details.get("raw"):
                st.markdown(f"**{t('ragas.raw')}**")
                st.code(raw, language=None, wrap_lines=True)
            return
        if table := _table(details):
            draw_table(table)


def _table(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lists of ``details`` as table rows: the n-th items of all lists form row n."""
    lists = {name: values for name, values in details.items() if isinstance(values, list)}
    rows: list[dict[str, Any]] = []
    for position in range(max(map(len, lists.values()), default=0)):
        cells: dict[str, Any] = {}
        for name, values in lists.items():
            value = values[position] if position < len(values) else None
            cells |= value if isinstance(value, dict) else {name.removesuffix("s"): value}
        rows.append({"#": position + 1, **{word("ragas.detail", name): _said(cell) for name, cell in cells.items()}})
    return rows


def _said(value: Any) -> str:
    if value is None:
        return "–"
    return number(value, 3) if isinstance(value, float) else str(value)
