"""Put small wrong changes into the core, one at a time, and say which of tests and recorder see them.

    python -m benchmarks recorder_mutations [FOLDER] [--only WORDS …] [--judges sample whole quick all] [--log FILE]

The changes are the rows of ``recorder/mutations.toml``. Each is made in a copy of the tree. Judges: *sample* and
*whole* are ``replay`` of the recording in FOLDER (by default tests/recording), *quick* are the tests that ``make test``
runs, *all* the rest of them. A judge is asked until the first difference or failure; of the tests, those beside the
changed code come first. What the sample sees, the whole sees as well, and likewise with the tests, so it is not asked.
What stands in the log is not judged again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.alterations import TIMED_OUT, Alteration, read_alterations, run_altered, scratch_copy
from benchmarks.recorder.facts import PARTS
from benchmarks.script import ROOT, parser

TABLE = ROOT / "benchmarks" / "recorder" / "mutations.toml"
JUDGES = ("sample", "whole", "quick", "all")
IMPLIES = {"sample": "whole", "quick": "all"}
"""Judge -> the one that contains it."""
LIMIT_S = 3_600
ITS_OWN = "--ignore=tests/test_alterations.py"
"""The tests of the table of changes: in a copy with one of them made, they always fail."""
LEFT_OUT = ("encoder", "pages", "cost")
"""Parts of the recording that are not asked: vectors, looks and time, which these changes do not touch."""


def commands(judge: str, folder: str, alteration: Alteration) -> Iterator[Sequence[str]]:
    """Yield what a judge runs, in order; each ends with a code other than 0 if it sees the change."""
    if judge in ("sample", "whole"):
        parts = [part for part in PARTS if part not in LEFT_OUT]
        how = ["--stop", *(["--sample"] * (judge == "sample"))]
        yield [sys.executable, "-m", "benchmarks", "replay", folder, *how, "--only", *parts]
        return
    marks = "not slow and not costly" if judge == "quick" else "slow or costly"
    tests = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-m", marks, ITS_OWN]
    parallel = ["-n", "2", "--dist", "loadgroup"]
    beside = alteration.more[0].split() if alteration.more else []
    if beside:
        yield [*tests, *parallel, *beside]
    yield [*tests, *parallel, *(f"--ignore={path}" for path in beside)]


def seen_by(judge: str, copy: Path, folder: str, alteration: Alteration) -> tuple[bool, str]:
    """Return whether a judge sees an alteration, and the last line of what it said."""
    told = ""
    for command in commands(judge, folder, alteration):
        code, output = run_altered(copy, alteration, command, LIMIT_S)
        lines = [line for line in output.splitlines() if line.strip()]
        told = next((line for line in lines if line.startswith(("different", "missing", "new", "FAILED", "ERROR"))), "")
        told = told or (lines[-1] if lines else "")
        if code not in (0, 5):  # 5: there are no such tests
            return True, "ran too long" if code == TIMED_OUT else told
    return False, told


def main() -> int:
    options = parser(__doc__)
    options.add_argument("folder", nargs="?", default="tests/recording")
    options.add_argument("--only", nargs="+", default=[], help="changes whose names have one of these words")
    options.add_argument("--judges", nargs="+", choices=JUDGES, default=JUDGES)
    options.add_argument("--log", type=Path, help="JSON of what was judged; a later call goes on in it")
    given = options.parse_args()
    rows = [one for one in read_alterations(TABLE) if not given.only or any(word in one.name for word in given.only)]
    known = _known(given.log)
    with scratch_copy() as copy:
        for alteration in rows:
            seen = known.setdefault(alteration.name, {})
            for judge in (judge for judge in JUDGES if judge in given.judges):
                if judge in seen:
                    continue
                if any(seen.get(part) for part, whole in IMPLIES.items() if whole == judge):
                    seen[judge] = True
                    continue
                seen[judge], told = seen_by(judge, copy, given.folder, alteration)
                print(
                    f"{alteration.name}: {judge} {'sees it' if seen[judge] else 'does not see it'}: {told[:200]}",
                    flush=True,
                )
            _keep(given.log, known)
    for judge in given.judges:
        judged = [one.name for one in rows if judge in known[one.name]]
        print(f"{judge}: {sum(known[name][judge] for name in judged)} of {len(judged)}")
    unseen = [one.name for one in rows if not (known[one.name].get("sample") or known[one.name].get("whole", True))]
    print("\n".join(f"the recorder does not see: {name}" for name in unseen))
    return 0


def _known(log: Path | None) -> dict[str, dict[str, bool]]:
    return json.loads(log.read_text("utf-8")) if log and log.is_file() else {}


def _keep(log: Path | None, known: dict[str, dict[str, bool]]) -> None:
    if log:
        log.write_text(json.dumps(known, indent=1, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
