"""The command ``sync``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from chatbot_mvp.cli.common import EnvOption, JsonOption, open_app, print_json
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.sharing.errors import SharingError
from chatbot_mvp.wings.sharing.plan import Deletions
from chatbot_mvp.wings.sharing.service import Sharing, skipped_lines

sharing = typer.Typer()


@sharing.command("sync")
def exchange_with_bucket(
    deletions: Annotated[
        Deletions,
        typer.Option(help="Many deletions at once: wait, apply them, or undo them so that both sides have all files"),
    ] = Deletions.WAIT,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    sharer = open_app(env).get(Sharing)
    report = sharer.exchange(deletions.value)
    if as_json:
        print_json(asdict(report))
        return
    done = ", ".join(f"{count} {action}" for action, count in sorted(report.counts.items())) or "nothing to do"
    say(f"{sharer.root}: {done} ({report.seconds:.1f} s)")
    for path in report.conflicts:
        say(f"changed on two machines; the version of this one: {path}")
    for line in skipped_lines(report.skipped):
        say(f"not shared: {line}")
    if report.waiting:
        say(
            str(
                SharingError(
                    "shared_deletions_wait", count=len(report.waiting), root=sharer.root, example=report.waiting[0]
                )
            )
        )
    if report.later:
        say(f"{report.later} files changed meanwhile; run the command again")
