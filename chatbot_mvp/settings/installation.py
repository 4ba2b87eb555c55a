"""Folder of the installed program, and the paths derived from it: the samples and the default DATA_DIR."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Installation:
    """Folder of the program: a checkout with ``pyproject.toml`` beside the package, or an installed package."""

    package: Path
    """Folder of ``chatbot_mvp``."""

    @property
    def is_checkout(self) -> bool:
        return (self.package.parent / "pyproject.toml").is_file()

    @property
    def resources(self) -> Path:
        """Folder of the samples and examples that come with the program."""
        return (self.package.parent if self.is_checkout else self.package) / "data"

    @property
    def data_dir(self) -> Path:
        """The default DATA_DIR: ``data`` of the checkout, else the user's data folder by the XDG rules."""
        if self.is_checkout:
            return self.resources
        given = Path(os.environ.get("XDG_DATA_HOME", ""))
        return (given if given.is_absolute() else Path.home() / ".local" / "share") / "chatbot-mvp"


INSTALLATION = Installation(Path(__file__).resolve().parents[1])
PROJECT_ROOT = INSTALLATION.package.parent
