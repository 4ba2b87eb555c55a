"""Read and change a small JSON object on disk. Writes are atomic, so readers never see a partial file."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import ChoiceNotKept
from chatbot_mvp.storage.files import write_json

_lock = threading.Lock()


def read_object(path: Path) -> dict[str, Any]:
    """Return the object; an empty one if the file does not exist or cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def change_object(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Read the object, change it in place and write it.

    Raises:
        ChoiceNotKept: the file cannot be written; its content stays as it was.
    """
    with _lock:
        found = read_object(path)
        change(found)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, found)
        except OSError as error:
            raise ChoiceNotKept(path=str(path), reason=error.strerror or str(error)) from error
