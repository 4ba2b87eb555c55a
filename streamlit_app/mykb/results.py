"""Step 2: results of a knowledge base's questions: the list, figures of one, comparison of two.

What people asked comes first. What rules or a model proposed stands apart: it is easier, and nothing is advised by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from chatbot_mvp.api import KbRecord, KbResult, Share
from chatbot_mvp.settings.access import Action
from streamlit_app.mykb.headline import show_headline
from streamlit_app.mykb.jobs import busy, set_names
from streamlit_app.mykb.threshold import judge
from streamlit_app.pictures.palette import palette
from streamlit_app.pictures.picture import show_picture
from streamlit_app.pictures.strategies import strategies_picture
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import code, moment, number, score, t
from streamlit_app.shared.links import open_comparison, open_run
from streamlit_app.shared.metrics import of_text, percent, span_text
from streamlit_app.shared.runs import spoken
from streamlit_app.shared.sections import draw_tabs, with_added
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.two_models import ask_two_models

_FIGURES = ("hit@1", "hit@3")
_NOTHING = ""
_TILE_PX = 280  # wide enough for its label; a row has as many tiles as fit


def show_results(kb: KbRecord) -> None:
    """Draw the list, then the chosen result: in words, its figures, its threshold and its questions."""
    results = {result.result_id: result for result in get_app().kb_evaluation.results(kb.kb_id)}
    if not results:
        st.info(t("mykb.no_results"), icon=":material/info:")
        return
    known = st.session_state.get("mykb_result")
    st.session_state.mykb_result = known if known in results else _first(results)
    names = set_names(
        (one.result_id, spoken(" · ".join(filter(None, (one.set_name, one.model, one.strategy)))), one.started_at)
        for one in results.values()
    )
    names[_NOTHING] = t("mykb.compare_none")
    which, against = st.columns(2)
    chosen = which.selectbox(
        t("mykb.result"),
        list(results),
        index=list(results).index(st.session_state.mykb_result),
        format_func=names.__getitem__,
    )
    st.session_state.mykb_result = chosen
    result = results[chosen]
    others = [one for one in results if one != chosen]
    compared = against.selectbox(
        t("mykb.compare"),
        [_NOTHING, *others],
        format_func=names.__getitem__,
        disabled=not others,
        key=f"mykb-compare-{chosen}",
    )
    against_result = results.get(compared or _NOTHING)
    own, proposed = result.part(own=True), result.part(own=False)
    show_headline(own, against_result.part(own=True) if against_result else None)
    shown = own if own.rows else proposed
    other = against_result.part(own=bool(own.rows)) if against_result else None
    with st.container(horizontal=True):
        _show_tiles(shown, other, bool(own.rows))
        with st.container(width=_TILE_PX, gap="small"):
            _show_identity(result)
            _show_links(result, against_result)
    _show_differences(kb, result, against_result)
    if own.rows:
        st.caption(t("mykb.figure_own_note"))
    judge(shown, bool(own.rows))
    if own.rows and proposed.rows:
        said = t("mykb.proposed_apart", count=number(len(proposed.rows)))
        with st.expander(said, icon=":material/auto_fix_high:"):
            st.caption(t("mykb.proposed_about"))
            _show_tiles(proposed, None, False)
    tabs: dict[str, Callable[[], object]] = {
        t("picture.strategies"): partial(_show_strategies, kb, result),
        t("versus.title"): partial(ask_two_models, kb.kb_id),
    }
    tabs |= {title: partial(draw, kb, result) for title, draw in with_added("mykb-results", {}).values()}
    draw_tabs(tabs, "tabs-of-result")


def _first(results: Mapping[str, KbResult]) -> str:
    """Return the newest result; people's own questions come first, then what the chat searches with."""
    usual = get_app().settings.retrieval_strategy
    return min(results, key=lambda key: (not results[key].part(own=True).rows, results[key].strategy != usual))


def _show_tiles(result: KbResult, compared: KbResult | None, own: bool) -> None:
    summary, scored = result.summary, result.figures["scored"]
    row = st.container(horizontal=True, width="content")
    for name in _FIGURES:
        label = t(f"mykb.figure_own.{name}") if own else t(f"mykb.figure.{name}")
        value = summary[name]
        delta = None
        if compared is not None and value is not None and (other := compared.summary[name]) not in (None, value):
            points = t("compare.right_points", points=number(100 * abs(value - other)))
            delta = f"{'-' if value < other else '+'}{points}"
        shown = score(None) if value is None else percent(value)
        with row.container(border=True, width=_TILE_PX, height="stretch"):
            st.metric(label, shown, delta, help=t(f"mykb.figure_help.{name}"))
            if value is not None:
                share = Share(round(value * scored), scored)
                st.caption(f"{of_text(share)} · {span_text(share)}")


def _show_identity(result: KbResult) -> None:
    threshold, when = number(result.min_evidence, 2), moment(result.started_at)
    said = t("mykb.identity", way=spoken(result.strategy), threshold=threshold, when=when)
    st.caption(said, help=f"{code(result.strategy)} · {code(result.fingerprint)}")


def _show_differences(kb: KbRecord, result: KbResult, compared: KbResult | None) -> None:
    """Say what else than the figures differs: the version of the base now, the questions or settings compared with."""
    if result.kb_sha256 != kb.sha256:
        version, current = number(result.version), number(kb.number)
        said = t("mykb.result_of_version", version=version, current=current)
        st.info(
            said if result.version else t("mykb.result_of_other_version", current=current), icon=":material/difference:"
        )
    if compared is None:
        return
    if {row.question.question for row in result.rows} != {row.question.question for row in compared.rows}:
        st.caption(f":orange[:material/warning:] {t('mykb.other_questions')}")
    if result.fingerprint != compared.fingerprint:
        told = f"{code(result.fingerprint)} · {code(compared.fingerprint)}"
        st.caption(t("mykb.other_configuration"), help=told)


def _show_links(result: KbResult, compared: KbResult | None) -> None:
    """Draw the ways to the run, which has intervals, causes and exports, and to its comparison with another one."""
    if st.button(t("mykb.open_run"), icon=":material/monitoring:", key="mykb_open_run"):
        open_run(result.result_id)
    if compared is None:
        return
    if st.button(t("mykb.compare_runs"), icon=":material/compare_arrows:", key="mykb_compare_runs"):
        open_comparison([compared.result_id, result.result_id])


def _show_strategies(kb: KbRecord, result: KbResult) -> None:
    """Draw the bars as far as there are runs."""
    evaluation = get_app().kb_evaluation
    found = evaluation.strategies(result.result_id)
    picture = strategies_picture(f"strategies-{result.result_id[:15]}", found, result.result_id, palette())
    if picture is not None:
        show_picture(picture, headed=False)
    if not found.missing or not result.set_id:
        return
    if st.button(
        t("picture.strategies_start", count=number(len(found.missing))),
        icon=":material/play_arrow:",
        key="mykb_strategies",
        **guarded(
            Action.MEASURE,
            t("picture.strategies_help", strategies="; ".join(map(spoken, found.missing))),
            disabled=busy(kb),
        ),
    ):
        with errors_shown():
            evaluation.start_strategies(kb.kb_id, result.set_id, found.missing)
            st.rerun()
