"""A judge that does as it is told, without any wording of its own."""

from __future__ import annotations

import pytest

from chatbot_mvp.judges.ragas import Prompts, load_prompts


@pytest.fixture(scope="session")
def spanish() -> Prompts:
    return load_prompts("es")
