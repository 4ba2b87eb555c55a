"""The command ``plugins``: what wings and installed packages add."""

from __future__ import annotations

import typer

from chatbot_mvp.cli.common import JsonOption, print_json
from chatbot_mvp.health import Check
from chatbot_mvp.plugins.finding import additions, problems
from chatbot_mvp.plugins.kinds import KINDS, VERSION
from chatbot_mvp.terminal import say

plugins = typer.Typer()


@plugins.command("plugins")
def list_plugins(as_json: JsonOption = False) -> None:
    """List what wings and installed packages add, and what is left out because it cannot be loaded."""
    reasons = {problem.addition: problem.reason for problem in problems()}
    if as_json:
        rows = [
            {
                "kind": one.kind,
                "name": one.name,
                "source": one.source,
                "wing": one.is_wing,
                "loads": one.entry.value,
                "problem": reasons.get(one),
            }
            for one in additions()
        ]
        kinds = {kind.name: {"group": kind.group, "adds": kind.summary} for kind in KINDS.values()}
        print_json({"version": VERSION, "kinds": kinds, "plugins": rows})
        return
    for one in additions():
        said = f"left out: {reasons[one]}" if one in reasons else one.entry.value
        say(f"{'NO ' if one in reasons else 'ok '} {one.kind} {one.name} ({one.source}): {said}")


def check_plugins() -> Check:
    """Check that everything that is added can be loaded, for ``doctor``."""
    broken = problems()
    packages = sorted({one.source for one in additions() if not one.is_wing})
    detail = "; ".join(map(str, broken)) or ", ".join(packages) or "no installed package adds anything"
    return Check("plugins", not broken, detail)
