"""With ``--json``, stdout is the JSON object alone, whatever libraries and their processes write there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_NOISY = """
import os, subprocess, sys
from chatbot_mvp.cli import main

def noisy(**_):
    print("from a library")
    os.write(1, b"from a library, past Python\\n" * 400)
    subprocess.run([sys.executable, "-c", "print('from a process')"], check=True)
    {ends}

main.cli = noisy
from chatbot_mvp.terminal import json_line, say
sys.argv = ["chatbot-mvp", "benchmark", "run", "--json"]
main.main()
"""


@pytest.mark.parametrize(
    ("ends", "code", "key"),
    [
        ('say(json_line({"run_id": "r"}))', 0, "run_id"),
        ('from chatbot_mvp.errors import RunNotFound; raise RunNotFound(run_id="r", folder="f")', 2, "error"),
    ],
    ids=["result", "error"],
)
def test_what_a_library_writes_to_stdout_goes_to_stderr(tmp_path: Path, ends: str, code: int, key: str) -> None:
    script = _NOISY.replace("{ends}", ends)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == code, done.stderr
    assert key in json.loads(done.stdout)
    assert "from a library\n" in done.stderr
    assert "from a library, past Python" in done.stderr
    assert "from a process" in done.stderr
