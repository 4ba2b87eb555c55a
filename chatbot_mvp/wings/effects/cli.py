"""The command ``kb effects``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from chatbot_mvp.cli.common import EnvOption, JsonOption, kb_of, open_app, print_json
from chatbot_mvp.cli.limits import finite_option
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.evaluation.drops.verdict import TOLERANCE
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.effects.reports import plan_text, report_text
from chatbot_mvp.wings.effects.service import DRAFT, Effects

effects = typer.Typer()


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
    """Ask two versions the same questions, and test what changed. Exit code: 0 not worse, 3 worse, 4 cannot tell."""
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
            say(plan_text(plan, needed))
        return
    if needed.requests:
        say(plan_text(plan, needed), error=True)
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
