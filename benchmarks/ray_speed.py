"""Compare the seconds of a run's phases: the local engine, and Ray with one and with two workers.

    python benchmarks/ray_speed.py [--dataset DIR] [--full] [--strategy BRIDGE_HYBRID] [--embed] [--rounds 1] [--json]

The nodes are ``ray start`` of one CPU each on this machine, up before the measurement. A first local run fills the
caches, so that the figures are of the search; with --embed each run begins without vectors. --full takes a synthetic
data set of HotpotQA's size, 7,405 questions over 66,576 documents (see ``full_scale``). Engines take turns, and the
table has medians over the rounds. Two workers can be faster than one only if two cores are free: the load average, on
the number of cores, is printed beside the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
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
WORKERS = (0, 1, 2)
"""Workers of Ray; 0: the local engine."""


@dataclass(frozen=True)
class Measured:
    """One run, or the median of several."""

    workers: int
    seconds: dict[str, float]
    """Phase -> seconds; "whole" is the sum of all phases."""
    load: float
    """Load average of the last minute, at the end."""
    metrics: dict[str, float]


def measure(data_dir: Path, dataset: Path, strategy: str, workers: int) -> Measured:
    """Run the command once.

    Raises:
        RuntimeError: it failed; with its last output.
    """
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR")}
    environment = {**kept, "DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT), "RETRIEVAL_STRATEGY": strategy}
    if not workers:
        return _run(environment, dataset, workers, data_dir)
    with RayNodes(workers) as nodes:
        environment |= {**nodes.environment, "EVAL_ENGINE": "ray", "RAY_ADDRESS": nodes.address}
        return _run(environment, dataset, workers, data_dir)


def _run(environment: dict[str, str], dataset: Path, workers: int, folder: Path) -> Measured:
    command = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--no-generation", "--json"]
    done = subprocess.run(
        [*command, "--dataset", str(dataset)], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stdout[-500:]} {done.stderr[-1_000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    seconds = {phase: result["seconds"].get(phase, 0.0) for phase in PHASES}
    seconds["whole"] = round(sum(result["seconds"].values()), 2)
    return Measured(workers, seconds, round(os.getloadavg()[0], 1), result["metrics"])


def compare(data_dir: Path, dataset: Path, strategy: str, rounds: int, embed: bool) -> list[Measured]:
    """Measure every number of workers ``rounds`` times; return the medians.

    Args:
        embed: True to delete the cached vectors before each run.
    """
    measure(data_dir, dataset, strategy, 0)
    found: dict[int, list[Measured]] = {workers: [] for workers in WORKERS}
    for _ in range(rounds):
        for workers in WORKERS:
            if embed:
                for path in (data_dir / "cache").glob("vectors.sqlite*"):
                    path.unlink()
            found[workers].append(measure(data_dir, dataset, strategy, workers))
            shutil.rmtree(data_dir / "results", ignore_errors=True)
    return [_median(runs) for runs in found.values()]


def _median(runs: list[Measured]) -> Measured:
    seconds = {phase: round(median(run.seconds[phase] for run in runs), 2) for phase in runs[0].seconds}
    return replace(runs[0], seconds=seconds, load=median(run.load for run in runs))


def table(found: list[Measured]) -> str:
    """Return the figures as a Markdown table; ratios are the seconds of one worker divided by those of two."""
    names = {0: "local", 1: "ray, 1 worker", 2: "ray, 2 workers"}
    phases = list(found[0].seconds)
    lines = [f"| engine | {' | '.join(phases)} | load on {os.cpu_count()} cores |", "|---" * (len(phases) + 2) + "|"]
    for run in found:
        figures = " | ".join(f"{run.seconds[phase]:.1f}" for phase in phases)
        lines.append(f"| {names[run.workers]} | {figures} | {run.load:.1f} |")
    for label, over, under in (("local / 2 workers", 0, 2), ("1 worker / 2 workers", 1, 2)):
        ratios = [
            f"{found[over].seconds[phase] / found[under].seconds[phase]:.2f}" if found[under].seconds[phase] else "–"
            for phase in phases
        ]
        lines.append(f"| {label} | {' | '.join(ratios)} | |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, default=HOTPOTQA)
    parser.add_argument("--full", action="store_true", help="synthetic data set of HotpotQA's size")
    parser.add_argument("--documents", type=int, default=66_576, help="with --full")
    parser.add_argument("--queries", type=int, default=7_405, help="with --full")
    parser.add_argument("--strategy", default="BRIDGE_HYBRID")
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, dataset = Path(name), arguments.dataset.resolve()
        if arguments.full:
            dataset = full_scale.prepare(folder, 7, arguments.documents, arguments.queries)
        found = compare(folder, dataset, arguments.strategy, arguments.rounds, arguments.embed)
    same = all(run.metrics == found[0].metrics for run in found)
    if arguments.json:
        print(json.dumps([asdict(run) for run in found]))
    else:
        print(table(found))
        print(f"metrics: {'equal' if same else 'different'}")
    return int(not same)


if __name__ == "__main__":
    raise SystemExit(main())
