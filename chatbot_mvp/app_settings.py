"""``app_settings.json``: what was chosen in Admin and outlives the process. Never a key."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path


def saved_provider(path: Path) -> str:
    """The provider chosen in Admin; "" if none was, or the file cannot be read: a choice is then made anew."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    provider = found.get("provider") if isinstance(found, dict) else None
    return provider if isinstance(provider, str) else ""


def save_provider(path: Path, provider: str) -> None:
    """Keep the choice; other entries of the file stay."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        found = {}
    kept = found if isinstance(found, dict) else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({**kept, "provider": provider}, file, ensure_ascii=False, indent=2)
    # In one step: a reader never meets half a file.
    Path(name).replace(path)
