"""The index of the decisions."""

from __future__ import annotations

import re

from docs.generator.markdown import ROOT

DECISIONS = ROOT / "docs" / "decisions"


def decisions() -> str:
    """The index of ``docs/decisions``: number and title of each, and by what it was superseded."""
    rows = []
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        text = path.read_text("utf-8")
        title = re.search(r"^# \d+ · (.+)$", text, re.MULTILINE)
        date = re.search(r"^- Date: (.+)$", text, re.MULTILINE)
        status = re.search(r"^- Status: (.+)$", text, re.MULTILINE)
        if not (title and date and status):
            raise ValueError(f"{path.name!r} lacks its title line (# NNNN · Title), '- Date: ' or '- Status: '")
        plain = re.sub(r"\]\((?=\d{4}-)", "](docs/decisions/", status.group(1)).removeprefix("accepted; ")
        more = f" ({plain})" if "superseded" in plain else ""
        rows.append(f"- [{path.name[:4]}](docs/decisions/{path.name}) {title.group(1)}{more}")
    return "\n".join(rows)
