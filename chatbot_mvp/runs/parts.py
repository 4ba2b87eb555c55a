"""Parts: what a worker in another process did for a run, kept until the run's own process has recorded it.

``<results>/<run_id>/parts/<hash>.json`` holds the records of one shard. The hash is that of the run's fingerprint, the
phase and the ids of the shard, so that whether a shard is done is read from the folder. A part is written whole and
never changed. Two workers that do the same shard replace each other's part by an equal one.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import FileOfLaterVersion
from chatbot_mvp.llm.base import Completion, Usage
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import QueryRecord, RunFolder, not_written
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.storage.files import make_folder, write_json
from chatbot_mvp.storage.formats import RUN_PART, VERSION, complete, known_version
from chatbot_mvp.storage.json_object import parse_json

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShardPart:
    """The records of one shard, and what they cost."""

    records: list[QueryRecord]
    """All of status "ok"."""
    calls: str
    """Name in the run's usage for the requests to models."""
    replies: list[Completion]
    """The replies of models, without their texts."""


class ShardParts:
    """The parts of one run. Its workers write them; the process that holds the run's lock reads and deletes them."""

    def __init__(self, folder: RunFolder, manifest: RunManifest) -> None:
        self._folder = folder
        self._path = folder.path / "parts"
        identity = (manifest.fingerprint, manifest.generator_fingerprint, manifest.judge_fingerprint)
        self._identity = [manifest.run_id, manifest.code_version, manifest.dataset_sha256, *identity]

    def path(self, phase: str, query_ids: Sequence[str]) -> Path:
        """Return where the part of a shard is, or will be."""
        content = json.dumps([*self._identity, phase, *query_ids]).encode()
        return self._path / f"{hashlib.sha256(content).hexdigest()[:32]}.json"

    def write(self, path: Path, part: ShardPart) -> None:
        """Write a part, unless the run is finished. When this returns, the part survives a crash.

        A worker that was taken for dead may end its work after the run, which then has these records from another one.

        Raises:
            RunError (run_not_written): the disk is full or not writable.
        """
        if self._folder.finished:
            return
        content = {
            VERSION: RUN_PART,
            "records": [vars(record) for record in part.records],
            "calls": part.calls,
            "replies": [_reply(completion) for completion in part.replies],
        }
        try:
            make_folder(self._path)
            write_json(path, content, indent=None)
        except (OSError, ValueError) as error:
            raise not_written(self._folder.run_id, str(path), error) from error

    def read(self, path: Path) -> ShardPart | None:
        """Read a part; None if there is none, or if it is damaged."""
        if not path.is_file():
            return None
        try:
            found = known_version(parse_json(path.read_bytes()), path, RUN_PART)
            records = [QueryRecord(**complete(row, QueryRecord)) for row in found["records"]]
            return ShardPart(records, found["calls"], [_completion(row) for row in found["replies"]])
        except (OSError, ValueError, AttributeError, TypeError, KeyError, FileOfLaterVersion) as error:
            _log.warning("%s is ignored: %s", path, error)
            return None

    def forget(self, paths: Iterable[Path]) -> None:
        """Delete parts whose records are in the journal."""
        for path in paths:
            path.unlink(missing_ok=True)

    def absorb(self, journal: Journal, spending: Spending) -> None:
        """Record what the workers of an earlier attempt did after it had ended, and delete the parts.

        A query that has a record keeps it.

        Raises:
            RunError (run_not_written): the disk is full or not writable; the parts stay.
        """
        for path in sorted(self._path.glob("*.json")):
            part = self.read(path)
            if part is not None and (new := [one for one in part.records if one.query_id not in journal.of(one.phase)]):
                for completion in part.replies:
                    spending.seen(part.calls, completion)
                journal.add(new)
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self._path.rmdir()


def _reply(completion: Completion) -> dict[str, Any]:
    return {
        "model": completion.model,
        "seconds": completion.seconds,
        "cached": completion.cached,
        "usage": asdict(completion.usage),
    }


def _completion(row: dict[str, Any]) -> Completion:
    return Completion(
        "", row["model"], row["seconds"], usage=Usage(**complete(row["usage"], Usage)), cached=row["cached"]
    )
