"""``app_settings.json``: what was chosen in Admin and outlives the process. Never a key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.storage.json_object import change_object, read_object


def saved_provider(path: Path) -> str:
    """The provider chosen in Admin; "" if none was, or the file cannot be read: a choice is then made anew."""
    provider = read_object(path).get("provider")
    return provider if isinstance(provider, str) else ""


def save_provider(path: Path, provider: str) -> None:
    """Keep the choice; other entries of the file stay.

    Raises:
        ChoiceNotKept
    """
    change_object(path, lambda found: found.update(provider=provider))


def saved_settings(path: Path) -> Mapping[str, Any]:
    """Settings changed in Admin, by name, as they were written."""
    found = read_object(path).get("settings")
    return found if isinstance(found, dict) else {}


def save_settings(path: Path, values: Mapping[str, Any]) -> None:
    """Keep these settings in place of those before; other entries of the file stay.

    Raises:
        ChoiceNotKept
    """
    change_object(path, lambda found: found.update(settings=dict(values)))
