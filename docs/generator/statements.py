"""The list of every statement of the four systems, each with the tests that show it."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from functools import cache

from docs.generator.markdown import ROOT

TABLE = ROOT / "tests" / "seeds" / "statements.toml"
DIFFERENCES = ROOT / "docs" / "research" / "differences.md"
NAMES = {
    "card": "The card",
    "kb_chat": "KB chat",
    "rag_p": "RAG_P v3.2",
    "rag_v2": "RAG pipeline v2",
    "ragas": "Ragas evaluation",
}
"""System -> its name on the page, in the order of the page."""
PAGES = {"rag_p": "rag_p.md"}
"""System -> a page that says the same in its own order, in place of a list."""
_DIFFERS = "differs:"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about what a system does."""

    system: str
    """Key of NAMES."""
    id: str
    says: str
    tests: tuple[str, ...]
    """``path::function`` below tests/."""
    differences: tuple[str, ...]
    """Rows of differences.md that say what is otherwise on purpose."""


@cache
def read_statements() -> tuple[Statement, ...]:
    """Return all statements in the order of the file."""
    found = []
    for system, rows in tomllib.loads(TABLE.read_text("utf-8")).items():
        for id_, (says, *proofs) in rows.items():
            tests = tuple(proof for proof in proofs if not proof.startswith(_DIFFERS))
            differs = tuple(proof.removeprefix(_DIFFERS) for proof in proofs if proof.startswith(_DIFFERS))
            found.append(Statement(system, id_, says, tests, differs))
    return tuple(found)


def statements() -> str:
    """One list per system: id, statement, and what shows it."""
    parts = []
    for system, name in NAMES.items():
        if system in PAGES:
            number = sum(each.system == system for each in read_statements())
            parts.append(f"## {name}\n\n{number} statements: [point by point]({PAGES[system]}), by subject.")
            continue
        rows = "\n".join(_row(each) for each in read_statements() if each.system == system)
        parts.append(f"## {name}\n\n{rows}")
    return "\n\n".join(parts)


def _row(statement: Statement) -> str:
    shown = dict.fromkeys([*map(_test, statement.tests), *map(_difference, statement.differences)])
    return f"- {statement.id} {statement.says}: {' '.join(shown)}"


def summary() -> str:
    """How many statements there are, and how many differ on purpose."""
    found = read_statements()
    differing = sum(bool(each.differences) for each in found)
    tests = len({test for each in found for test in each.tests})
    return f"{len(found)} statements, shown by {tests} tests; in {differing} of them something differs on purpose."


def _test(test: str) -> str:
    path, _, _ = test.partition("::")
    return f"[{path.removesuffix('.py').replace('test_', '')}](../../tests/{path})"


def _difference(title: str) -> str:
    return f"[differs on purpose: {title}](differences.md)"


def main(ids: list[str]) -> None:
    """Print the tests of some statements, or of all, for the command line of pytest."""
    chosen = [each for each in read_statements() if not ids or each.id in ids]
    print(*dict.fromkeys(f"tests/{test}" for each in chosen for test in each.tests))


if __name__ == "__main__":
    main(sys.argv[1:])
