"""The index of the decisions."""

from __future__ import annotations

import re

from docs.generator.markdown import ROOT, table

DECISIONS = ROOT / "docs" / "decisions"


def decisions() -> str:
    """The index of ``docs/decisions``: number, date, title and status of each."""
    rows = []
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        text = path.read_text("utf-8")
        title = re.search(r"^# \d+ · (.+)$", text, re.MULTILINE)
        date = re.search(r"^- Date: (.+)$", text, re.MULTILINE)
        status = re.search(r"^- Status: (.+)$", text, re.MULTILINE)
        if not (title and date and status):
            raise ValueError(f"{path.name!r} lacks its title line (# NNNN · Title), '- Date: ' or '- Status: '")
        link = f"[{path.name[:4]}](docs/decisions/{path.name})"
        plain = re.sub(r"\]\((?=\d{4}-)", "](docs/decisions/", status.group(1))
        rows.append((link, date.group(1), title.group(1), plain))
    return table(("number", "date", "title", "status"), rows)
