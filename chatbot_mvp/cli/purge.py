"""The command ``kb purge``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from chatbot_mvp.cli.common import EnvOption, JsonOption, open_app, print_json, stored_kb
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.terminal import say

kb = typer.Typer()


@kb.command("purge")
def kb_purge(
    name: Annotated[str, typer.Argument(help="Name or id of a knowledge base")],
    paths: Annotated[list[str], typer.Argument(help="Paths of documents, or of folders, which end with /")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing")] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take documents out of every version and out of everything that quotes them. This cannot be undone."""
    app = open_app(env)
    kb_id = stored_kb(app, name)
    plan = app.kb_changes.purge_plan(kb_id, paths)
    if dry_run and as_json:
        print_json({"kb_id": kb_id, "paths": plan.paths, "equal": plan.equal, "dry_run": True})
        return
    if dry_run or not yes:
        say(f"This removes {', '.join(plan.paths)} from {kb_id} and from everything that quotes it.", error=not dry_run)
        _tell_equal(plan.equal, error=not dry_run)
    if dry_run:
        return
    if not yes:
        typer.confirm("Remove it?", abort=True, err=True)
    with ProgressLine() as progress:
        report = app.kb_changes.purge(kb_id, paths, progress=progress)
    if as_json:
        print_json(asdict(report))
        return
    say(f"Removed {', '.join(report.paths)} from {report.versions} versions.")
    _tell_equal(report.equal)
    if report.damaged:
        say(f"Damaged, so not read: {', '.join(report.damaged)}.", error=True)
    say(f"Files rewritten: {report.files}. Cached rows deleted: {report.cached}.")
    say("Not covered: backups, other servers and buckets, exported files, the name of the knowledge base.")


def _tell_equal(paths: tuple[str, ...], error: bool = False) -> None:
    if paths:
        say(f"A text of it stays, wherever it is quoted, because these have it too: {', '.join(paths)}.", error=error)
