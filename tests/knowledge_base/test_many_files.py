"""A knowledge base of many files is made in operations in proportion to their number."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

from chatbot_mvp.knowledge_base.gathering import given_contents
from chatbot_mvp.settings.model import Settings
from tests.fakes import fake_app


def operations(settings: Settings, folder: Path, count: int) -> int:
    """Calls of functions that making a knowledge base of so many short files takes."""
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL", data_dir=folder))
    files = given_contents(
        [(f"d{n}.md", f"# Uno {n}\n\nEl documento {n} trata de {n * 7}.\n".encode()) for n in range(count)]
    )
    profile = cProfile.Profile()
    profile.runcall(app.kb_filing.create, "muchos", files)
    total: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return total


def test_eight_times_the_files_take_at_most_eight_times_the_operations(settings: Settings, tmp_path: Path) -> None:
    few, many = (operations(settings, tmp_path / str(count), count) for count in (50, 400))
    assert many <= 8 * few
