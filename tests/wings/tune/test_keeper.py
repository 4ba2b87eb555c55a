"""A tune over a knowledge base quotes nothing of a document that was purged."""

from __future__ import annotations

import json
from pathlib import Path

from tests.moving import PARKING, app_over, moving_kb


def test_records_of_a_tune_are_purged_and_those_of_other_tunes_stay(tmp_path: Path, clean_env: Path) -> None:
    app = app_over(tmp_path)
    kb_id = moving_kb(app)
    line = json.dumps({"section": "Aparcamiento", "text": PARKING.split("\n\n")[1]}, ensure_ascii=False) + "\n"
    for name, reference in (("mine", f"kb:{kb_id}/set"), ("other", "musique")):
        folder = tmp_path / "tunes" / name / "trials" / "f"
        folder.mkdir(parents=True)
        (folder.parent.parent / "plan.json").write_text(json.dumps({"dataset": reference}), "utf-8")
        (folder / "records.jsonl").write_text(line, "utf-8")
    app.kb_changes.purge(kb_id, ["edificio/aparcamiento.md"])
    mine, other = ((tmp_path / "tunes" / name / "trials" / "f" / "records.jsonl") for name in ("mine", "other"))
    assert "Zabalbeascoa" not in mine.read_text("utf-8")
    assert "[retirado" in json.loads(mine.read_text("utf-8"))["section"]
    assert other.read_text("utf-8") == line
