"""A small JSON object on disk, changed in one step: a reader never meets half a file."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import ChoiceNotKept

_lock = threading.Lock()


def read_object(path: Path) -> dict[str, Any]:
    """The object; empty where there is none, or the file cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def change_object(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Read the object, change it in place and write it.

    Raises:
        ChoiceNotKept: it cannot be written; what was there stays.
    """
    with _lock:
        found = read_object(path)
        change(found)
        name = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(found, file, ensure_ascii=False, indent=2)
            Path(name).replace(path)
        except OSError as error:
            if name:
                Path(name).unlink(missing_ok=True)
            raise ChoiceNotKept(path=str(path), reason=error.strerror or str(error)) from error
