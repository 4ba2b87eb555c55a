"""The look is said by the theme, by keys and by test ids: generated class names change with a release."""

from __future__ import annotations

import re
import tomllib

from tests.ui.test_pages import ROOT


def test_no_style_names_a_generated_class() -> None:
    files = [*(ROOT / "streamlit_app").rglob("*.py"), *(ROOT / "streamlit_app").rglob("*.js")]
    assert [path.name for path in files if re.search(r"st-emotion|\.e[0-9][a-z0-9]{7,}", path.read_text("utf-8"))] == []


def test_both_themes_say_the_same_things() -> None:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    assert theme["light"].keys() == theme["dark"].keys()
    assert theme["light"]["sidebar"].keys() == theme["dark"]["sidebar"].keys()
