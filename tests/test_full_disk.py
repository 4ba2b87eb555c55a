"""On a disk that is really full, each write names its file and the next step, and what was there stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.fault_scenarios import SCENARIOS

# Runs inside a mount namespace of its own, whose only difference is a file system of one megabyte.
_SCRIPT = """
import json, sys
from pathlib import Path
from chatbot_mvp.errors import ChatbotError
from tests.fault_scenarios import SCENARIOS

for name, scenario in SCENARIOS.items():
    data = Path(sys.argv[1]) / name.replace(" ", "-")
    data.mkdir()
    scenario.prepare(data)
    old = scenario.read(data)
    filler = data / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            pass
    # On a file system in memory, a new name takes space, too.
    try:
        for number in range(10_000):
            (data / f"filler-{number}").touch()
    except OSError:
        pass
    try:
        scenario.act(data)
        told = None
    except ChatbotError as error:
        told = [error.code, str(error)]
    except OSError as error:
        told = ["", str(error)]
    for path in data.glob("filler*"):
        path.unlink()
    state = scenario.read(data) == old
    scenario.act(data)
    print(json.dumps([name, told, state, scenario.read(data) != old]), flush=True)
"""


def test_a_full_file_system_loses_nothing_and_each_error_says_what_to_do(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = f"mount -t tmpfs -o size=1m,nr_inodes=2000 none {small}"
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "sh", "-c", mounted]).returncode:
        pytest.skip("this user may not mount a small file system")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{mounted} && exec "$0" -c "$1" {small}', sys.executable, _SCRIPT],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT_ROOT)},
        stdout=subprocess.PIPE,
        timeout=120,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, *_ in found] == list(SCENARIOS)
    assert sum(told is not None for _, told, *_ in found) > len(SCENARIOS) / 2
    for name, told, old_stays, works_again in found:
        assert works_again, name
        # A short line may still fit into the last block of its file.
        assert old_stays == (told is not None), name
        if told:
            assert told[0], told
            assert "No space left" in told[1] or "full" in told[1], told
            assert "small" in told[1] or told[0].startswith("run_"), told
            assert any(word in told[1].lower() for word in ("free up space", "when there is space")), told
