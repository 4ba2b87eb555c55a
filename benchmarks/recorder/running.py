"""Parts, run one after the other, each in an empty folder and without settings of whoever runs them."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from benchmarks.process import plain_environment
from benchmarks.recorder.facts import PARTS, Fact, Place, plain
from benchmarks.script import ROOT


def shared_datasets() -> Path | None:
    folder = ROOT.parent / "shared" / "datasets"
    return folder if folder.is_dir() else None


def prepare() -> None:
    """Make this process independent of the environment's settings, and its vectors of the processor."""
    kept = plain_environment()
    for name in os.environ.keys() - kept.keys():
        del os.environ[name]
    from benchmarks.recorder.vectors import use_float32

    use_float32()


def facts_of(part: str, sample: bool) -> Iterator[Fact]:
    """Yield the facts of a part, as they are read from a recording.

    Raises:
        ValueError: two facts have one name, or one that does not begin with the part's.
    """
    seen: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="recorder-") as work, chdir(work):
        place = Place(Path(work).resolve(), shared_datasets(), sample)
        for fact in importlib.import_module(PARTS[part]).facts(place):
            if fact.name in seen or not fact.name.startswith(f"{part}/"):
                raise ValueError(f"{fact.name}: a second one, or not of {part}")
            seen.add(fact.name)
            yield Fact(fact.name, plain(fact.value), fact.like, fact.shared)
