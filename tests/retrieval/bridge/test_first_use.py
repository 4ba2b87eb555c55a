"""The first use of links on a machine is fast, because nothing is compiled to machine code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.processor import reference_seconds

FIRST_USE = """
import json, runpy, sys
sys.argv = ["first_links.py"]
runpy.run_path({script!r}, run_name="__main__")
print(json.dumps(sorted({{"numba", "llvmlite"}} & sys.modules.keys())))
"""


def test_the_first_question_with_links_takes_2_seconds_of_processor_time_at_most(tmp_path: Path) -> None:
    """Counts from the imports to the first hits of ``valle_multihop``, in a new process without any cached index."""
    code = FIRST_USE.format(script=str(PROJECT_ROOT / "benchmarks" / "first_links.py"))
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "PYTHONPYCACHEPREFIX": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    measured, compilers = map(json.loads, done.stdout.splitlines())
    assert measured["hits"] > 0
    assert reference_seconds(measured["index_s"] + measured["first_question_s"]) <= 2.0, measured
    assert compilers == []
