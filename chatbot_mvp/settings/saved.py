"""Reads and writes ``app_settings.json``: choices made in Admin that survive a restart. Contains no keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.storage.json_object import change_object, read_object


def saved_provider(path: Path) -> str:
    """Return the provider chosen in Admin; "" if none was chosen or the file cannot be read."""
    provider = read_object(path).get("provider")
    return provider if isinstance(provider, str) else ""


def save_provider(path: Path, provider: str) -> None:
    """Save the chosen provider; other entries of the file are kept.

    Raises:
        ChoiceNotKept: the file cannot be written.
    """
    change_object(path, lambda found: found.update(provider=provider))


def saved_settings(path: Path) -> Mapping[str, Any]:
    """Return the settings changed in Admin, by name, not validated."""
    found = read_object(path).get("settings")
    return found if isinstance(found, dict) else {}


def save_settings(path: Path, values: Mapping[str, Any]) -> None:
    """Replace the saved settings; other entries of the file are kept.

    Raises:
        ChoiceNotKept: the file cannot be written.
    """
    change_object(path, lambda found: found.update(settings=dict(values)))
