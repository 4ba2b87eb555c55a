"""The documentation holds what the registries hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.benchmark.causes import Cause
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.llm.registry import PROVIDERS, Provider
from chatbot_mvp.metrics.registry import METRICS, MetricSpec
from chatbot_mvp.retrieval.strategies import STRATEGIES

ROOT = Path(__file__).resolve().parents[1]


def test_settings_are_documented_as_they_are() -> None:
    check = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "write_settings.py", "--check"], capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_strategy_is_documented(name: str) -> None:
    assert f"| `{name}` |" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("readme", ["README.md", "README.es.md"])
@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_every_provider_is_documented_with_what_it_needs(provider: Provider, readme: str) -> None:
    text = (ROOT / readme).read_text("utf-8")
    [row] = [line for line in text.splitlines() if line.startswith(f"| `{provider.name}` |")]
    for name in (*provider.keys, *provider.needs):
        assert name.upper() in row


@pytest.mark.parametrize(
    "command",
    [
        *("benchmark run", "benchmark resume", "benchmark list", "benchmark compare", "benchmark export"),
        *("benchmark retry", "benchmark show", "benchmark import"),
        *("datasets fetch", "datasets list", "datasets push"),
        *("kb ask", "kb evaluate", "serve", "doctor"),
    ],
)
def test_every_command_is_documented(command: str) -> None:
    assert f"chatbot-mvp {command}" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_every_metric_is_documented_with_its_direction(metric: MetricSpec) -> None:
    name = metric.family if metric.k is None else f"{metric.family}@K"
    [row] = [line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if line.startswith(f"| `{name}` |")]
    assert ("lower is better" in row) != metric.higher_is_better


def test_every_cause_and_export_format_is_documented() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert [cause for cause in Cause if f"`{cause.value}`" not in text] == []
    assert f"--format {'|'.join(FORMATS)}" in text


def test_nothing_written_at_run_time_is_tracked() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    tracked = subprocess.run(["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(path.startswith(("data/samples/", "data/env.example")) for path in tracked.stdout.split())
