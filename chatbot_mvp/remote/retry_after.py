"""Reads how long a provider asks to wait before the next request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_RETRY_DELAY = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')


def retry_after_seconds(headers: Mapping[str, str], body: str = "", now: datetime | None = None) -> float | None:
    """Return the seconds to wait, 0 or more; None if no wait is given or it cannot be read.

    Taken from ``retry-after-ms``, else ``Retry-After`` (seconds or an HTTP date, RFC 9110), else Google's
    ``retryDelay`` in the body.
    """
    low = {name.lower(): value.strip() for name, value in headers.items()}
    if (milliseconds := _number(low.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1_000
    asked = low.get("retry-after", "")
    if (seconds := _number(asked)) is not None:
        return seconds
    if asked:
        try:
            until = parsedate_to_datetime(asked)
        except ValueError:
            return None
        if until.tzinfo is None:  # "-0000": UTC of unknown origin
            until = until.replace(tzinfo=UTC)
        return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
    found = _RETRY_DELAY.search(body)
    return float(found.group(1)) if found else None


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None
