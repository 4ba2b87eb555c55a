"""Read an uploaded data set of answers in a separate process with limited time, memory and output.

``python -m chatbot_mvp.wings.ragas.reading_apart SECONDS MEMORY_MB OUTPUT_MB PATH NAME`` prints one line of JSON,
{} or the reader's error, and then each row as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from chatbot_mvp.datasets.limited import Limits, limit_this_process, output_of
from chatbot_mvp.errors import ChatbotError, DatasetError, all_errors
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.ragas.rows import InputRow, given_rows, rows_from

LIMITS = Limits(seconds=60, memory_mb=2_000, output_mb=100)


def rows_of_content(name: str, content: bytes, limits: Limits = LIMITS) -> list[InputRow]:
    """Read the rows of an uploaded file, as ``read_rows`` does. The extension of ``name`` determines the format.

    Raises:
        DatasetError: as from ``read_rows``.
        DatasetError (dataset_upload_too_demanding): reading exceeded a limit.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload{Path(name).suffix}"
        path.write_bytes(content)
        answer, *lines = output_of(__name__, [str(path), name], limits).splitlines() or [b""]
    if not answer:
        raise DatasetError(
            "dataset_upload_too_demanding", name=name, seconds=limits.seconds, memory_mb=limits.memory_mb
        )
    try:
        if failed := parse_json(answer):
            raise all_errors()[failed["code"]](failed["code"], **failed["params"])
        return rows_from([parse_json(line) for line in lines], name)
    except ValueError as error:
        raise DatasetError("dataset_file_unreadable", path=name, reason=str(error)) from error


def main() -> None:
    path, name = limit_this_process()
    try:
        rows = given_rows(Path(path), name)
    except ChatbotError as error:
        if isinstance(error.__cause__, MemoryError):
            sys.exit(1)
        answer = {"code": error.code, "params": {key: str(value) for key, value in error.params.items()}}
        sys.stdout.write(json.dumps(answer))
        return
    sys.stdout.write("{}\n")
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")  # ASCII, so that only the end of a row ends a line


if __name__ == "__main__":
    main()
