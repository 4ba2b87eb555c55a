"""A comparison in words, for the command line."""

from __future__ import annotations

from collections.abc import Iterator

from chatbot_mvp.evaluation.drops.lines import SAYS, number
from chatbot_mvp.wings.effects.comparing import LEAST, EffectsReport, Tested
from chatbot_mvp.wings.effects.types import Effect, EffectsPlan, Estimate, Kind, SideAnswer

_SHOWN: tuple[Kind, ...] = ("lost", "new", "changed", "elsewhere")
_TEXT = 160  # characters of an answer or question in a line


def report_text(report: EffectsReport) -> str:
    """Return the whole report, one line per answer that is not the same."""
    return "\n".join(_lines(report))


def headline(report: EffectsReport) -> str:
    """Return what became of the answers in one sentence."""
    counts = report.counts
    said = (
        f"of {len(report.effects)} questions, {counts['changed']} change their answer, {counts['lost']} lose it, "
        f"{counts['new']} gain one; {counts['elsewhere']} are answered alike from another place, {counts['same']} "
        f"the same, {counts['declined']} by neither"
    )
    if report.gone:
        said += f"; the expected paragraph of {report.gone} is no longer in the documents"
    return said


def plan_text(plan: EffectsPlan, estimate: Estimate) -> str:
    """Return what would be asked, and what it needs at most."""
    said = f"{_asked(plan)}; {estimate.answers} answers are missing"
    if not estimate.requests:
        return f"{said}; no model is asked"
    cost = "a cost that is not known" if estimate.cost_usd is None else f"{estimate.cost_usd:.4f} USD"
    tokens = f"{estimate.prompt_tokens:,} + {estimate.completion_tokens:,} tokens"
    return f"{said}; at most {estimate.requests} requests to {estimate.model}, {tokens}, {cost}"


def verdict_text(report: EffectsReport) -> str:
    """Return the verdict in one sentence."""
    if report.max_lost is not None and len(report.lost) > report.max_lost:
        return f"WORSE: {len(report.lost)} answers are lost, {report.max_lost} may be"
    return SAYS[report.verdict]


def _lines(report: EffectsReport) -> Iterator[str]:
    yield _asked(report.plan)
    yield headline(report)
    for one in report.tested:
        if one.test.pairs or one is report.tested[0]:
            yield f"  {one.metric}: {_tested(one)}"
    for kind in _SHOWN:
        for effect in report.effects:
            if effect.kind == kind:
                yield from _effect(effect)
    yield f"verdict: {verdict_text(report)} (tolerance {report.tolerance:g})"


def _asked(plan: EffectsPlan) -> str:
    names = [str(number) if number else "draft" for number in (plan.before_number, plan.after_number)]
    asked = {"set": f"the set {plan.source_name!r}", "file": plan.source_name, "chat": "the chat"}[plan.source]
    return f"{plan.kb_name}: version {names[0]} -> {names[1]}, {len(plan.questions)} questions of {asked}"


def _tested(one: Tested) -> str:
    test = one.test
    if test.low is None or test.high is None or test.p_worse is None:
        return "not scored"
    few = f" (fewer than {LEAST})" if test.pairs < LEAST else ""
    few += f" and {one.gone} whose paragraph is gone" if one.gone else ""
    change = f"{number(one.before)} -> {number(one.after)}, [{test.low:+.4f}, {test.high:+.4f}]"
    return (
        f"{change}, {test.pairs} questions{few}, "
        f"{one.fell} fell, {one.rose} rose, p of a drop {test.p_worse:.4f}: {SAYS[test.verdict]}"
    )


def _effect(effect: Effect) -> Iterator[str]:
    gone = ", its paragraph is gone" if effect.gone else ""
    yield f"{effect.kind}{gone}: {_cut(effect.question.question)}"
    yield f"  - {_side(effect.before)}"
    yield f"  + {_side(effect.after)}"


def _side(answer: SideAnswer) -> str:
    places = ", ".join(dict.fromkeys(one.path for one in answer.passages))
    right = {True: "right", False: "wrong", None: ""}[answer.right]
    about = "; ".join(part for part in (places, right) if part)
    return f"{_cut(answer.text) if answer.answered else answer.outcome}{f' ({about})' if about else ''}"


def _cut(text: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _TEXT else f"{line[: _TEXT - 1]}…"
