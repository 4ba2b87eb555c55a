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


def ran_on_a_small_disk(tmp_path: Path, script: str, *arguments: str) -> list[str]:
    """Run a script over a file system of one megabyte of its own, whose path it is given; return what it prints."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = f"mount -t tmpfs -o size=1m,nr_inodes=2000 none {small}"
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "sh", "-c", mounted]).returncode:
        pytest.skip("this user may not mount a small file system")
    command = f'{mounted} && exec "$0" -c "$1" {small} {" ".join(arguments)}'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, sys.executable, script],
        cwd=PROJECT_ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT_ROOT)},
        stdout=subprocess.PIPE,
        timeout=120,
    )
    return done.stdout.decode().splitlines()


@pytest.mark.timeout(600)  # a signal in the middle of a collection ends the process of the tests
def test_a_full_file_system_loses_nothing_and_each_error_says_what_to_do(tmp_path: Path) -> None:
    lines = ran_on_a_small_disk(tmp_path, _SCRIPT)
    found = [json.loads(line) for line in lines]
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


# Makes a knowledge base, then lets the folder take nothing more, asks it by command, and twice as a page does.
_ASKING = """
import os, subprocess, sys
from pathlib import Path
from chatbot_mvp.api import UserContext
from tests.moving import HOW_MANY_DAYS, app_over, moving_kb

data, how = Path(sys.argv[1]), sys.argv[2]
# In a process of its own: a file that is open for writing keeps the disk writable.
making = "import sys, pathlib; from tests.moving import *; print(moving_kb(app_over(pathlib.Path(sys.argv[1]))))"
made = subprocess.run([sys.executable, "-c", making, data], check=True, stdout=subprocess.PIPE)
kb_id = made.stdout.decode().strip()
if how == "read-only":
    subprocess.run(["mount", "-o", "remount,ro", data], check=True)
else:
    with open(data / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            pass
    try:
        for number in range(10_000):
            (data / f"filler-{number}").touch()
    except OSError:
        pass
command = [sys.executable, "-m", "chatbot_mvp.cli", "kb", "ask", kb_id, HOW_MANY_DAYS]
environment = {**os.environ, "DATA_DIR": str(data), "LLM_PROVIDER": "demo"}
done = subprocess.run(command, stdout=subprocess.PIPE, env=environment)
print(done.returncode, "23" in done.stdout.decode())
app, session = app_over(data), "0123456789abcdef"
app.start()
conversation = app.chat.start(session, kb_id, "Manual")
for _ in range(2):
    assert app.chat.begin(session, conversation, HOW_MANY_DAYS, UserContext()).join(60)
found = app.chat.conversation(session, conversation)
print(found.held, ["23" in turn.answer.text for turn in found.turns])
"""


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_folder_that_takes_nothing_is_asked_all_the_same(tmp_path: Path, how: str) -> None:
    assert ran_on_a_small_disk(tmp_path, _ASKING, how) == ["0 True", "True [True, True]"]
