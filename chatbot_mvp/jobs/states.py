"""The states of jobs as JSON files. A state that a full disk refuses stays in memory, so that it is not lost."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.storage.files import write_json
from chatbot_mvp.storage.formats import JOB, VERSION
from chatbot_mvp.storage.json_object import parse_json

_log = logging.getLogger(__name__)


class StateFiles:
    """Writes and reads states. Safe to share between threads; other processes see only what is on disk."""

    def __init__(self) -> None:
        self._refused: dict[Path, dict[str, Any]] = {}
        """File -> the state that could not be written to it."""

    def create(self, path: Path, state: Mapping[str, Any]) -> None:
        """Write the first state of a job.

        Raises:
            OSError: the disk is full or not writable.
        """
        # States are written several times a second, and are worth nothing after a power failure.
        write_json(path, {VERSION: JOB, **state}, indent=None, durable=False)

    def write(self, path: Path, state: Mapping[str, Any]) -> None:
        """Replace a state. If the disk refuses to write, keep the state in memory: the job goes on."""
        try:
            self.create(path, state)
        except OSError as error:
            _log.warning("the state of a job cannot be written to %s: %s", path, error)
            self._refused[path] = {VERSION: JOB, **state}
        else:
            self._refused.pop(path, None)

    def read(self, path: Path) -> dict[str, Any]:
        """Return the latest state with its version.

        Raises:
            OSError, ValueError: it cannot be read.
        """
        refused = self._refused.get(path)
        return parse_json(path.read_bytes()) if refused is None else dict(refused)
