"""Kill nodes and drivers of runs on a Ray cluster of two nodes. The results must equal those of an unbroken run.

The nodes are two ``ray start`` of one CPU each on this machine, the provider is a stub on loopback. Kills alternate
between the second node (SIGKILL of its raylet and its workers; a new node follows) and the process of the run (SIGKILL;
then a resume). A run whose node was killed must end by itself. The time of a kill is drawn uniformly from the duration
of an unbroken run without its start. Every second pair of runs starts without cached indexes and vectors.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chaos import BEFORE, CommandLine, differences_of, finish
from chatbot_mvp.runs.records import RunFolder, run_folders
from chatbot_mvp.storage.jsonl import read_lines
from tests.evaluation.benchmark.judge_stub import ModelStub
from tests.wings.ray.nodes import RayNodes

NODE, DRIVER = "node", "driver"


@dataclass
class Report:
    """What happened, and the differences found."""

    seconds_unbroken: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    """Victim and phase -> kills."""
    survived: int = 0
    """Runs whose result equals that of the unbroken run, with each query once in every phase."""
    runs: int = 0
    resumes: int = 0
    redone: int = 0
    """Replies that the provider gave once more, of ``answers``."""
    answers: int = 0
    parts_left: int = 0
    """Parts of workers that a finished run left on the disk."""
    differences: list[str] = field(default_factory=list)


def kill_runs(
    folder: Path, kills: int, seed: int = 7, strategy: str = "BRIDGE_HYBRID", queries: int = 0, latency: float = 0.25
) -> Report:
    """Kill ``kills`` runs once each; the report says what differs.

    Args:
        folder: where everything is written; must be empty.
        queries: number of queries of each run; 0 for all of the bundled data set.
        latency: of the provider, in seconds.
    """
    report, moments = Report(), random.Random(seed)
    with ModelStub(latency) as stub, RayNodes(2) as nodes:
        line = CommandLine(folder, stub, strategy, queries, calls=4)
        line.environment |= {**nodes.environment, "EVAL_ENGINE": "local"}
        # The unbroken run is of the local engine: the runs on the cluster must equal it, too.
        finish(line.start("run"), line)
        [unbroken] = run_folders(line.data / "results")
        per_run = sum(stub.answered.values())
        line.environment |= {"EVAL_ENGINE": "ray", "RAY_ADDRESS": nodes.address}
        report.seconds_unbroken = _unbroken_seconds(line)
        stub.reset()
        for number in range(kills):
            if number % 4 < 2:
                shutil.rmtree(line.data / "cache" / "indexes", ignore_errors=True)
                for path in (line.data / "cache").glob("*.sqlite*"):
                    path.unlink()
            victim = (NODE, DRIVER)[number % 2]
            run = _killed(line, nodes, victim, moments.uniform(0, report.seconds_unbroken), report)
            report.runs += 1
            found = differences_of(unbroken, run)
            report.survived += not found
            report.differences += found
            report.parts_left += len(list(run.path.glob("parts/*")))
        report.answers = report.runs * per_run
        report.redone = sum(stub.answered.values()) - report.answers
    return report


def _unbroken_seconds(line: CommandLine) -> float:
    """Return the seconds of a second run on the cluster, from its manifest to its end: the first is slower."""
    for _ in range(2):
        process, _ = _started(line)
        began = time.monotonic()
        finish(process, line)
    return time.monotonic() - began


def _started(line: CommandLine) -> tuple[subprocess.Popen[bytes], RunFolder]:
    """Start a run and wait for its manifest."""
    known = {run.run_id for run in run_folders(line.data / "results")}
    process = line.start("run")
    while True:
        if new := [run for run in run_folders(line.data / "results") if run.run_id not in known]:
            return process, new[0]
        if process.poll() is not None:
            finish(process, line)
        time.sleep(0.02)


def _killed(line: CommandLine, nodes: RayNodes, victim: str, moment: float, report: Report) -> RunFolder:
    """Start a run, kill a node or the run's process at a moment in seconds, and bring the run to its end."""
    process, run = _started(line)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        report.kills[f"{victim}, {_phase(line, run)}"] += 1
        if victim == NODE:
            nodes.kill_last()
            nodes.add()
        else:
            process.kill()
    else:
        report.kills[f"{victim}, after the end"] += 1
    finish(process, line, may_be_killed=victim == DRIVER)
    if run.state() != "finished":
        report.resumes += 1
        finish(line.start("resume", run.run_id), line)
    return run


def _phase(line: CommandLine, run: RunFolder) -> str:
    """Return the phase of the latest record, or the one that the process reported last."""
    rows, _ = read_lines(run.path / "records.jsonl")
    return str(rows[-1]["phase"]) if rows else line.phase() or BEFORE
