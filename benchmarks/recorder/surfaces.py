"""What other programs see: the command line, the endpoint of ``serve``, the tools of MCP, and the log."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from benchmarks.recorder import serving
from benchmarks.recorder.commands import Chain, chains, interface, leaves
from benchmarks.recorder.facts import Fact, Place


def facts(place: Place) -> Iterator[Fact]:
    """Yield what each command and each request says, and the interface of each command."""
    for name, (in_sample, lines) in chains().items():
        if in_sample or not place.sample:
            yield from Chain(name, place.work).facts(lines)
    yield from serving.facts(place.work)
    for path, found in interfaces():
        yield Fact(f"surfaces/commands/{path}", found)


def interfaces() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path of each command of the program with what it takes, and whether calls.txt has a call of it."""
    lines = [line for _, chain in chains().values() for line in chain if line[0] != "!"]
    called = [shlex.split(line.rpartition(" = ")[2].removeprefix("text ")) for line in lines]
    for path, command in leaves().items():
        # Of a tune, the command ``run`` is meant where none is named, and the others may be options.
        words = [part for part in path.split() if part != "run" or not path.startswith("tune")]
        said = [[word.removeprefix("--") for word in line[: len(words)]] for line in called]
        yield path, {"takes": interface(command), "called": words in said}
