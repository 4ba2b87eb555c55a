"""RAG_P's command is answered with the one that does it now."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.settings.model import PROJECT_ROOT


def test_the_command_of_rag_p_names_the_commands_that_do_it_now(tmp_path: Path) -> None:
    """The file is taken from where ``setup.py`` puts it in the wheel."""
    copies = dict(re.findall(r'"([^"]+)": "([^"]+)"', (PROJECT_ROOT / "setup.py").read_text("utf-8")))
    [source] = [source for source, target in copies.items() if target == "sandbox_mteb/run.py"]
    (tmp_path / "sandbox_mteb").mkdir()
    shutil.copy(PROJECT_ROOT / source, tmp_path / "sandbox_mteb" / "run.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PROJECT_ROOT)])}
    asked = [sys.executable, "-m", "sandbox_mteb.run", "--dry-run", "--env", "my files/.env"]
    done = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    told = [shlex.split(line, comments=True) for line in done.stderr.splitlines()[1:]]
    presets = [name for name in SYSTEMS if name.startswith("rag_p_")]
    given = ["--dry-run", "--env", "my files/.env"]
    assert told == [["chatbot-mvp", "benchmark", "run", "--preset", preset, *given] for preset in presets]
