"""What a run or a comparison found, as sentences that need no explanation. Figures come after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from chatbot_mvp.api import Comparison, RunLine, RunResult, Share, main_share
from streamlit_app.shared.i18n import Markdown, number, plain, t
from streamlit_app.shared.metrics import of_text
from streamlit_app.shared.runs import KB, spoken

_FIRST = "hit@1"
_ANSWERS = ("solved", "accuracy", "answer_contains")
_SURE = 0.05
"""Chance below which a difference is taken for a real one."""


def show_in_words(result: RunResult) -> None:
    """Draw what a finished run found, in a sentence; nothing for a run that counts no questions."""
    if found := main_share(result):
        name, share = found
        said = t(f"words.{name}", count=number(share.count), total=number(share.total))
        st.markdown(f"## {said}")
        _tell_who_chose(result.kind)


@dataclass(frozen=True)
class _Side:
    """One run of a comparison."""

    name: str
    count: int
    """Questions that went well."""
    total: int
    chance: float | None
    """p against the base; None for the base."""


def show_comparison_in_words(comparison: Comparison, runs: Sequence[RunLine]) -> None:
    """Draw which run did best, against which, and whether that may be chance.

    Args:
        runs: in the order of the comparison, the base first.
    """
    answers = bool(comparison.headlines)
    sides = _answers(comparison, runs) if answers else _first(comparison, runs)
    if not sides:
        return
    if len({side.name for side in sides}) < len(sides):  # then their letters tell them apart
        names = [plain(spoken(name)) for name in comparison.labels.values()]
        sides = [replace(side, name=name) for side, name in zip(sides, names, strict=True)]
    base, best = sides[0], max(sides, key=lambda side: side.count)
    kind = "right" if answers else "first"
    if best.count == base.count:
        alike = [side.name for side in sides[1:] if side.count == base.count]
        key = f"words.{kind}_equal" if alike else f"words.{kind}_base_best"
        if len(alike) == len(sides) - 1 and len(alike) > 1:
            key = f"words.{kind}_all_equal"
        if not answers and len({run.strategy for run in runs}) < 2:
            key = "words.same_search"
        counts = {"count": number(base.count), "total": number(base.total), "runs": number(len(sides))}
        said = t(key, base=base.name, others=Markdown("; ".join(alike)), **counts)
    else:
        sure = best.chance is not None and best.chance < _SURE
        counts = {"count": number(best.count), "before": number(base.count), "total": number(base.total)}
        said = t(f"words.{kind}_best", best=best.name, base=base.name, **counts)
        said = f"{said} {t('words.sure' if sure else 'words.chance')}"
    st.markdown(f"## {said}")
    st.caption(" · ".join(f"{plain(one.name)}: {of_text(Share(one.count, one.total))}" for one in sides))
    if not answers:
        _tell_who_chose(runs[0].kind)


def _tell_who_chose(kind: str) -> None:
    """Draw, for a knowledge base's questions, that their passages may have been chosen among what search showed."""
    if kind == KB:
        st.caption(t("words.chosen_passages"))


def _first(comparison: Comparison, runs: Sequence[RunLine]) -> list[_Side]:
    """Return the runs by how often what was found first is correct; empty if they do not have that figure."""
    found: list[_Side] = []
    for delta, run in zip(comparison.runs, runs[1:], strict=True):
        one = next((one for one in delta.metrics if one.metric == _FIRST), None)
        if one is None or one.base is None or one.other is None:
            return []
        if not found:
            found.append(_Side(_name(runs[0], False), round(one.base * one.pairs), one.pairs, None))
        # One figure is told of each run: the other metrics of the table do not make its difference less sure.
        chance = None if one.p is None else min(1.0, one.p * len(comparison.runs))
        found.append(_Side(_name(run, False), round(one.other * one.pairs), one.pairs, chance))
    return found


def _answers(comparison: Comparison, runs: Sequence[RunLine]) -> list[_Side]:
    chances: dict[str, float | None] = {}
    for delta in comparison.runs:
        # Only what got better speaks for the run: the other figure may have changed for the worse, and not by chance.
        known = [
            one.p_holm
            for one in delta.metrics
            if one.metric in _ANSWERS and one.p_holm is not None and (one.delta or 0.0) > 0
        ]
        chances[delta.run_id] = min(known, default=None)
    models = {run.generator for run in runs}
    return [
        _Side(_name(run, len(models) == len(runs)), one.right.count, one.right.total, chances.get(run.run_id))
        for run, one in zip(runs, comparison.headlines, strict=True)
    ]


def _name(run: RunLine, by_model: bool) -> str:
    """Return what people call the run: its model if that tells them apart, else how it searched."""
    if by_model:
        return plain(run.generator)
    return plain(spoken(run.system))
