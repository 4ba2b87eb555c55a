"""The documentation holds what the registries hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.llm.registry import PROVIDERS, Provider
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
        *("benchmark run", "benchmark resume", "benchmark list", "kb ask", "serve", "doctor"),
        *("datasets fetch", "datasets list", "datasets push"),
    ],
)
def test_every_command_is_documented(command: str) -> None:
    assert f"chatbot-mvp {command}" in (ROOT / "README.md").read_text("utf-8")


def test_nothing_written_at_run_time_is_tracked() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    tracked = subprocess.run(["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(path.startswith(("data/samples/", "data/env.example")) for path in tracked.stdout.split())
