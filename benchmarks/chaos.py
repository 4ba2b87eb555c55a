"""Kill runs with SIGKILL at random moments and resume them. Their results must equal those of an uninterrupted run.

    python -m benchmarks chaos [--kills 50] [--seed 7] [--strategy BRIDGE_HYBRID] [--latency 0.25] [--json]

Every start is a separate process of the command line, against a provider on loopback whose replies depend only on the
prompts. The time of a kill is drawn uniformly from the duration of an uninterrupted run, start-up included. Resumes may
be killed as well, until one ends before its kill. Every second run starts without cached indexes and vectors; with a
cache, most kills hit the phases that ask the provider. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.process import plain_environment
from benchmarks.script import ROOT, data_folder, parser
from chatbot_mvp.runs.line import read_submissions
from chatbot_mvp.runs.records import RunFolder, run_folders
from chatbot_mvp.settings.kinds import OF_THE_MACHINE
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.jsonl import read_lines
from tests.evaluation.benchmark.judge_stub import ModelStub

PHASES = ("retrieve", "generate", "judge")
BEFORE = "start-up"
"""Phase of a process before its first progress report."""
_TIMES = ("seconds", "usage", "peak_rss_mb", "started_at", "finished_at", "run_id", "damaged_records")
"""Fields of a result that may differ between two runs."""


@dataclass
class Report:
    """Counts of what happened, and the differences found."""

    seconds_unbroken: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    """Phase -> kills in it."""
    no_run: int = 0
    """Number of kills before the manifest was written, so that there is nothing to resume."""
    resumes: int = 0
    runs: int = 0
    """Number of finished runs, without the uninterrupted one."""
    damaged_lines: int = 0
    redone: int = 0
    """The part of ``answers`` that was requested from the provider more than once."""
    answers: int = 0
    differences: list[str] = field(default_factory=list)

    def table(self) -> str:
        lines = [
            f"unbroken run            {self.seconds_unbroken:.1f} s",
            f"kills                   {sum(self.kills.values())} in {self.runs} runs",
            *(f"  {phase:<21} {count}" for phase, count in self.kills.most_common()),
            f"  before the manifest   {self.no_run} (of those in {BEFORE})",
            f"resumes                 {self.resumes}",
            f"damaged lines           {self.damaged_lines}",
            f"replies asked for again {self.redone} beside {self.answers}",
            f"verdict                 {'; '.join(self.differences) or 'each query once in every phase, all equal'}",
        ]
        return "\n".join(lines)


class CommandLine:
    """Starts ``chatbot-mvp`` in processes of their own."""

    def __init__(self, folder: Path, stub: ModelStub, strategy: str, queries: int, calls: int) -> None:
        self.data = folder / "data"
        self._cwd = folder / "cwd"
        self._cwd.mkdir(parents=True)
        self.stderr = folder / "stderr.txt"
        self.environment = plain_environment(
            **stub.environment,
            PYTHONPATH=str(ROOT),
            DATA_DIR=str(self.data),
            RETRIEVAL_STRATEGY=strategy,
            EVAL_MAX_QUERIES=str(queries),
            NIM_MAX_CONCURRENT_REQUESTS=str(calls),
        )

    def share(self, other: CommandLine) -> None:
        """Work in the other one's data folder."""
        self.data = other.data
        self.environment["DATA_DIR"] = str(self.data)

    def start(self, *arguments: str, before: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
        """Begin a command; ``before`` is called in its process."""
        with self.stderr.open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", *arguments, "--json"],
                cwd=self._cwd,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                preexec_fn=before,
            )

    def phase(self) -> str:
        """The one that the last process told of last."""
        lines = [line for line in self.stderr.read_text("utf-8", "replace").splitlines() if ": " in line]
        return lines[-1].partition(":")[0] if lines else BEFORE


def chaos(
    folder: Path,
    kills: int,
    seed: int = 7,
    strategy: str = "BRIDGE_HYBRID",
    queries: int = 0,
    latency: float = 0.1,
    calls: int = 4,
    warm: bool = True,
) -> Report:
    """Kill and resume; the report tells what is not as it should be.

    Args:
        folder: of everything that is written; must be empty.
        queries: of each run; 0 for all of the bundled data set.
        latency: of the provider, in seconds.
        calls: requests to it at the same time.
        warm: make the unbroken run twice and take the second's length: the first start on a machine is slower.
    """
    report = Report()
    moments = random.Random(seed)
    with ModelStub(latency) as stub:
        line = CommandLine(folder, stub, strategy, queries, calls)
        for _ in range(1 + warm):
            shutil.rmtree(line.data, ignore_errors=True)
            stub.reset()
            started = time.monotonic()
            finish(line.start("run"), line)
            report.seconds_unbroken = time.monotonic() - started
        [unbroken] = run_folders(line.data / "results")
        per_run = sum(stub.answered.values())
        runs = _killed_runs(line, report, kills, moments)
        report.runs = len(runs)
        report.answers = report.runs * per_run
        report.redone = sum(stub.answered.values()) - per_run - report.answers
    for run_id in runs:
        run = RunFolder(line.data / "results", run_id)
        report.damaged_lines += run.all_records()[1]
        report.differences += differences_of(unbroken, run)
    report.differences += _differences_of_submissions(line.data, [unbroken.run_id, *runs])
    return report


def _killed_runs(line: CommandLine, report: Report, kills: int, moments: random.Random) -> list[str]:
    """Ids of the runs, all of them finished."""
    results = line.data / "results"
    known = {run.run_id for run in run_folders(results)}
    runs: list[str] = []
    run_id = ""
    while sum(report.kills.values()) < kills or run_id:
        if not run_id and len(runs) % 2 == 0:
            shutil.rmtree(line.data / "cache", ignore_errors=True)
        report.resumes += bool(run_id)
        process = line.start("resume", run_id) if run_id else line.start("run")
        if sum(report.kills.values()) < kills:
            try:
                process.wait(moments.uniform(0, report.seconds_unbroken))
            except subprocess.TimeoutExpired:
                process.kill()
        finish(process, line, may_be_killed=True)
        killed = process.returncode < 0
        new = {run.run_id for run in run_folders(results)} - known
        known |= new
        run_id = run_id or "".join(new)
        if killed:
            report.kills[line.phase()] += 1
            report.no_run += not run_id
        # A kill may come after the last file and before the process has ended.
        if run_id and RunFolder(results, run_id).state() == "finished":
            runs.append(run_id)
            run_id = ""
        elif not killed:
            raise RuntimeError(f"the run {run_id!r} ended without a result")
    return runs


def finish(process: subprocess.Popen[bytes], line: CommandLine, may_be_killed: bool = False) -> None:
    """Wait for a command; raise RuntimeError with its last output if it failed."""
    code = process.wait(300)
    if code and not (may_be_killed and code < 0):
        raise RuntimeError(f"exit code {code}: {line.stderr.read_text('utf-8')[-2_000:]}")


def differences_of(unbroken: RunFolder, run: RunFolder) -> list[str]:
    """Return in which records, figures and tables a run differs from one that was not interrupted."""
    found = []
    one, other = _records(unbroken), _records(run)
    for phase in PHASES:
        if repeated := [key for key, count in other[phase].items() if count > 1]:
            found.append(f"{run.run_id}: {phase} has {repeated} more than once")
        if set(one[phase]) != set(other[phase]):
            found.append(f"{run.run_id}: {phase} has other queries: {set(one[phase]) ^ set(other[phase])}")
    expected, result = unbroken.result(), run.result()
    for part in fields(expected):
        if part.name not in (*_TIMES, "config") and getattr(expected, part.name) != getattr(result, part.name):
            found.append(f"{run.run_id}: {part.name} differs")
    if _deciding(expected.config) != _deciding(result.config):
        found.append(f"{run.run_id}: config differs")
    for kind in ("summary", "detail"):
        if _table(unbroken, kind) != _table(run, kind):
            found.append(f"{run.run_id}: {kind}.csv differs")
    return found


def _deciding(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that may decide a result: not those of the machine, such as where a run works."""
    known = Settings.model_fields
    return {name: value for name, value in config.items() if OF_THE_MACHINE not in known[name].metadata}


def _records(run: RunFolder) -> dict[str, Counter[str]]:
    """Phase -> query -> how many lines say that it went well."""
    rows, _ = read_lines(run.path / "records.jsonl")
    counts: dict[str, Counter[str]] = {phase: Counter() for phase in PHASES}
    for row in rows:
        if row["status"] == "ok":
            counts[row["phase"]][row["query_id"]] += 1
    return counts


def _table(run: RunFolder, kind: str) -> list[dict[str, Any]]:
    with (run.path / f"{run.run_id}_{kind}.csv").open(encoding="utf-8", newline="") as file:
        return [{k: v for k, v in row.items() if k not in _TIMES} for row in csv.DictReader(file)]


def _differences_of_submissions(data: Path, run_ids: list[str]) -> list[str]:
    rows, _ = read_submissions(data / "submissions.jsonl")
    listed = sorted(row.run_id for row in rows)
    return [] if listed == sorted(run_ids) else [f"submissions.jsonl lists {listed}, not {sorted(run_ids)}"]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--strategy", default="BRIDGE_HYBRID")
    options.add_argument("--latency", type=float, default=0.25, help="latency of the provider in seconds")
    options.add_argument("--json", action="store_true")
    arguments = options.parse_args()
    with data_folder(None) as folder:
        report = chaos(folder, arguments.kills, arguments.seed, arguments.strategy, latency=arguments.latency)
    print(json.dumps(vars(report), ensure_ascii=False) if arguments.json else report.table())
    return int(bool(report.differences))
