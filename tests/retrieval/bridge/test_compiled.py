"""What was compiled is never older than any of the sources that it was made of."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from chatbot_mvp.retrieval.bridge import arrays

CALLER = """
from kernels.arrays import compiled
from kernels.called import value

@compiled
def call():
    return value()

print(call())
"""
CALLED = """
from kernels.arrays import compiled

@compiled
def value():
    return {number}
"""


def test_a_change_of_a_function_reaches_those_that_inlined_it(tmp_path: Path) -> None:
    """In a file of its own, which is all that numba would look at."""
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(arrays.__file__, package / "arrays.py")
    (package / "caller.py").write_text(CALLER)
    said = []
    for number in (1, 22):
        (package / "called.py").write_text(CALLED.format(number=number))
        command = [sys.executable, "-c", "import kernels.caller"]
        said.append(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip())
    assert said == ["1", "22"]
