"""Questions per second to a knowledge base, alone and while a version of 1.8 million characters is restored.

    python -m benchmarks beside_restore [--chars 1800000]

The knowledge base is restored in another process, again and again until so many questions were answered. The exit code
is 1 if a question fails.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.process import plain_environment
from benchmarks.script import parser
from tests.moving import app_over, document, moving_kb

_QUESTIONS = 300
_AGAIN = "import sys\nfrom pathlib import Path\nfrom tests.moving import app_over\n"
_AGAIN += "app = app_over(Path(sys.argv[1]))\nfor row in range(10**6):\n"
_AGAIN += "    app.kb_changes.restore(sys.argv[2], str(1 + row % 2))\n    print(row, flush=True)\n"


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--chars", type=int, default=1_800_000)
    given = options.parse_args()
    drawn = random.Random(1)
    words = ["".join(drawn.choices("abcdefghilmnoprstu", k=drawn.randint(3, 9))) for _ in range(5_000)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        app = app_over(data)
        each = given.chars // 6
        texts = ["\n\n".join(" ".join(drawn.choices(words, k=60)) + "." for _ in range(each // 400)) for _ in range(6)]
        kb_id = moving_kb(app, *(document(f"{at}.md", f"# Parte {at}\n\n{text}\n") for at, text in enumerate(texts)))
        app.kb_changes.change(kb_id, new=[document("otro.md", "# Otro\n\nUn texto más.\n")])

        def rate() -> tuple[float, float]:
            longest, began = 0.0, time.perf_counter()
            for _ in range(_QUESTIONS):
                start = time.perf_counter()
                app.answering.ask(kb_id, " ".join(drawn.choices(words, k=5)))
                longest = max(longest, time.perf_counter() - start)
            return _QUESTIONS / (time.perf_counter() - began), longest

        rate()
        alone, _ = rate()
        command = [sys.executable, "-c", _AGAIN, str(data), kb_id]
        environment = {**plain_environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            began = time.perf_counter()
            writer.stdout.readline()
            restore = time.perf_counter() - began
            beside, longest = rate()
            writer.kill()
    print(f"questions per second: alone {alone:.1f}, beside a restore {beside:.1f} ({beside / alone:.2f})")
    print(f"longest question {longest:.2f} s, a restore {restore:.2f} s")
    return 0
