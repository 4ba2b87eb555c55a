"""All fuzz targets by name."""

from __future__ import annotations

from . import documents, exchange, replies
from .base import Target

TARGETS: dict[str, Target] = {target.name: target for part in (documents, exchange, replies) for target in part.TARGETS}
