"""Every relative link and anchor of the Markdown files leads somewhere. Sends no request."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_EXTERNAL = ("http://", "https://", "mailto:")


def markdown_files() -> list[Path]:
    """The repository's Markdown files; those that git ignores are left out."""
    if not (ROOT / ".git").exists():
        return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a file; a repeated heading has its number behind it."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#{1,6} (.+)$", _FENCE.sub("", path.read_text("utf-8")), re.MULTILINE):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return frozenset(found)


def relative_links(path: Path) -> Iterator[str]:
    """The targets of a file's links outside of code."""
    text = re.sub(r"`[^`\n]+`", "", _FENCE.sub("", path.read_text("utf-8")))
    return (target for target in _LINK.findall(text) if not target.startswith(_EXTERNAL))


@pytest.mark.parametrize("path", markdown_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_and_anchor_leads_somewhere(path: Path) -> None:
    broken = []
    for target in relative_links(path):
        place, _, anchor = target.partition("#")
        file = (path.parent / place).resolve() if place else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_of_the_documentation_is_linked_from_another() -> None:
    linked = {
        (path.parent / target.partition("#")[0]).resolve()
        for path in markdown_files()
        for target in relative_links(path)
    }
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path != ROOT / "docs" / "index.md"]
    assert [path.relative_to(ROOT).as_posix() for path in pages if path not in linked] == []


@pytest.mark.parametrize("name", ["README.md", "README.es.md"])
def test_a_readme_is_short(name: str) -> None:
    assert len((ROOT / name).read_text("utf-8").splitlines()) <= 150
