"""Attack the versions of a knowledge base: random orders of changes, purges and kills, compared with a model.

    python -m benchmarks attack_kb [--sequences 300] [--seed 1] [--first 0] [--json]

Each sequence is eight rounds of one to three operations at once, from two processes of two threads, of which half are
killed with SIGKILL in the middle. What a sequence does follows from the seed and its number; when a kill hits does not.
Without --seed, each call has other sequences. The exit code is 1 if anything differs from the model of
``tests/kills/order_model.py``.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import time
from pathlib import Path

from benchmarks.process import plain_environment
from benchmarks.script import parser
from tests.kills.orders import Broken, attack


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--sequences", type=int, default=300)
    options.add_argument("--seed", default="")
    options.add_argument("--first", type=int, default=0, help="number of the first sequence")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    kept = plain_environment()
    os.environ.clear()
    os.environ.update(kept)
    seed = given.seed or secrets.token_hex(4)
    kills = operations = 0
    broken: list[str] = []
    began = time.monotonic()
    memory = Path("/dev/shm")  # nosec B108  (a folder of this call's own is made in it)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for number in range(given.first, given.first + given.sequences):
            try:
                sequence = attack(f"{seed}-{number}", Path(folder))
                kills, operations = kills + sequence.kills, operations + sequence.operations
            except Broken as error:
                broken.append(str(error))
                if not given.json:
                    print(error, flush=True)
    report = {
        "seed": seed,
        "sequences": given.sequences,
        "operations": operations,
        "kills": kills,
        "seconds": round(time.monotonic() - began, 1),
        "processor_s": round(sum(os.times()[:4]), 1),
        "broken": broken,
    }
    print(json.dumps(report) if given.json else {**report, "broken": len(broken)})
    return 1 if broken else 0
