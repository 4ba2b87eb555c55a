"""A process whose threads are at work in the embedding model when it ends has the exit code of its work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT

_CODE = """
import atexit, sys, threading
from contextlib import nullcontext
from chatbot_mvp.ending import whole_ending
with (whole_ending if "whole" in sys.argv else nullcontext)():
    from pathlib import Path
    from chatbot_mvp.embedding.e5.embedder import local_e5
    model, begun = local_e5(Path(sys.argv[1]), 1), threading.Semaphore(0)
    atexit.register(print, "registered")
    def work():
        while True:
            model.embed(["hola"], "query")
            begun.release()
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(9):
        begun.acquire()
    print("done", end=" ")
    raise SystemExit(3)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="exit codes of Linux")
@pytest.mark.parametrize("whole", [True, False])
def test_threads_in_the_embedding_model_do_not_change_the_exit_code(whole: bool, models_dir: Path) -> None:
    command = [sys.executable, "-c", _CODE, str(models_dir), *(["whole"] if whole else [])]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "done registered\n")


@pytest.mark.parametrize(
    ("end", "code"),
    [("pass", 0), ("raise SystemExit", 0), ("raise SystemExit('said')", 1), ("raise KeyError", 1), ("exit(6)", 6)],
)
def test_the_exit_code_is_that_of_the_block(end: str, code: int) -> None:
    script = f"from chatbot_mvp.ending import whole_ending\nwith whole_ending():\n    {end}"
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, check=False)
    assert done.returncode == code
