"""Load an untrusted data set in a separate process with limited time and memory.

``python -m chatbot_mvp.datasets.trial SECONDS MEMORY_MB OUTPUT_MB FOLDER`` prints JSON: {} or the loader's error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.files import check_dataset
from chatbot_mvp.datasets.limited import MEMORY_MB, SECONDS, Limits, limit_this_process, output_of
from chatbot_mvp.errors import ChatbotError, DatasetError, all_errors
from chatbot_mvp.storage.json_object import parse_json


def try_to_load(folder: Path, name: str, seconds: int = SECONDS, memory_mb: int = MEMORY_MB) -> None:
    """Check that the loader accepts ``folder``.

    Args:
        name: name of the upload, for error messages.
        seconds: time limit.
        memory_mb: limit of the address space in megabytes.

    Raises:
        DatasetError: the loader's error, with paths relative to ``folder``.
        DatasetError (dataset_upload_too_demanding): loading exceeded a limit.
    """
    try:
        answer = parse_json(output_of(__name__, [str(folder)], Limits(seconds, memory_mb)))
    except ValueError as error:
        raise DatasetError("dataset_upload_too_demanding", name=name, seconds=seconds, memory_mb=memory_mb) from error
    if answer:
        raise _error(answer, folder)


def _error(answer: Mapping[str, Any], folder: Path) -> ChatbotError:
    params = dict(answer["params"])
    if "path" in params:
        # The temporary folder of the trial would only confuse the user.
        params["path"] = params["path"].removeprefix(f"{folder}{os.sep}")
    return all_errors()[answer["code"]](answer["code"], **params)


def main() -> None:
    [folder] = limit_this_process()
    answer: dict[str, Any] = {}
    try:
        check_dataset(Path(folder))
    except ChatbotError as error:
        if isinstance(error.__cause__, MemoryError):
            sys.exit(1)
        answer = {"code": error.code, "params": {name: str(value) for name, value in error.params.items()}}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
