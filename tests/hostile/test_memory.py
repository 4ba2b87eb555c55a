"""The largest legal upload is read and split within 500 MB of memory, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from typing import Any

import pytest

from chatbot_mvp.documents.blocks import paragraphs
from chatbot_mvp.settings.fields import SettingFields
from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.hostile.memory import UPLOADS

DEFAULT = SettingFields.model_fields["kb_max_chars"].default
LONGEST = 20_000_000
"""Largest legal KB_MAX_CHARS."""
MOST_MB = 500


def measured(kind: str, max_chars: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.hostile.memory", kind, str(max_chars)]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True, timeout=150)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "max_chars"),
    [*((kind, DEFAULT) for kind in UPLOADS), *((kind, LONGEST) for kind in UPLOADS if "one line" in kind)],
)
def test_the_largest_uploads_are_read_within_500_mb_even_if_nothing_is_cut(kind: str, max_chars: int) -> None:
    found = measured(kind, max_chars)
    assert max(found["mb"]) < MOST_MB, found


def test_a_megabyte_on_one_line_is_split_with_little_memory() -> None:
    """A repetition that the regular expression could undo took 120 bytes for each character."""
    text = "palabra " * 130_000
    tracemalloc.start()
    paragraphs(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(text)
