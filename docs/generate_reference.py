"""Write the generated parts of the documentation from the registries of the code.

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- /generated -->`` in a Markdown file; the text
around it is written by hand. ``BLOCKS`` maps each NAME to the function that writes it.

    python docs/generate_reference.py            # writes
    python docs/generate_reference.py --check    # writes nothing; exits with 1 if a file differs
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.generator import commands, decisions, files, ragas, registries, settings, statements

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "python docs/generate_reference.py"
BLOCKS: Mapping[str, Callable[[], str]] = {
    "settings": settings.settings,
    "settings-es": settings.settings_spanish,
    "strategies": registries.strategies,
    "strategy-settings": registries.strategy_settings,
    "stages": registries.stages,
    "providers": registries.providers,
    "metrics": registries.metrics,
    "metrics-ragas": ragas.metrics,
    "compared": registries.compared,
    "causes": registries.causes,
    "fates": registries.fates,
    "commands": commands.commands,
    "exports": files.exports,
    "manifest": files.manifest_fields,
    "record": files.record_fields,
    "phases": files.record_phases,
    "queries": files.query_columns,
    "kb-questions": files.kb_question_fields,
    "csv": files.csv_columns,
    "ragas-config": ragas.keys,
    "presets": files.run_presets,
    "decisions": decisions.decisions,
    "statements": statements.statements,
    "statements-summary": statements.summary,
}
"""Name of a generated part -> the function that writes it."""
_PART = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- /generated -->)", re.DOTALL)


def markdown_files() -> list[Path]:
    """Files that may hold a generated part."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> tuple[str, set[str]]:
    """The text with its generated parts written anew, and their names.

    Raises:
        KeyError: no function writes a part of that name.
    """
    names: set[str] = set()

    def part(match: re.Match[str]) -> str:
        name = match.group(2)
        names.add(name)
        return f"{match.group(1)}\n{BLOCKS[name]()}\n\n{match.group(4)}"

    return _PART.sub(part, text), names


def main() -> int:
    """Write, or with ``--check`` compare. Also fail if a part that can be written stands in no file."""
    stale: dict[Path, str] = {}
    used: set[str] = set()
    for path in markdown_files():
        text = path.read_text("utf-8")
        wanted, names = filled(text)
        used |= names
        if wanted != text:
            stale[path] = wanted
    if unused := sorted(BLOCKS.keys() - used):
        print(f"no Markdown file has the generated parts {', '.join(unused)}")
        return 1
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run {COMMAND}")
        return int(bool(stale))
    for path, text in stale.items():
        path.write_text(text, "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
