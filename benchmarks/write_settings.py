"""Write the texts of ``settings.Settings`` into data/env.example.

The tables in docs/reference are written by docs/generate_reference.py.

python benchmarks/write_settings.py            # writes
python benchmarks/write_settings.py --check    # exits with 1 if something is out of date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings

TEMPLATE = PROJECT_ROOT / "data" / "env.example"


def rows() -> list[tuple[str, str, str]]:
    """(variable, default, meaning) of every setting."""
    found = []
    for name, field in Settings.model_fields.items():
        default = field.default
        shown = str(default.relative_to(PROJECT_ROOT)) if isinstance(default, Path) else str(default)
        found.append((name.upper(), shown, field.description or ""))
    return found


def template() -> str:
    """The content of data/env.example."""
    parts = ["# Copy to .env and change what you need; what is left out keeps its default.\n"]
    parts += [f"# {meaning}\n# {name}={default}\n" for name, default, meaning in rows()]
    return "\n".join(parts)


def main() -> int:
    # This file is also run by its path, where nothing else of this folder can be imported.
    options = argparse.ArgumentParser(
        prog=sys.argv[0], description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is out of date")
    check = options.parse_args().check
    wanted = {TEMPLATE: template()}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text]
    if check:
        for path in stale:
            print(f"{path.relative_to(PROJECT_ROOT)} is out of date: run python benchmarks/write_settings.py")
        return int(bool(stale))
    for path in stale:
        path.write_text(wanted[path], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
