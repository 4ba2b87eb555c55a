"""Kill the application with SIGKILL while it saves settings, chats, takes uploads and runs benchmarks.

    python -m tests.kills.app [--kills 1000] [--seed 7] [--work settings chats uploads runs] [--json]
    python -m tests.kills.app --work tune sync promise review       sync needs a bucket, see evaluation_works.py

Modules are imported once. Each process of the application is forked from there, works on the data folder that the
previous one left, and reports on a pipe what it begins and what is done. After the kill another process reads the
folder: what was reported as done must be there, what was only begun must be there whole or not at all. The exit code is
1 if anything differs. Needs ``fork``. ``benchmarks/chaos.py`` does the same with processes of the command line.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.process import plain_environment
from tests.kills.evaluation_works import EVALUATION_WORKS
from tests.kills.works import WORKS, Said, Say, Work

ALL_WORKS = {**WORKS, **EVALUATION_WORKS}
_FROM_THE_START = 0.1
"""Share of the kills whose moment is counted from the fork, so that they may hit the start-up."""


@dataclass
class Report:
    """Counts of what happened, and the differences found."""

    kills: Counter[str] = field(default_factory=Counter)
    """"<work>: <phase>" -> kills in it."""
    done: Counter[str] = field(default_factory=Counter)
    """Work -> pieces of work that ended before a kill."""
    damaged_lines: dict[str, int] = field(default_factory=dict)
    """Work -> lines that a kill has torn, as readers count them at the end."""
    seconds: float = 0.0
    differences: list[str] = field(default_factory=list)


def chaos(folder: Path, kills: int, seed: int = 7, works: tuple[str, ...] = tuple(WORKS)) -> Report:
    """Kill processes that do each kind of work in turns, and check the folder after each kill.

    Args:
        folder: for everything that is written; must be empty.
    """
    report, moments, began = Report(), random.Random(seed), time.monotonic()
    states = {name: ALL_WORKS[name]() for name in works}
    spans = {}
    for name, work in states.items():
        # Two processes that are not killed; the second shows how long a piece of work takes after the start.
        for number in range(2):
            said, error = process(partial(serve, work, folder / name, number, 1), None, 0.0)
            if error:
                raise RuntimeError(f"{name} fails without a kill: {error}")
            work.learn(said)
        first, last = (moment for kind, _, moment in said if kind == "ready")
        spans[name] = last - first
    for kill in range(1, kills + 1):
        name = works[kill % len(works)]
        work = states[name]
        ready = moments.random() >= _FROM_THE_START
        delay = moments.uniform(0, spans[name] * work.pieces)
        said, error = process(partial(serve, work, folder / name, kill * 1_000, 10**9), ready, delay)
        work.learn(said)
        phases = [phase for kind, _, phase in said if kind == "phase"]
        report.kills[f"{name}: {phases[-1] if phases else 'start-up'}"] += 1
        report.done[name] += sum(kind == "ready" for kind, *_ in said[1:])
        checked, failed = process(partial(check, work, folder / name), None, 0.0)
        problems, report.damaged_lines[name] = checked[0][1:] if checked else (["the folder cannot be read"], 0)
        report.differences += [f"kill {kill}, {name}: {each}" for each in (*problems, error, failed) if each]
    report.seconds = round(time.monotonic() - began, 1)
    return report


def check(work: Work, data: Path, say: Say) -> None:
    say("found", *work.check(work.app(data)))


def serve(work: Work, data: Path, start: int, pieces: int, say: Say) -> None:
    app = work.app(data)
    say("ready", "", time.monotonic())
    for number in range(start, start + pieces):
        work.work(app, say, number)
        say("ready", "", time.monotonic())


def process(serve: Callable[[Say], None], ready: bool | None, delay: float) -> tuple[Said, str]:
    """Fork a process, and kill it if ``ready`` is not None. Return (what it reported, its error or "").

    Args:
        ready: whether ``delay``, in seconds, counts from its first report and not from the fork.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            serve(lambda *values: tell(writing, *values))
        except BaseException as error:  # noqa: BLE001  (reported to the parent)
            tell(writing, "failed", repr(error), "")
        os._exit(0)
    os.close(writing)
    content = b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        if ready is not None:
            while ready and b"\n" not in content and (part := pipe.read(65_536)):
                content += part
            until = time.monotonic() + delay
            while (left := until - time.monotonic()) > 0:
                if select.select([pipe], [], [], left)[0]:
                    if not (part := pipe.read(65_536)):
                        break
                    content += part
            os.kill(child, signal.SIGKILL)
        while part := pipe.read(65_536):
            content += part
    os.waitpid(child, 0)
    said = [json.loads(line) for line in content.splitlines() if line.endswith(b"]")]
    return [each for each in said if each[0] != "failed"], next((each[1] for each in said if each[0] == "failed"), "")


def forget_settings() -> None:
    """Remove the settings of whoever starts this from the environment."""
    kept = plain_environment()
    os.environ.clear()
    os.environ.update(kept)


def tell(pipe: int, *values: Any) -> None:
    os.write(pipe, json.dumps(values).encode() + b"\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--work", nargs="+", choices=ALL_WORKS, default=list(WORKS))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    forget_settings()
    with tempfile.TemporaryDirectory() as folder:
        report = chaos(Path(folder), arguments.kills, arguments.seed, tuple(arguments.work))
    if arguments.json:
        print(json.dumps(vars(report), ensure_ascii=False))
    else:
        print(f"{sum(report.kills.values())} kills in {report.seconds} s; damaged lines: {report.damaged_lines}")
        for phase, count in sorted(report.kills.items()):
            print(f"  {phase:<28} {count}")
        print("work that ended before its kill:", dict(report.done))
        print("verdict:", "; ".join(report.differences[:20]) or "nothing that was reported as done is lost")
    return int(bool(report.differences))


if __name__ == "__main__":
    raise SystemExit(main())
