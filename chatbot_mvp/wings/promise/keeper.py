"""The version of a knowledge base that its promise was made on stays."""

from __future__ import annotations

from collections.abc import Iterator

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.wings.promise.service import Promises


def _references(app: App, kb_id: str) -> Iterator[str]:
    return app.get(Promises).references(kb_id)


KEEPER = KbKeeper(references=_references)
