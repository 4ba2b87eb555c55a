"""The figures of a result without its queries: of a file of 18 MB the first few KB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# As ``write_json`` indents it; within a text a line break is written as \n, so that it cannot stand there.
_QUERIES = b'\n  "per_query": ['
_PIECE, _LONGEST = 1 << 17, 1 << 22


def read_head(path: Path) -> dict[str, Any]:
    """What stands before the queries in ``<run_id>.json``; empty for a file that is not there or not as we write it."""
    head = b""
    try:
        with path.open("rb") as file:
            while (end := head.find(_QUERIES)) < 0 and len(head) < _LONGEST:
                piece = file.read(_PIECE)
                if not piece:
                    return {}
                head += piece
        found = json.loads(head[:end].rstrip().removesuffix(b",") + b"}") if end >= 0 else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
