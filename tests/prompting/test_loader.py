"""Prompts are read by language, and their key, which is part of fingerprints, is made as it always was."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.prompting.loader import PromptFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "es.toml").write_text('version = 3\nask = "¿{q}?"\n', "utf-8")
    (tmp_path / "en.toml").write_text('version = 12\nask = "{q}?"\n', "utf-8")
    return tmp_path


def test_a_language_without_a_file_has_the_english_prompts(folder: Path) -> None:
    prompts = PromptFolder(folder)
    assert prompts.texts("es") == {"version": 3, "ask": "¿{q}?"}
    assert prompts.texts("fr") == prompts.texts("en") == {"version": 12, "ask": "{q}?"}


def test_the_key_names_the_versions_and_is_that_of_earlier_versions_of_the_program(folder: Path) -> None:
    """Runs on disk bear this key: made in another way, none of them could be resumed or compared."""
    assert PromptFolder(folder).key == "es3-en12-6df7f2"


def test_the_key_changes_with_every_letter_of_every_language(folder: Path) -> None:
    (folder / "en.toml").write_text('version = 12\nask = "{q}!"\n', "utf-8")
    key = PromptFolder(folder).key
    assert key.startswith("es3-en12-")
    assert key != "es3-en12-6df7f2"
