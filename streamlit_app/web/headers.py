"""The headers by which a browser guards the pages: against frames of other sites, and foreign scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from streamlit import file_util

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@cache
def security_headers() -> tuple[tuple[str, str], ...]:
    """Return name and value of each header, the same for every reply."""
    return (
        ("Content-Security-Policy", _policy()),
        ("X-Frame-Options", "SAMEORIGIN"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
    )


def _policy() -> str:
    """Return the policy of what the pages may load: files of this server, and what Streamlit writes into a page."""
    page = Path(file_util.get_static_dir(), "index.html").read_text("utf-8")
    digests = (hashlib.sha256(script.encode()).digest() for script in _INLINE.findall(page))
    scripts = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' {scripts}",
            "style-src 'self' 'unsafe-inline'",  # Streamlit styles its parts, and st.html ours, in the page
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' data: blob:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "frame-src 'self'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )
