"""Exchange with the bucket of DATA_ROOT, on request and in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from chatbot_mvp.app import App
from chatbot_mvp.errors import ChatbotError, FileNotWritten
from chatbot_mvp.health import Part
from chatbot_mvp.plugins.rows import Start
from chatbot_mvp.remote.s3 import S3Url, open_storage
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.wings.sharing.errors import SharingError
from chatbot_mvp.wings.sharing.exchange import Exchange, Report
from chatbot_mvp.wings.sharing.plan import Deletions
from chatbot_mvp.wings.sharing.settings import SharingFields

_EVERY_S = 15.0
"""Time between two exchanges in the background. Listing a bucket of 10,000 objects takes ten requests."""

_NAMED = 20
"""How many files that cannot be shared are named."""

_log = logging.getLogger(__name__)


def skipped_lines(skipped: Mapping[str, str]) -> list[str]:
    """Return one line for each of the first files that cannot be shared, and one for the number of the others."""
    lines = [f"{path!r}: {reason}" for path, reason in sorted(skipped.items())]
    more = len(lines) - _NAMED
    return [*lines[:_NAMED], f"{more} more"] if more > 0 else lines


@dataclass(frozen=True)
class SharingState:
    """The last exchange."""

    root: str
    """Address of the shared root."""
    report: Report | None
    """None if it failed."""
    error: ChatbotError | None
    at: float
    """Unix time of its end."""


class Sharing:
    """Shares knowledge bases and finished runs through DATA_ROOT. Without this setting it does nothing."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live
        self._state: SharingState | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, app: App) -> Sharing:
        """As in ``Service``."""
        return cls(app.live)

    @property
    def root(self) -> str:
        """Address of the shared root; "" if nothing is shared."""
        return self._live.current.of(SharingFields).data_root

    @property
    def state(self) -> SharingState | None:
        """The last exchange of this process; None before the first."""
        return self._state

    @property
    def waiting(self) -> tuple[str, ...]:
        """Deletions that the last exchange left for a yes: paths, as in ``Report``."""
        return self._state.report.waiting if self._state is not None and self._state.report is not None else ()

    @performs(Action.CHANGE_KB)
    def exchange(self, deletions: str = "wait") -> Report:
        """Exchange once, in this thread.

        Args:
            deletions: what to do with many deletions at once, a value of ``Deletions``: "wait", "apply" or "undo".

        Raises:
            SharingError (shared_root_unusable): DATA_ROOT or a setting of the S3 server is missing.
            StorageError, SharingError (shared_root_emptied, shared_root_of_later_version), FileNotWritten
        """
        try:
            report = self._exchange.once(Deletions(deletions))
        except OSError as error:
            raise FileNotWritten(
                path=str(error.filename or self._live.current.data_dir), reason=error.strerror or str(error)
            ) from error
        self._state = SharingState(self.root, report, None, time.time())
        return report

    def try_root(self) -> str:
        """List the shared root and return the result in words. Changes nothing.

        Raises:
            SharingError (shared_root_unusable), StorageError
            SharingError (shared_deletions_wait): the last exchange in the background has left them.
            ChatbotError: the last exchange in the background failed with it.
        """
        if self._state is not None and self._state.error is not None:
            raise self._state.error
        if waiting := self.waiting:
            raise SharingError("shared_deletions_wait", count=len(waiting), root=self.root, example=waiting[0])
        return f"{self.root}: {self._exchange.count()} files"

    def start(self) -> None:
        """Exchange every 15 seconds, in a thread. Further calls, and calls without DATA_ROOT, do nothing."""
        with self._lock:
            if self.root and self._thread is None:
                self._thread = threading.Thread(target=self._keep_exchanging, name="sharing", daemon=True)
                self._thread.start()

    def _keep_exchanging(self) -> None:
        while True:
            try:
                before = self._state.report if self._state is not None else None
                report = self.exchange()
                for path in report.conflicts:
                    _log.warning("%s was changed on two machines; the version of this one is kept there", path)
                # An exchange comes every few seconds; what stays as it was is said once.
                if before is None or before.skipped != report.skipped:
                    for line in skipped_lines(report.skipped):
                        _log.warning("not shared: %s", line)
                if report.waiting and (before is None or before.waiting != report.waiting):
                    _log.warning("%d deletions wait for a yes: chatbot-mvp sync --deletions", len(report.waiting))
            except ChatbotError as error:
                if self._state is None or str(self._state.error) != str(error):
                    _log.warning("exchange with %s failed: %s", self.root, error)
                self._state = SharingState(self.root, None, error, time.time())
            except Exception:  # noqa: BLE001
                # A defect must not end the thread silently.
                _log.exception("exchange with %s failed", self.root)
            time.sleep(_EVERY_S)

    @cached_property
    def _exchange(self) -> Exchange:
        settings = self._live.current
        root = S3Url.parse(self.root)
        # The bucket is part of DATA_ROOT.
        missing = [name for name in settings.storage_missing if name != "MINIO_BUCKET_NAME"]
        storage = open_storage(settings)
        if root is None or storage is None:
            raise SharingError("shared_root_unusable", root=self.root, missing=", ".join(missing) or "DATA_ROOT")
        return Exchange(settings.data_dir, storage, root)


START = Start(lambda app: app.get(Sharing).start())
PART = Part("sharing", lambda app: app.get(Sharing).root, lambda app: app.get(Sharing).try_root())
