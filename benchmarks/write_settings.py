"""Writes what is said of the settings wherever it is said, from ``settings.Settings`` and the Spanish catalogue.

README.md, README.es.md (their tables), data/env.example, and the English catalogue's descriptions.

python benchmarks/write_settings.py            # writes
python benchmarks/write_settings.py --check    # exits with 1 if something is out of date
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings

README, README_ES = PROJECT_ROOT / "README.md", PROJECT_ROOT / "README.es.md"
TEMPLATE = PROJECT_ROOT / "data" / "env.example"
CATALOGUES = PROJECT_ROOT / "streamlit_app" / "i18n"
PREFIX = "admin.setting."
HEADS = {README: "| variable | default | meaning |", README_ES: "| variable | valor por defecto | significado |"}


def rows() -> list[tuple[str, str, str]]:
    """(variable, default, meaning) of every setting."""
    found = []
    for name, field in Settings.model_fields.items():
        default = field.default
        shown = str(default.relative_to(PROJECT_ROOT)) if isinstance(default, Path) else str(default)
        found.append((name.upper(), shown, field.description or ""))
    return found


def spanish() -> Mapping[str, str]:
    """Variable -> meaning."""
    texts: Mapping[str, str] = json.loads((CATALOGUES / "es.json").read_text("utf-8"))
    return {name.upper(): texts.get(f"{PREFIX}{name}", "") for name in Settings.model_fields}


def readme(path: Path, meanings: Mapping[str, str]) -> str:
    """A README with the table put in anew."""
    lines = [HEADS[path], "|---|---|---|"]
    lines += [f"| `{name}` | {f'`{default}`' if default else ''} | {meanings[name]} |" for name, default, _ in rows()]
    pattern = r"(<!-- settings -->\n).*?(\n<!-- /settings -->)"
    text = path.read_text("utf-8")
    return re.sub(pattern, lambda match: match.group(1) + "\n".join(lines) + match.group(2), text, flags=re.S)


def template() -> str:
    """The content of data/env.example."""
    parts = ["# Copy to .env and change what you need; what is left out keeps its default.\n"]
    parts += [f"# {meaning}\n# {name}={default}\n" for name, default, meaning in rows()]
    return "\n".join(parts)


def english() -> str:
    """The English catalogue with the descriptions of the settings."""
    texts = json.loads((CATALOGUES / "en.json").read_text("utf-8"))
    described = {f"{PREFIX}{name.lower()}": meaning for name, _, meaning in rows()}
    kept = {key: described.get(key, text) for key, text in texts.items() if key in described or PREFIX not in key}
    return json.dumps({**kept, **described}, ensure_ascii=False, indent=2) + "\n"


def main() -> int:
    wanted = {
        README: readme(README, {name: meaning for name, _, meaning in rows()}),
        README_ES: readme(README_ES, spanish()),
        TEMPLATE: template(),
        CATALOGUES / "en.json": english(),
    }
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
