"""Record what the product gives, as facts by name: rankings, answers, figures, surfaces, pages, cost.

    python -m benchmarks record FOLDER [--sample] [--only PART …]

FOLDER gets a file for each part. ``replay`` compares with it. Without ``--sample`` everything is recorded, and the
sample once more, so that it is known which facts are its own.
"""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.recorder.facts import PARTS, Verdict, compare, write_facts
from benchmarks.recorder.running import facts_of, prepare
from benchmarks.script import parser


def main() -> int:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, help="the recording")
    options.add_argument("--sample", action="store_true", help="only what takes a minute")
    options.add_argument("--only", nargs="+", choices=[*PARTS], metavar="PART", help=", ".join(PARTS))
    given = options.parse_args()
    folder = given.folder.resolve()
    prepare()
    wrong = 0
    for part in given.only or PARTS:
        started = time.monotonic()
        whole = {} if given.sample else {fact.name: fact for fact in facts_of(part, sample=False)}
        between = time.monotonic()
        sample = {fact.name: fact for fact in facts_of(part, sample=True)}
        for name in sample if whole else ():
            verdict, where = compare(whole[name], sample[name]) if name in whole else (Verdict.DIFFERENT, "not there")
            if verdict is Verdict.DIFFERENT:
                wrong += 1
                print(f"{name} of the sample is another one: {where}")
        write_facts(folder / f"{part}.jsonl", {n: (fact, n in sample) for n, fact in (whole or sample).items()})
        size = (folder / f"{part}.jsonl").stat().st_size / 1e3
        times = f"{between - started:.1f} s, sample {time.monotonic() - between:.1f} s"
        print(f"{part}: {len(whole or sample)} facts, {len(sample)} of the sample, {size:.0f} kB, {times}", flush=True)
    return int(wrong > 0)
