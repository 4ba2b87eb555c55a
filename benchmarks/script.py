"""What the scripts have in common: their command lines, a folder for their data, tables in Markdown.

Nothing of the application is imported here: ``fuzz`` instruments it while it is imported.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
"""Folder of the project."""
SAMPLES = ROOT / "data" / "samples"


def parser(about: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the description of the script, as it stands in its module."""
    return argparse.ArgumentParser(
        prog=sys.argv[0], description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def command(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a script of this folder in a process of its own, whatever its working directory."""
    return [sys.executable, str(Path(__file__).parent), name, *map(str, arguments)]


@contextmanager
def data_folder(keep: Path | None) -> Iterator[Path]:
    """Give the absolute path of ``keep``, which is made if it is missing; without it, of a folder that is removed."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        yield Path(folder).resolve()


def add_keep(options: argparse.ArgumentParser) -> None:
    """Add ``--keep``, whose value is for ``data_folder``."""
    about = "keep what is built there, such as vectors, so that the next call does not build it again"
    options.add_argument("--keep", type=Path, metavar="FOLDER", help=about)


def row(cells: Sequence[object]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def head(names: Sequence[str], left: int = 1) -> str:
    """Return the head of a Markdown table; all columns but the first ``left`` are flush right."""
    return f"{row(names)}\n|{'---|' * left}{'--:|' * (len(names) - left)}"


def print_figures(figures: Mapping[str, Any], as_json: bool) -> None:
    """Print figures by their names: as one JSON object, or one to a line."""
    if as_json:
        print(json.dumps(figures, ensure_ascii=False))
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:<{width}} {value}")
