"""KB_MIN_EVIDENCE as it was chosen on a page: it outlives the process, and a setting from outside wins over it."""

from __future__ import annotations

import threading

from chatbot_mvp.app_settings import save_min_evidence, saved_min_evidence
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.settings import Settings

_NAME = "kb_min_evidence"


class EvidenceChoice:
    """The threshold of strict mode above some settings. Safe to share between threads."""

    def __init__(self, given: Settings) -> None:
        self._given = given
        self._chosen = None if self.fixed else saved_min_evidence(given.app_settings_path)
        self._over: tuple[Settings, float, Settings] | None = None
        self._lock = threading.Lock()

    @property
    def fixed(self) -> bool:
        """True if KB_MIN_EVIDENCE is set outside of the pages, so that nothing can be chosen there."""
        return _NAME in self._given.model_fields_set

    def over(self, settings: Settings) -> Settings:
        """``settings`` with the threshold that was chosen, if one was."""
        chosen = self._chosen
        if chosen is None or settings.kb_min_evidence == chosen:
            return settings
        with self._lock:
            # Asked for at every step of a page, and making settings takes a moment.
            if self._over is None or self._over[0] is not settings or self._over[1] != chosen:
                self._over = (settings, chosen, settings.with_changes(kb_min_evidence=chosen))
            return self._over[2]

    def choose(self, value: float) -> None:
        """Take a threshold (0-1) from now on, and after a restart.

        Raises:
            InvalidSetting: it is out of its range, or set outside of the pages.
        """
        if self.fixed:
            reason = f"it is set outside of the pages and wins over the choice of {value}; remove it there first"
            raise InvalidSetting(name=_NAME.upper(), found=self._given.kb_min_evidence, reason=reason)
        self._given.with_changes(kb_min_evidence=value)
        save_min_evidence(self._given.app_settings_path, value)
        self._chosen = value
