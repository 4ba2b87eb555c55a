"""Writes the table of settings in README.md and data/env.example from ``settings.Settings``.

python benchmarks/write_settings.py            # writes
python benchmarks/write_settings.py --check    # exits with 1 if something is out of date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from chatbot_mvp.settings import PROJECT_ROOT, Settings

README = PROJECT_ROOT / "README.md"
TEMPLATE = PROJECT_ROOT / "data" / "env.example"


def rows() -> list[tuple[str, str, str]]:
    """(variable, default, meaning) of every setting."""
    found = []
    for name, field in Settings.model_fields.items():
        default = field.default
        shown = str(default.relative_to(PROJECT_ROOT)) if isinstance(default, Path) else str(default)
        found.append((name.upper(), shown, field.description or ""))
    return found


def table() -> str:
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {f'`{default}`' if default else ''} | {meaning} |" for name, default, meaning in rows()]
    return "\n".join(lines)


def readme(text: str) -> str:
    """README.md with the table put in anew."""
    pattern = r"(<!-- settings -->\n).*?(\n<!-- /settings -->)"
    return re.sub(pattern, lambda match: match.group(1) + table() + match.group(2), text, flags=re.S)


def template() -> str:
    """The content of data/env.example."""
    parts = ["# Copy to .env and change what you need; what is left out keeps its default.\n"]
    parts += [f"# {meaning}\n# {name}={default}\n" for name, default, meaning in rows()]
    return "\n".join(parts)


def main() -> int:
    wanted = {README: readme(README.read_text("utf-8")), TEMPLATE: template()}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.name} is out of date: run python benchmarks/write_settings.py")
        return int(bool(stale))
    for path in stale:
        path.write_text(wanted[path], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
