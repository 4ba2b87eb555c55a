"""Comparisons hold passages of both versions, so they go when documents of their knowledge base are purged."""

from __future__ import annotations

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.wings.effects.store import EffectsStore


def _purge(app: App, purged: Purged) -> int:
    folders = EffectsStore(app.settings.kb_dir).folders(purged.kb_id)
    for folder in folders:
        folder.delete()
    return len(folders)


KEEPER = KbKeeper(purge=_purge)
