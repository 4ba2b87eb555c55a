"""Says which statements of the seeds no test showed in this run of CI: ``python -m tests.seeds.ran FILE``.

``FILE`` is what ``tests/again.py`` wrote of the tests that passed. The exit code is 1 if there is such a statement. One
whose tests all need a package of an extra that is not installed is told, and does not count.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from docs.generator.statements import Statement, read_statements

EXTRAS = {
    "llm/test_huggingface.py::test_a_folder_answers_with_and_without_a_chat_template": "transformers",
    "wings/ragas/test_huggingface.py::test_an_evaluation_runs_with_folders_as_judge_and_as_embedder": "transformers",
}
"""Test -> the package that it needs, with PyTorch 5.5 GB: no part of an install for development."""


def not_shown(ran: set[str]) -> list[Statement]:
    """Return the statements that have tests, of which none is among the test functions ``ran``."""
    tested = [statement for statement in read_statements() if statement.tests]
    return [statement for statement in tested if not ran & {f"tests/{test}" for test in statement.tests}]


def main(path: str) -> int:
    missing = not_shown(set(Path(path).read_text("utf-8").split()))
    print(f"{len(missing)} of {len(read_statements())} statements without a test that ran")
    for statement in missing:
        print(f"{statement.id}: {statement.says} ({', '.join(statement.tests)})")
    return int(not all(needs_an_extra(statement) for statement in missing))


def needs_an_extra(statement: Statement) -> bool:
    """Return whether all tests of a statement need a package that is not installed."""
    packages = [EXTRAS.get(test, "") for test in statement.tests]
    return all(package and find_spec(package) is None for package in packages)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
