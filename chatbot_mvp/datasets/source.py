"""A place that data sets come from: a row of ``datasets.fetching``.

A plugin's module may have a source and settings of its own, so this module imports no settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatbot_mvp.settings.model import Settings
    from chatbot_mvp.types import ProgressCallback


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be fetched, and where it is to be written."""

    split: str
    """One of the source's ``splits``."""
    address: str
    """Where to get it; the source's ``address`` unless somebody named another."""
    folder: Path
    """Empty folder that the data set is written to: a folder of schema v2.0 or of BEIR."""
    cache: Path
    """Folder for what shall survive a failure, so that the next try continues there."""
    settings: Settings


@dataclass(frozen=True, slots=True)
class Notes:
    """What a source says about what it fetched."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """For programs: name -> a value of JSON."""
    lines: tuple[str, ...] = ()
    """For people, one line each."""


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """Fetches data sets for ``datasets fetch NAME``."""

    name: str
    write: Callable[[Order, ProgressCallback], Notes | None]
    """Writes the data set to ``Order.folder``. It is checked afterwards, and replaces an earlier copy only if it is
    valid. A progress callback may raise to stop the work."""
    splits: tuple[str, ...] = ("test",)
    """The first one is fetched unless another is asked for. It is stored under the source's name, another one under
    NAME_SPLIT."""
    address: str = ""
    """Usual address of its files; "" if it has none."""

    def folder_name(self, split: str) -> str:
        """Return the name of the data set that is made of a split."""
        return self.name if split == self.splits[0] else f"{self.name}_{split}"
