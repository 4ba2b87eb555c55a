"""The tables of docs/operate/refusals.md, and whether a command says what they say."""

from __future__ import annotations

import re
from pathlib import Path

from chatbot_mvp.settings.model import PROJECT_ROOT

PAGE = (PROJECT_ROOT / "docs" / "operate" / "refusals.md").read_text("utf-8")
ROWS = {
    name: (int(code), said)
    for name, code, said in re.findall(r"^\| (.+?) \| (\d) \| `+(.+?)`+ \|$", PAGE, re.MULTILINE)
}


def expect(name: str, told: tuple[int, str, str], **placeholders: str) -> None:
    """Check that a command ended as a row of the page says.

    Args:
        told: exit code, stdout, stderr.
        placeholders: what the page has -> what it is here.
    """
    code, out, err = told
    [said] = [line.removeprefix("chatbot-mvp: ") for line in err.splitlines() if line.startswith("chatbot-mvp: ")]
    for place, here in placeholders.items():
        said = said.replace(here, EXAMPLES[place])
    assert out == ""
    assert (code, said) == ROWS[name]


EXAMPLES = {
    "s3": "https://minio.example.org",
    "milvus": "http://milvus.example.org:19530",
    "milvus_peer": "ipv4:10.0.0.9:19530",
    "ray": "ray.example.org:6379",
}


def unproven(section: str, tests: Path) -> list[str]:
    """Return the rows of a section of the page that no test in a file names."""
    [_, below] = PAGE.split(f"\n## {section}\n")
    table, source = below.split("\n## ")[0], tests.read_text("utf-8")
    rows = [name for name in ROWS if f"\n| {name} | " in table]
    assert rows
    return [name for name in rows if f'"{name}"' not in source and "answers" not in name]
