"""The writes of ``backup`` and ``restore`` that ``tests.faults`` lets fail."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from chatbot_mvp.storage.data_folder import DataFolder, use_folder
from chatbot_mvp.wings.backup.reading import open_backup
from chatbot_mvp.wings.backup.restoring import restore
from chatbot_mvp.wings.backup.writing import save_backup
from tests.faults import Scenario


def _whole(data: Path) -> DataFolder:
    """A data folder, one file of which lies elsewhere."""
    return DataFolder(data / "root", {"app_settings.json": data / "beside.json"})


def _fill(data: Path, word: str) -> None:
    root = data / "root"
    for name in (f"kb/{word}/kb.json", "kb/both/source.txt", f"results/{word}/records.jsonl", "run_notes.jsonl"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f'{{"word": "{word}"}}\n')
    (data / "beside.json").write_text(f'{{"word": "{word}"}}')


def _archive(data: Path) -> Path:
    return data.parent / "backup.zip"  # beside the folder, which each trial copies anew


def _before_restore(data: Path) -> None:
    made = data.parent / "made"
    _fill(made, "new")
    save_backup(_archive(data), _whole(made), "1")
    _fill(data, "old")


def _restore(data: Path) -> None:
    with open_backup(_archive(data)) as backup:
        restore(backup, _whole(data), replace=True)


def _files(data: Path) -> Any:
    """Everything in the folder, as a program sees it that has just been started."""
    if (handle := use_folder(_whole(data))) is not None:
        os.close(handle)
    found = {path.relative_to(data): path for path in data.rglob("*") if path.is_file()}
    return {str(name): path.read_text() for name, path in found.items() if not any(p[0] == "." for p in name.parts)}


def _before_backup(data: Path) -> None:
    _fill(data, "old")
    _back_up(data)
    _fill(data, "new")


def _back_up(data: Path) -> None:
    save_backup(data / "backup.zip", _whole(data), "1")


def _backed_up(data: Path) -> Any:
    found = []
    with open_backup(data / "backup.zip") as backup:
        for entry in backup.data:
            backup.copy(entry)
            found.append([entry.name, entry.sha256])
    return found


SCENARIOS = {
    "backup": Scenario(_before_backup, _back_up, _backed_up),
    "restore": Scenario(_before_restore, _restore, _files),
}
