"""Compare the answers of two versions: what became of each, and whether the version after is worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from chatbot_mvp.chat.citations import MARKS
from chatbot_mvp.evaluation.drops.verdict import EXIT_CODES, LOST_SHARE
from chatbot_mvp.metrics.statistics.noninferiority import LEAST_PAIRS, GainTest, Verdict, gain_tests
from chatbot_mvp.text import fold
from chatbot_mvp.wings.effects.types import KINDS, Answers, Effect, EffectsPlan, Kind, SideAnswer

_Pair = tuple[float | None, float | None]
"""(score before, score after) of a question; None without a score."""

LEAST = LEAST_PAIRS
"""Fewer questions than this never show that nothing got worse."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A metric of both versions over the same questions, and whether it fell."""

    metric: str
    """right, answered, declined (of the questions where that is right), hit@1, hit@3 or mrr."""
    before: float | None
    """Mean over the pairs; None without pairs, which is not 0."""
    after: float | None
    fell: int
    """Questions that are worse after."""
    rose: int
    gone: int
    """Questions that only the version before has a score of, because their paragraph is gone. If they are more than
    LOST_SHARE, the verdict is at best unclear: the rest shows nothing of the whole."""
    test: GainTest


@dataclass(frozen=True, slots=True)
class EffectsReport:
    """What a change of documents does to the answers."""

    plan: EffectsPlan
    effects: tuple[Effect, ...]
    """In the order of the questions."""
    tested: tuple[Tested, ...]
    """The main metric first: ``right`` if a question says what is right, else ``answered``."""
    tolerance: float
    """Drop of a mean that is accepted."""
    max_lost: int | None
    """Answers that may be lost; None if the test of ``answered`` decides."""

    @property
    def counts(self) -> dict[Kind, int]:
        """Kind -> number of questions; every kind has a number."""
        found = Counter(effect.kind for effect in self.effects)
        return {kind: found[kind] for kind in KINDS}

    @property
    def lost(self) -> tuple[Effect, ...]:
        """The answers that are lost, without the questions that are rightly declined now."""
        return tuple(one for one in self.effects if one.kind == "lost" and not one.unanswerable)

    @property
    def gone(self) -> int:
        """Questions whose expected paragraph no longer stands in the documents: neither right nor wrong after."""
        return sum(effect.gone for effect in self.effects)

    @property
    def verdict(self) -> Verdict:
        """worse if too many answers are lost or a metric of the answers fell, else what the main metric shows.

        Where the number of lost answers is given, too few questions to tell are no reason to fail.
        """
        left_out = ("answered",) if self.max_lost is not None else ()
        counted = [one for one in self.tested if one.metric in _ANSWERS and one.metric not in left_out]
        if self.max_lost is not None and len(self.lost) > self.max_lost:
            return "worse"
        if any(one.test.verdict == "worse" for one in counted):
            return "worse"
        main: Verdict = self.tested[0].test.verdict
        return "not_worse" if self.max_lost is not None and main in ("unclear", "worse") else main

    @property
    def exit_code(self) -> int:
        """0 better or not worse, 3 worse, 4 cannot tell."""
        return EXIT_CODES[self.verdict]

    @property
    def passed(self) -> bool:
        return self.exit_code == 0

    def to_json(self) -> dict[str, Any]:
        plan = asdict(self.plan)
        del plan["questions"]
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            **plan,
            "questions": len(self.effects),
            "counts": self.counts,
            "lost": len(self.lost),
            "gone": self.gone,
            "tolerance": self.tolerance,
            "max_lost": self.max_lost,
            "tested": [asdict(one) for one in self.tested],
            "effects": [{**asdict(one), "gone": one.gone} for one in self.effects],
        }


def report_of(plan: EffectsPlan, answers: Answers, tolerance: float, max_lost: int | None = None) -> EffectsReport:
    """Compare the answers of all questions of a plan.

    Args:
        tolerance: drop of a mean that is accepted, 0 or more.
        max_lost: answers that may be lost, instead of the test of ``answered``; None for the test.
    """
    before, after = answers["before"], answers["after"]
    pairs = ((one, before[one.question_id], after[one.question_id]) for one in plan.questions)
    effects = tuple(Effect(one, kind_of(was, now), was, now) for one, was, now in pairs)
    return EffectsReport(plan, effects, metric_tests(effects, tolerance), tolerance, max_lost)


def kind_of(before: SideAnswer, after: SideAnswer) -> Kind:
    """Return what became of an answer. Words are compared without citation marks, case and blanks."""
    if not before.answered:
        return "new" if after.answered else "declined"
    if not after.answered:
        return "lost"
    if _words(before.text) != _words(after.text):
        return "changed"
    return "same" if _places(before) == _places(after) else "elsewhere"


def metric_tests(effects: Sequence[Effect], tolerance: float) -> tuple[Tested, ...]:
    """Test each metric that both versions have, those of the answers and those of the ranking each with Holm's rule."""
    columns = {
        name: [(score(one, one.before), score(one, one.after)) for one in effects] for name, score in _SCORES.items()
    }
    scored = {name for name, pairs in columns.items() if _both(pairs)}
    main = "right" if "right" in scored else "answered"
    answers = {name: columns[name] for name in (main, *_ANSWERS) if name == main or name in scored}
    ranking = {name: columns[name] for name in _SCORES if name in scored and name not in _ANSWERS}
    return (*_together(answers, tolerance), *_together(ranking, tolerance))


def _together(columns: Mapping[str, Sequence[_Pair]], tolerance: float) -> list[Tested]:
    gains = [np.array([now - was for was, now in _both(pairs)], dtype=np.float64) for pairs in columns.values()]
    tests = gain_tests(gains, [0.0] * len(gains), tolerance)
    return [_tested(name, pairs, test) for (name, pairs), test in zip(columns.items(), tests, strict=True)]


def _tested(name: str, pairs: Sequence[_Pair], test: GainTest) -> Tested:
    both = _both(pairs)
    gone = sum(was is not None and now is None for was, now in pairs)
    if gone > LOST_SHARE * (len(both) + gone) and test.verdict in ("better", "not_worse"):
        test = replace(test, verdict="unclear")
    return Tested(
        name,
        float(np.mean([was for was, _ in both])) if both else None,
        float(np.mean([now for _, now in both])) if both else None,
        sum(now < was for was, now in both),
        sum(now > was for was, now in both),
        gone,
        test,
    )


def _both(pairs: Sequence[_Pair]) -> list[tuple[float, float]]:
    """Return the pairs of the questions that both versions have a score of."""
    return [(was, now) for was, now in pairs if was is not None and now is not None]


def _right(_: Effect, side: SideAnswer) -> float | None:
    return None if side.right is None else float(side.right)


def _answered(effect: Effect, side: SideAnswer) -> float | None:
    return None if effect.unanswerable else float(side.answered)


def _declined(effect: Effect, side: SideAnswer) -> float | None:
    return float(not side.answered) if effect.unanswerable else None


def _hit(cutoff: int) -> Callable[[Effect, SideAnswer], float | None]:
    return lambda _, side: float(side.rank is not None and side.rank <= cutoff) if side.stands else None


def _reciprocal(_: Effect, side: SideAnswer) -> float | None:
    return (1 / side.rank if side.rank else 0.0) if side.stands else None


_ANSWERS = ("right", "answered", "declined")
"""What the verdict rests on. The ranking is shown with its tests, and lets no change fail whose answers are as good."""
_SCORES: Mapping[str, Callable[[Effect, SideAnswer], float | None]] = {
    "right": _right,
    "answered": _answered,
    "declined": _declined,
    "hit@1": _hit(1),
    "hit@3": _hit(3),
    "mrr": _reciprocal,
}


def _words(text: str) -> str:
    return " ".join(fold(MARKS.sub(" ", text)).split())


def _places(answer: SideAnswer) -> set[tuple[str, str]]:
    return {(one.path, _words(words)) for one in answer.passages for words in one.cited}
