"""What other programs see: the command line, the endpoint of ``serve``, the tools of MCP, and the log."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from benchmarks.recorder import serving
from benchmarks.recorder.commands import Chain, chains, interface, leaves
from benchmarks.recorder.facts import Fact, Place


def facts(place: Place) -> Iterator[Fact]:
    """Yield the interface of each command, and what each call says."""
    called = []
    for name, (in_sample, lines) in chains().items():
        called += [shlex.split(line.rpartition(" = ")[2].removeprefix("text ")) for line in lines if line[0] != "!"]
        if in_sample or not place.sample:
            yield from Chain(name, place.work).facts(lines)
    yield from serving.facts(place.work)
    for path, command in leaves().items():
        words = [part for part in path.split() if part != "run" or not path.startswith("tune")]
        has_call = any(line[: len(words)] == words for line in called)
        yield Fact(f"surfaces/commands/{path}", {"takes": interface(command), "called": has_call})
