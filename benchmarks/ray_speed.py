"""Compare the seconds of a run: the local engine, and Ray with one and with two workers.

    python benchmarks/ray_speed.py [--dataset DIR] [--full [--documents 66576] [--queries 7405]] [--workers 0 1 2]
        [--strategy BRIDGE_HYBRID] [--embed] [--corpus N] [--rounds 1] [--folder DIR] [--json]

The nodes are ``ray start`` of one CPU each on this machine, up before the measurement. A first local run fills the
caches, so that the figures are of the search. With --embed each run begins without vectors, and --corpus takes a part
of the documents. --full takes a synthetic data set of HotpotQA's size, 7,405 questions over 66,576 documents (see
``full_scale``). --folder keeps data set and caches for the next time.

Each engine carries out a run of 32 questions, whose time is mostly that of the start, and then the whole run. Figures
are those of the command from its start to its end, and the processor time of all processes of the run, in which
other work on the machine counts little. Engines take turns, and the table has medians over the rounds. Two workers can
take less time than one only if two cores are free: the load average is printed beside the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import full_scale  # noqa: E402

from tests.ray_nodes import RayNodes  # noqa: E402

HOTPOTQA = ROOT.parent / "shared" / "datasets" / "hotpotqa"
PHASES = ("embed_corpus", "embed_queries", "retrieve")
FEW = 32
SETTLE_S = 15
"""Seconds after their start in which nodes still start processes of their own."""


@dataclass(frozen=True)
class Measured:
    """One whole run, and one of few questions before it. Or the median of several."""

    workers: int
    seconds: dict[str, float]
    """Phase -> seconds of the whole run; "start" and "whole": seconds of both commands."""
    processor: dict[str, float]
    """Processor time in seconds: "start" and "whole"."""
    queries: int
    load: float
    """Load average of the last minute, at the end."""
    metrics: dict[str, float]

    @property
    def per_query(self) -> float:
        """Processor time of a question beyond the start, in seconds. Means nothing with --embed, as both runs embed."""
        return (self.processor["whole"] - self.processor["start"]) / max(1, self.queries - FEW)


def measure(data_dir: Path, dataset: Path, changes: dict[str, str], workers: int, embed: bool) -> Measured:
    """Run the command twice on one engine. Arguments are those of ``compare``.

    Raises:
        RuntimeError: it failed; with its last output.
    """
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR")}
    environment = {**kept, "DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT), **changes}
    if not workers:
        return _measured(environment, dataset, None, data_dir, embed)
    with RayNodes(workers) as nodes:
        time.sleep(SETTLE_S)
        environment |= {**nodes.environment, "EVAL_ENGINE": "ray", "RAY_ADDRESS": nodes.address}
        return replace(_measured(environment, dataset, nodes, data_dir, embed), workers=workers)


def _measured(
    environment: dict[str, str], dataset: Path, nodes: RayNodes | None, folder: Path, embed: bool
) -> Measured:
    few = {**environment, "EVAL_MAX_QUERIES": str(FEW)}
    start_s, start_cpu, _ = _run(few, dataset, nodes, folder, embed)
    whole_s, whole_cpu, result = _run(environment, dataset, nodes, folder, embed)
    seconds = {phase: result["seconds"].get(phase, 0.0) for phase in PHASES} | {"start": start_s, "whole": whole_s}
    processor = {"start": start_cpu, "whole": whole_cpu}
    return Measured(0, seconds, processor, result["queries"], round(os.getloadavg()[0], 1), result["metrics"])


def _run(
    environment: dict[str, str], dataset: Path, nodes: RayNodes | None, folder: Path, embed: bool
) -> tuple[float, float, dict[str, Any]]:
    """Return the seconds of the command, the processor time of all its processes, and its result."""
    command = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--no-generation", "--json"]
    for path in (folder / "cache").glob("vectors.sqlite*") if embed else ():
        path.unlink()
    before: dict[int, float] = nodes.processor_seconds() if nodes else {}
    latest: dict[int, float] = dict(before)
    began, own = time.monotonic(), _of_children()
    with subprocess.Popen(
        [*command, "--dataset", str(dataset)],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while True:
            try:
                output, errors = process.communicate(timeout=0.5 if nodes else None)
                break
            except subprocess.TimeoutExpired:
                # Workers end with the run, so that their last known figures count.
                latest |= nodes.processor_seconds() if nodes else {}
    seconds = time.monotonic() - began
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {output[-500:]} {errors[-1_000:]}")
    processor = _of_children() - own + sum(latest.values()) - sum(before.values())
    result: dict[str, Any] = json.loads(output)
    shutil.rmtree(folder / "results", ignore_errors=True)
    return seconds, processor, result


def _of_children() -> float:
    """Return the processor time of the ended processes that this one has started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(
    data_dir: Path, dataset: Path, changes: dict[str, str], workers: Sequence[int], rounds: int, embed: bool
) -> list[Measured]:
    """Measure every number of workers ``rounds`` times; return the medians.

    Args:
        changes: settings of the runs, as environment variables.
        embed: True to delete the cached vectors before each run.
    """
    if not embed:
        measure(data_dir, dataset, changes, 0, False)
    found: dict[int, list[Measured]] = {count: [] for count in workers}
    for _ in range(rounds):
        for count in workers:
            found[count].append(measure(data_dir, dataset, changes, count, embed))
    return [_median(runs) for runs in found.values()]


def _median(runs: list[Measured]) -> Measured:
    seconds = {name: round(median(run.seconds[name] for run in runs), 2) for name in runs[0].seconds}
    processor = {name: round(median(run.processor[name] for run in runs), 2) for name in runs[0].processor}
    return replace(runs[0], seconds=seconds, processor=processor, load=median(run.load for run in runs))


def table(found: list[Measured]) -> str:
    """Return the figures as a Markdown table. Ratios are the figures of the first engine divided by the others'."""
    columns = [
        *PHASES,
        "start",
        "whole",
        "CPU s: start",
        "whole",
        "CPU ms per question",
        f"load, {os.cpu_count()} cores",
    ]
    lines = [f"| engine | {' | '.join(columns)} |", "|---" + "|--:" * len(columns) + "|"]
    for run in found:
        name = f"ray, {run.workers} workers" if run.workers else "local"
        figures = [*run.seconds.values(), *run.processor.values(), 1_000 * run.per_query, run.load]
        lines.append(f"| {name} | {' | '.join(f'{figure:.1f}' for figure in figures)} |")
    first, *others = found
    for run in others:
        clock, cpu = (of_first["whole"] / own["whole"] for of_first, own in _pairs(first, run))
        lines.append(f"\n{run.workers} workers: {clock:.2f} times the speed of the first, {cpu:.2f} by processor time")
    return "\n".join(lines)


def _pairs(first: Measured, other: Measured) -> list[tuple[dict[str, float], dict[str, float]]]:
    return [(first.seconds, other.seconds), (first.processor, other.processor)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, default=HOTPOTQA)
    parser.add_argument("--full", action="store_true", help="synthetic data set of HotpotQA's size")
    parser.add_argument("--documents", type=int, default=66_576, help="with --full")
    parser.add_argument("--queries", type=int, default=7_405, help="with --full")
    parser.add_argument("--strategy", default="BRIDGE_HYBRID")
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2], help="of Ray; 0: the local engine")
    parser.add_argument("--folder", type=Path, help="keeps data set and caches")
    parser.add_argument("--corpus", type=int, default=0, help="documents of the data set; 0: all")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    changes = {"RETRIEVAL_STRATEGY": arguments.strategy, "EVAL_MAX_CORPUS": str(arguments.corpus)}
    with tempfile.TemporaryDirectory() as name:
        folder, dataset = (arguments.folder or Path(name)).resolve(), arguments.dataset.resolve()
        if arguments.full:
            dataset = full_scale.prepare(folder, 7, arguments.documents, arguments.queries)
        found = compare(folder, dataset, changes, arguments.workers, arguments.rounds, arguments.embed)
    same = all(run.metrics == found[0].metrics for run in found)
    if arguments.json:
        print(json.dumps([asdict(run) for run in found]))
    else:
        print(table(found))
        print(f"metrics: {'equal' if same else 'different'}")
    return int(not same)


if __name__ == "__main__":
    raise SystemExit(main())
