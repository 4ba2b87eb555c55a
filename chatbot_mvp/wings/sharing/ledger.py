"""Remember on disk which versions of the shared files were equal at the last exchange."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chatbot_mvp.storage.files import write_json
from chatbot_mvp.storage.formats import SHARED_LEDGER, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.sharing.plan import Known, Stamp

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ledger:
    """The file ``DATA_DIR/shared.json``."""

    root: str = ""
    """Id of the shared root, from its marker; "" before the first exchange."""
    files: Mapping[str, Known] = field(default_factory=dict)


def read_ledger(path: Path) -> Ledger:
    """Read the ledger. A missing or damaged one is empty: the next exchange then compares all files, deletes none.

    Raises:
        FileOfLaterVersion
    """
    if not path.is_file():
        return Ledger()
    try:
        value = known_version(parse_json(path.read_bytes()), path, SHARED_LEDGER)
        files = {
            str(name): Known(Stamp(int(size), int(mtime_ns)), str(etag), str(sha256))
            for name, (size, mtime_ns, etag, sha256) in value["files"].items()
        }
        return Ledger(str(value["root"]), files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        _log.warning("%s is damaged and is written anew: %s", path.name, error)
        return Ledger()


def write_ledger(path: Path, ledger: Ledger) -> None:
    """Replace the ledger.

    Raises:
        OSError
    """
    rows = {
        name: (known.here.size, known.here.mtime_ns, known.there, known.sha256)
        for name, known in sorted(ledger.files.items())
    }
    write_json(path, {VERSION: SHARED_LEDGER, "root": ledger.root, "files": rows}, indent=None)
