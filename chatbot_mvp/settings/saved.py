"""Reads and writes ``app_settings.json``: choices made in Admin that survive a restart. Contains no keys.

Several servers may use one file: each change reads the file again inside a lock and replaces only its own entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatbot_mvp.storage.json_object import change_object, read_object

Stamp = tuple[int, int, int] | None
"""Inode, time of the last change in ns and size of the file; None if there is no file."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen in Admin, not validated."""

    provider: str = ""
    """"" if none was chosen."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Name -> value of the changed settings."""


def stamp_of(path: Path) -> Stamp:
    """Return what changes whenever the file is written."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def read_choices(path: Path) -> Choices:
    """Read the file; without a file nothing was chosen.

    Raises:
        FileOfLaterVersion, InvalidJson, OSError
    """
    found = read_object(path)
    provider, settings = found.get("provider"), found.get("settings")
    return Choices(
        provider if isinstance(provider, str) else "",
        settings if isinstance(settings, dict) else {},
    )


def save_provider(path: Path, provider: str) -> None:
    """Save the chosen provider; other entries of the file are kept.

    Raises:
        ChoiceNotKept: the file cannot be written.
        FileOfLaterVersion
    """
    change_object(path, lambda found: found.update(provider=provider))


def save_setting(path: Path, name: str, value: Any) -> None:
    """Save one setting; other entries of the file are kept.

    Raises:
        ChoiceNotKept: the file cannot be written.
        FileOfLaterVersion
    """
    change_object(path, lambda found: found.update(settings={**_settings(found), name: value}))


def forget_setting(path: Path, name: str) -> None:
    """Remove one saved setting; other entries of the file are kept.

    Raises:
        ChoiceNotKept: the file cannot be written.
        FileOfLaterVersion
    """

    def change(found: dict[str, Any]) -> None:
        found["settings"] = {other: value for other, value in _settings(found).items() if other != name}

    change_object(path, change)


def _settings(found: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = found.get("settings")
    return settings if isinstance(settings, dict) else {}
