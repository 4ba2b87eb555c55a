"""The command ``kb effects``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from chatbot_mvp.cli.common import EnvOption, JsonOption, kb_of, open_app, print_json
from chatbot_mvp.cli.limits import finite_option
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.evaluation.drops.lines import SAYS, number
from chatbot_mvp.evaluation.drops.verdict import TOLERANCE
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.effects.comparing import LEAST, EffectsReport, Tested
from chatbot_mvp.wings.effects.service import DRAFT, Effects
from chatbot_mvp.wings.effects.types import Effect, EffectsPlan, Estimate, Kind, SideAnswer

effects = typer.Typer()

_SHOWN: tuple[Kind, ...] = ("lost", "new", "changed", "elsewhere")
_TEXT = 160  # characters of an answer or question in a line


@effects.command("effects")
def kb_effects(
    name: Annotated[str, typer.Argument(help="A stored knowledge base")],
    questions: Annotated[
        str,
        typer.Option(
            help="JSONL file of questions, or id of a question set; by default the newest set, and without one the "
            "last 200 questions of the chat"
        ),
    ] = "",
    before: Annotated[
        str, typer.Option("--from", metavar="VERSION", help="Version without the change; by default the current one")
    ] = "",
    after: Annotated[
        str, typer.Option("--to", metavar="VERSION", help="Version with the change; by default the draft")
    ] = DRAFT,
    last: Annotated[int, typer.Option(min=0, help="Ask the last so many questions of the chat instead")] = 0,
    tolerance: Annotated[
        float, typer.Option(min=0, callback=finite_option, help="Drop of a mean that is accepted")
    ] = TOLERANCE,
    max_lost: Annotated[
        int | None, typer.Option(min=0, help="Accept so many lost answers, instead of testing their share")
    ] = None,
    publish: Annotated[bool, typer.Option("--publish", help="Publish the draft if it is not worse")] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print what would be asked and what it costs at most, and ask nothing")
    ] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    if questions and last:
        raise typer.BadParameter("give one of --questions and --last", param_hint="--last")
    if publish and after != DRAFT:
        raise typer.BadParameter("only the draft can be published; leave out --to", param_hint="--publish")
    app = open_app(env)
    service = app.get(Effects)
    plan = service.plan(kb_of(app, name), questions, before, after, last)
    needed = service.estimate(plan)
    if estimate:
        if as_json:
            print_json({"before": plan.before, "after": plan.after, "questions": len(plan.questions), **asdict(needed)})
        else:
            say(_plan_text(plan, needed))
        return
    if needed.requests:
        say(_plan_text(plan, needed), error=True)
    effects_id = service.create(plan)
    with ProgressLine() as progress:
        service.resume_now(plan.kb_id, effects_id, progress)
        report = service.report(plan.kb_id, effects_id, tolerance, max_lost)
        published = service.publish(report.plan, progress) if publish and report.passed else None
    if as_json:
        number = published.number if published else None
        print_json({**report.to_json(), "published": number})
    else:
        say(report_text(report))
        if publish:
            said = f"published as version {published.number}" if published else "not published: the draft stays"
            say(said)
    raise typer.Exit(report.exit_code)


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


def _plan_text(plan: EffectsPlan, estimate: Estimate) -> str:
    """Return what would be asked, and what it needs at most."""
    said = f"{_asked(plan)}; {estimate.answers} answers are missing"
    if not estimate.requests:
        return f"{said}; no model is asked"
    cost = "a cost that is not known" if estimate.cost_usd is None else f"{estimate.cost_usd:.4f} USD"
    tokens = f"{estimate.prompt_tokens:,} + {estimate.completion_tokens:,} tokens"
    return f"{said}; at most {estimate.requests} requests to {estimate.model}, {tokens}, {cost}"


def _verdict_text(report: EffectsReport) -> str:
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
    yield f"verdict: {_verdict_text(report)} (tolerance {report.tolerance:g})"


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
