"""The versions of a knowledge base that verdicts were given on stay."""

from __future__ import annotations

from collections.abc import Iterator

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.wings.review.service import Reviews


def _references(app: App, kb_id: str) -> Iterator[str]:
    return app.get(Reviews).references(kb_id)


KEEPER = KbKeeper(references=_references)
