"""Says which statements of the seeds no test showed in this run of CI: ``python -m tests.seeds.ran FILE``.

``FILE`` is what ``tests/again.py`` wrote of the tests that passed. The exit code is 1 if there is such a statement.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docs.generator.statements import Statement, read_statements


def not_shown(ran: set[str]) -> list[Statement]:
    """Return the statements that have tests, of which none is among the test functions ``ran``."""
    tested = [statement for statement in read_statements() if statement.tests]
    return [statement for statement in tested if not ran & {f"tests/{test}" for test in statement.tests}]


def main(path: str) -> int:
    missing = not_shown(set(Path(path).read_text("utf-8").split()))
    print(f"{len(missing)} of {len(read_statements())} statements without a test that ran")
    for statement in missing:
        print(f"{statement.id}: {statement.says} ({', '.join(statement.tests)})")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
