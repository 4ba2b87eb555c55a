"""Remember in the bucket which knowledge bases were deleted, so that an old copy does not bring them back.

A knowledge base that is uploaded again has a later time of upload. Therefore the record of a deletion is never removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.storage.formats import TOMBSTONE, VERSION
from chatbot_mvp.wings.sharing.places import record_of
from chatbot_mvp.wings.sharing.reading import json_of, object_of


def tombstone_of(kb_id: str) -> str:
    """Return the name of the object that records the deletion of a knowledge base."""
    return f"deleted/{kb_id}.json"


class Tombstones:
    """The records of deletions below a shared root.

    Each has the time of the last upload of what was deleted, as its record had it (ISO 8601, UTC), and its files.
    """

    def __init__(self, storage: Storage, root: S3Url, remote: Mapping[str, RemoteFile]) -> None:
        """
        Args:
            remote: the listing of the shared root.
        """
        self._storage = storage
        self._root = root
        self._remote = remote

    def find(self, kb_id: str, data_dir: Path) -> dict[str, str] | None:
        """Return the deleted files, if the version that this machine has was deleted, or a later one; else None.

        Returns:
            Shared path -> SHA-256 of the deleted version, in hex, as far as it is known.

        Raises:
            StorageError
        """
        file = self._remote.get(tombstone_of(kb_id))
        found = json_of(self._storage, self._root, file) if file else {}
        deleted, mine = _added_at(found), _added_at(object_of(data_dir / record_of(kb_id)))
        files = found.get("files")
        # Both times have one format, so that their order is that of their letters.
        if not deleted or not mine or mine > deleted or not isinstance(files, dict):
            return None
        return {str(path): str(sha256) for path, sha256 in files.items()}

    def write(self, kb_id: str, files: Mapping[str, str]) -> None:
        """Record the deletion of the version in the bucket. Without a readable record of it there is nothing to write.

        Args:
            files: as ``find`` returns them.

        Raises:
            StorageChanged: another machine has deleted it, or changed its record, at the same time.
            StorageError
        """
        record = self._remote.get(record_of(kb_id))
        added_at = _added_at(json_of(self._storage, self._root, record)) if record else ""
        if not added_at:
            return
        before = self._remote.get(tombstone_of(kb_id))
        content = json.dumps({VERSION: TOMBSTONE, "added_at": added_at, "files": dict(files)}).encode()
        self._storage.put(content, self._root / tombstone_of(kb_id), before.etag if before else None)


def _added_at(record: Mapping[str, Any]) -> str:
    found = record.get("added_at")
    return found if isinstance(found, str) else ""
