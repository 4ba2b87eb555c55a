"""docs/develop/architecture.md names modules and folders that exist."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "develop" / "architecture.md"


def test_each_path_in_the_tables_of_changes_and_flows_exists() -> None:
    tables = PAGE.read_text("utf-8").partition("\n## Layers\n")[0]
    paths = set(re.findall(r"`([\w/]+(?:/|\.py))`", tables))
    assert len(paths) > 40
    assert [
        path for path in sorted(paths) if not any((root / path).exists() for root in (ROOT, ROOT / "chatbot_mvp"))
    ] == []
