"""Folder of the installed program, and the paths derived from it: the samples and the default DATA_DIR."""

from __future__ import annotations

import os
import sys
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
        """The default DATA_DIR: ``data`` of the checkout, else ``chatbot-mvp`` in the user's data folder."""
        return self.resources if self.is_checkout else _users_folder() / "chatbot-mvp"


def _users_folder() -> Path:
    """Return the folder where the platform has programs keep a user's data; XDG_DATA_HOME wins on every platform."""
    home = Path.home()
    xdg = Path(os.environ.get("XDG_DATA_HOME", ""))
    if xdg.is_absolute():
        return xdg
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return home / ".local" / "share"


INSTALLATION = Installation(Path(__file__).resolve().parents[1])
PROJECT_ROOT = INSTALLATION.package.parent
