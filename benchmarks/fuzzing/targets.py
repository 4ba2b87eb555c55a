"""All fuzz targets by name."""

from __future__ import annotations

from . import documents, exchange, own_files, replies
from .base import Target

PARTS = (documents, exchange, own_files, replies)
TARGETS: dict[str, Target] = {target.name: target for part in PARTS for target in part.TARGETS}
