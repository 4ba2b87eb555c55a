"""Load an untrusted data set in a separate process with limited time and memory.

The limits matter because a few kilobytes of Parquet can expand to a hundred gigabytes of text.
``python -m chatbot_mvp.datasets.trial FOLDER MEMORY_MB SECONDS`` prints JSON: {} or the loader's error.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.files import check_dataset
from chatbot_mvp.errors import ChatbotError, DatasetUploadTooDemanding, all_errors
from chatbot_mvp.storage.json_object import parse_json

SECONDS = 300
MEMORY_MB = 4_000
"""Limit of the process' address space, on systems that support it. HotpotQA's 66,576 documents need a quarter."""

_ROOT = Path(__file__).resolve().parents[2]


def try_to_load(folder: Path, name: str, seconds: int = SECONDS, memory_mb: int = MEMORY_MB) -> None:
    """Check that the loader accepts ``folder``.

    Args:
        name: name of the upload, for error messages.
        seconds: time limit.
        memory_mb: limit of the address space in megabytes.

    Raises:
        DatasetError: the loader's error, with paths relative to ``folder``.
        DatasetUploadTooDemanding: loading exceeded a limit.
    """
    # A minimal environment without any key.
    kept = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {"PYTHONPATH": str(_ROOT), "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", __name__, str(folder), str(memory_mb), str(seconds)]
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds, check=False
        )
        answer = parse_json(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise DatasetUploadTooDemanding(name=name, seconds=seconds, memory_mb=memory_mb) from error
    if answer:
        raise _error(answer, folder)


def _error(answer: Mapping[str, Any], folder: Path) -> ChatbotError:
    params = dict(answer["params"])
    if "path" in params:
        # The temporary folder of the trial would only confuse the user.
        params["path"] = params["path"].removeprefix(f"{folder}{os.sep}")
    return next(cls for cls in all_errors() if cls.code == answer["code"])(**params)


def main() -> None:
    folder, memory_mb, seconds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 1_000_000, memory_mb * 1_000_000))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    answer: dict[str, Any] = {}
    try:
        check_dataset(folder)
    except ChatbotError as error:
        if isinstance(error.__cause__, MemoryError):
            sys.exit(1)
        answer = {"code": error.code, "params": {name: str(value) for name, value in error.params.items()}}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
