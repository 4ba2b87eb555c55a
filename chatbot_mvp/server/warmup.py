"""Loads the indexes and the embedding model when the server starts, so that no first question waits for them."""

from __future__ import annotations

import logging
import threading
import time

from chatbot_mvp import logs
from chatbot_mvp.api import KbRecord
from chatbot_mvp.app import App
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.retrieval.strategies import STRATEGIES

log = logging.getLogger(__name__)
_CHARS = 3_000_000
"""Characters of the knowledge bases that are loaded, the newest first: half of what stays in memory."""


class WarmUp:
    """Loads the newest knowledge bases in the background. Questions are answered meanwhile, as far as it has come."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.done, self.total = 0, 0
        self._thread = threading.Thread(target=self._run, name="warm-up", daemon=True)

    @property
    def ready(self) -> bool:
        """True once everything is loaded."""
        return not self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        started, chars = time.perf_counter(), 0
        chosen: list[KbRecord] = []
        strategy = STRATEGIES.get(self._app.settings.retrieval_strategy)
        if strategy is None or strategy.writes_contexts:
            return  # an index that is not built yet would be built now, by paid requests that nobody asked for
        for record in self._app.kbs.records():
            chars += record.chars
            if chars > _CHARS and chosen:
                break
            chosen.append(record)
        self.total = len(chosen)
        if chosen:
            logs.say(f"loading {self.total} knowledge bases")
        for record in chosen:
            try:
                self._app.kbs.pipeline(record.kb_id).retrieve([record.kb_name])
            except ChatbotError as error:
                log.warning("the knowledge base %s could not be loaded: %s", record.kb_id, error)
            except Exception:
                log.exception("the knowledge base %s could not be loaded", record.kb_id)
            self.done += 1
        if chosen:
            logs.say(f"ready after {time.perf_counter() - started:.1f} s")
