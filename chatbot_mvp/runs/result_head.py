"""Read the figures of a result without its queries: the first few KB of a file of up to 18 MB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# The key as ``write_json`` indents it. JSON strings escape line breaks, so it cannot occur inside a text.
_QUERIES = b'\n  "per_query": ['
_PIECE, _LONGEST = 1 << 17, 1 << 22


def read_head(path: Path) -> dict[str, Any]:
    """Read the part of ``<run_id>.json`` before the queries; empty if the file is missing or has another form."""
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
