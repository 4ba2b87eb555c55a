"""``app_settings.json``: what was chosen in Admin and outlives the process. Never a key."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def saved_provider(path: Path) -> str:
    """The provider chosen in Admin; "" if none was, or the file cannot be read: a choice is then made anew."""
    provider = _read(path).get("provider")
    return provider if isinstance(provider, str) else ""


def save_provider(path: Path, provider: str) -> None:
    """Keep the choice; other entries of the file stay."""
    _save(path, "provider", provider)


def saved_min_evidence(path: Path) -> float | None:
    """The evidence threshold that was chosen; None if none was, or it cannot be read."""
    value = _read(path).get("kb_min_evidence")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def save_min_evidence(path: Path, value: float) -> None:
    """Keep the choice; other entries of the file stay."""
    _save(path, "kb_min_evidence", value)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _save(path: Path, name: str, value: str | float) -> None:
    entries = {**_read(path), name: value}
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(entries, file, ensure_ascii=False, indent=2)
    # In one step: a reader never meets half a file.
    Path(partial).replace(path)
