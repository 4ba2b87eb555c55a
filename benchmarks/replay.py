"""Compare what the product gives now with a recording of it, and print each difference on a line.

    python -m benchmarks replay FOLDER [--sample] [--only PART …] [--stop]

The exit code is 1 if anything is neither equal nor accepted. FOLDER/accepted.toml has what is expected to differ:

    [[accepted]]
    name = "rankings/*/BRIDGE/*"
    reason = "one sentence"
"""

from __future__ import annotations

import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.recorder.facts import LIKE, PARTS, Fact, Verdict, compare, read_facts
from benchmarks.recorder.running import facts_of, prepare, shared_datasets
from benchmarks.script import parser

Outcome = tuple[str, str, str]
"""What a fact is (a ``Verdict``, "missing", "new" or "skipped"), its name, and where it differs."""


def replayed(part: str, folder: Path, sample: bool) -> Iterator[Outcome]:
    """Yield the outcome of each fact of a part."""
    recorded = read_facts(folder / f"{part}.jsonl")
    before = {name: fact for name, (fact, in_sample) in recorded.items() if in_sample or not sample}
    seen: set[str] = set()
    again: dict[str, str] = {}
    for fact in facts_of(part, sample):
        seen.add(fact.name)
        if fact.name not in before:
            yield "new", fact.name, ""
            continue
        verdict, where = compare(before[fact.name], fact)
        if verdict is Verdict.DIFFERENT and LIKE[fact.like].tries > 1:
            again[fact.name] = where
        else:
            yield verdict, fact.name, where
    for name in sorted(before.keys() - seen):
        skipped = before[name].shared and shared_datasets() is None
        yield "skipped" if skipped else "missing", name, ""
    yield from _tried_again(part, sample, before, again)


def _to_the_end(part: str, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """Yield the outcomes of a part; if the product fails in it, that is the last one, and the other parts follow."""
    try:
        yield from outcomes
    except Exception as error:  # noqa: BLE001 -- whatever a change broke
        traceback.print_exc()
        yield Verdict.DIFFERENT, f"{part}/", f"it fails: {error!r}"


def _tried_again(part: str, sample: bool, before: dict[str, Fact], again: dict[str, str]) -> Iterator[Outcome]:
    """Measure what a busy machine may have disturbed until it is the same, or has been tried often enough."""
    tries = 1
    while again and tries < max(LIKE[before[name].like].tries for name in again):
        tries += 1
        for fact in facts_of(part, sample):
            if fact.name in again:
                verdict, again[fact.name] = compare(before[fact.name], fact)
                if verdict is not Verdict.DIFFERENT:
                    del again[fact.name]
                    yield verdict, fact.name, ""
    for name, where in again.items():
        yield Verdict.DIFFERENT, name, where


def accepted(folder: Path) -> dict[str, str]:
    """Return pattern -> reason of what is expected to differ.

    Raises:
        ValueError: a row has no name, or no reason.
    """
    path = folder / "accepted.toml"
    rows = tomllib.loads(path.read_text("utf-8")).get("accepted", []) if path.is_file() else []
    if any(not row.get("name") or not row.get("reason") for row in rows):
        raise ValueError(f"{path}: each row needs a name and a reason")
    return {row["name"]: row["reason"] for row in rows}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, help="the recording")
    options.add_argument("--sample", action="store_true", help="only what takes a minute")
    options.add_argument("--only", nargs="+", choices=[*PARTS], metavar="PART", help=", ".join(PARTS))
    options.add_argument("--stop", action="store_true", help="end at the first difference")
    given = options.parse_args()
    folder = given.folder.resolve()
    reasons = accepted(folder)
    used: set[str] = set()
    wrong = 0
    prepare()
    for part in given.only or PARTS:
        started = time.monotonic()
        counts: Counter[str] = Counter()
        for kind, name, where in _to_the_end(part, replayed(part, folder, given.sample)):
            what = kind
            if kind in (Verdict.DIFFERENT, "missing", "new"):
                patterns = [pattern for pattern in reasons if fnmatchcase(name, pattern)]
                used.update(patterns)
                what = "accepted" if patterns else kind
                wrong += not patterns
            counts[what] += 1
            if what not in (Verdict.EQUAL, "skipped"):
                print(f"{what}: {name} {where}".rstrip(), flush=True)
            if wrong and given.stop:
                return 1
        told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        absent = " (../shared is absent)" if counts["skipped"] else ""
        print(f"{part}: {counts.total()} facts: {told}{absent}; {time.monotonic() - started:.1f} s", flush=True)
    for pattern in [] if given.sample or given.only else sorted(reasons.keys() - used):
        print(f"accepted, but nothing differs: {pattern}")
    return int(wrong > 0)
