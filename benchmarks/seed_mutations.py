"""Break each statement of the four systems in a small way, and look whether the tests that show it notice.

    python -m benchmarks seed_mutations                     # all of them, in an hour or two
    python -m benchmarks seed_mutations --only K34 R59
    python -m benchmarks seed_mutations --keep FOLDER       # goes on where an earlier call was stopped

The alterations are in ``tests/seeds/mutations.toml``, the tests of each statement in ``tests/seeds/statements.toml``.
They run in a copy of the files as they are now, and those that need PyTorch in the environment that ``make test-torch``
leaves. Each line: statement, what was altered, the first test that failed, or "NOT NOTICED". The exit code is 1 if one
was not noticed.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from benchmarks.alterations import TIMED_OUT, Alteration, read_alterations, run_altered, scratch_copy
from benchmarks.script import ROOT, data_folder, parser
from docs.generator.statements import read_statements

TABLE = ROOT / "tests" / "seeds" / "mutations.toml"
LIMIT_S = 600.0
MISSED = "NOT NOTICED"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", metavar="ID", help="statements; by default all")
    options.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep what was found there, and do not try it again"
    )
    given = options.parse_args()
    tests = {each.id: each.tests for each in read_statements()}
    chosen = [row for row in read_alterations(TABLE) if not given.only or row.name in given.only]
    for row in chosen:
        row.altered()  # a table that does not fit is an error before anything is tried
    found: list[str] = []
    with data_folder(given.keep) as folder, scratch_copy() as copy:
        known = folder / "seed_mutations.jsonl"
        before = dict(json.loads(line) for line in known.read_text("utf-8").splitlines()) if known.exists() else {}
        for row in chosen:
            key = json.dumps([row.name, row.path, row.old, row.new])
            if before.get(key, MISSED).startswith(MISSED):
                before[key] = noticed_by(copy, row, tests[row.name])
                with known.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps([key, before[key]]) + "\n")
            found.append(before[key])
            print(f"{row.name}\t{row.path}: {_short(row.old)} -> {_short(row.new)}\t{before[key]}", flush=True)
    missed = sum(one.startswith(MISSED) for one in found)
    print(f"{len(found)} alterations, {len(found) - missed} noticed, {missed} not")
    return int(missed > 0)


def noticed_by(copy: Path, row: Alteration, tests: tuple[str, ...]) -> str:
    """Return the first of a statement's tests that fails with an alteration; MISSED if none does."""
    own = (".venv-torch",) if any("huggingface" in test for test in tests) else ()
    pythons = (str(copy / name / "bin" / "python") for name in (*own, ".venv"))
    python = next((path for path in pythons if Path(path).exists()), sys.executable)
    options = ["-q", "-x", "-p", "no:cacheprovider", "--tb=no", f"--basetemp={copy.parent / 'tests'}"]
    command = [python, "-m", "pytest", *options]
    code, said = run_altered(copy, row, [*command, *(f"tests/{test}" for test in tests)], LIMIT_S)
    if code == TIMED_OUT:
        return f"past {LIMIT_S:g} s"
    failed = _FAILED.search(said)
    if code == 0 and "passed" not in said:
        return f"{MISSED}: its tests are skipped here"
    return MISSED if code == 0 else failed[1] if failed else f"pytest ended with {code}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:57]}…"


if __name__ == "__main__":
    sys.exit(main())
