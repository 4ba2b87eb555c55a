"""What tunes over a knowledge base quote of it is purged with its documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.knowledge_base.purged_files import purge_files
from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.wings.tune.store import tunes_dir

_REWRITTEN = (".json", ".jsonl", ".csv")


def _purge(app: App, purged: Purged) -> int:
    return purge_files(_files(tunes_dir(app.settings), purged.kb_id), purged)


def _files(tunes: Path, kb_id: str) -> Iterator[Path]:
    for plan in tunes.glob("*/plan.json"):
        if kb_id.encode() in plan.read_bytes():
            yield from (path for path in plan.parent.rglob("*") if path.suffix in _REWRITTEN)


KEEPER = KbKeeper(purge=_purge)
