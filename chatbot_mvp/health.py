"""Checks whether the configured parts respond. Checks run in the background, so callers never wait for them."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from chatbot_mvp.datasets.dataset_service import DatasetService
from chatbot_mvp.documents.reading.fences import require_fences
from chatbot_mvp.documents.reading.sandbox import read_apart
from chatbot_mvp.documents.trial import read_each_format
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.retrieval.indexes.engines import LOCAL, words_described
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.files import make_folder

_log = logging.getLogger(__name__)

HealthState = Literal["ok", "failed", "checking"]


@dataclass(frozen=True)
class Probe:
    """A part of the configuration that can be checked."""

    name: str
    """"provider", "embedder", "storage" or that of an added part."""
    identity: str
    """Identifies the current configuration of the part; when it changes, the part is checked again."""
    attempt: Callable[[], float | None]
    """Runs the check; returns seconds of latency, or None if meaningless. Raises ChatbotError or OSError on failure."""


@dataclass(frozen=True)
class Health:
    """Latest known state of a part."""

    name: str
    identity: str
    state: HealthState
    seconds: float | None = None
    """Latency of the check; None before it has finished, and for parts without a meaningful latency."""
    error: ChatbotError | None = None
    """Why the check failed, if it was a ChatbotError."""


class HealthChecks:
    """Keeps the latest check of each part. Safe to share between threads; runs at most one check per part at a time."""

    def __init__(self, parts: ConfiguredParts) -> None:
        self._parts = parts
        self._known: dict[str, tuple[float, Health]] = {}
        self._trying: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    @performs(Action.READ)
    def states(self, max_age_s: float = 300.0) -> list[Health]:
        """Return the state of every part without waiting.

        Starts a background check of each part that was never checked, or whose check is older than ``max_age_s``
        seconds. Until the new check has finished, the previous state is returned.
        """
        found = []
        for part in self._parts.probes():
            key = (part.name, part.identity)
            with self._lock:
                at, health = self._known.get(part.name, (0.0, None))
                known = health is not None and health.identity == part.identity
                stale = not known or time.monotonic() - at > max_age_s
                start = stale and key not in self._trying
                if start:
                    self._trying.add(key)
            if start:
                threading.Thread(target=self._try, args=(part,), name=f"health-{part.name}", daemon=True).start()
            found.append(health if known and health else Health(part.name, part.identity, "checking"))
        return found

    @performs(Action.CHECK)
    def forget(self) -> None:
        """Discard all states; the next call of ``states`` checks every part again."""
        with self._lock:
            self._known.clear()

    def _try(self, part: Probe) -> None:
        try:
            health = Health(part.name, part.identity, "ok", part.attempt())
        except ChatbotError as error:
            health = Health(part.name, part.identity, "failed", error=error)
        except Exception:  # noqa: BLE001
            # Any exception of a library: otherwise the part would stay in the state "checking" for ever.
            _log.exception("health check of %s failed", part.name)
            health = Health(part.name, part.identity, "failed")
        with self._lock:
            self._known[part.name] = (time.monotonic(), health)
            self._trying.discard((part.name, part.identity))


@dataclass(frozen=True)
class Check:
    """One configured part, and whether it works, as ``doctor`` prints it."""

    name: str
    """"provider", "embedder", "data", "readers" (of documents), "words" (the local search for words), "fences" (around
    readers) or, where they are configured, "storage" and those of added parts."""
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the configuration that is added, and how it is checked."""

    name: str
    identity: Callable[[Any], str]
    """Maps the App to what identifies the current configuration of the part; "" if it is not configured."""
    attempt: Callable[[Any], str]
    """Checks the part of an App and returns the detail for ``doctor``. Raises ChatbotError or OSError on failure."""
    on_home: bool = True
    """Whether *Inicio* checks it, too. ``doctor`` always does."""


WORDS = Part(
    "words",
    identity=lambda app: LOCAL.name if app.settings.index_engine == LOCAL.name else "",
    attempt=lambda _: words_described(),
    on_home=False,
)
"""The search for words on this machine."""
READERS = Part("readers", identity=lambda _: "own", attempt=lambda _: read_each_format(), on_home=False)
"""What reads documents, in the process that is kept from everything else."""
FENCES = Part("fences", identity=lambda _: "readers", attempt=lambda _: _fences(), on_home=False)
"""What keeps the readers of uploads from everything else."""
_ALWAYS = ("provider", "embedder", "data", "storage")
"""Names of what ``ConfiguredParts`` checks by itself."""
PARTS: Mapping[str, Part] = Registry(
    "part",
    Part,
    (WORDS, READERS, FENCES),
    lambda part: f"there is already a part {part.name!r}" if part.name in _ALWAYS else "",
)
"""Name -> part."""


class ConfiguredParts:
    """Provider, embedder, data folder, search for words, S3 storage and added parts, as the settings configure them."""

    def __init__(
        self, live: LiveSettings, providers: Providers, embedders: Embedders, datasets: DatasetService, app: object
    ) -> None:
        """``app`` is what the added parts are checked with."""
        self._live, self._providers, self._embedders, self._datasets = live, providers, embedders, datasets
        self._app = app

    def probes(self) -> Sequence[Probe]:
        """Return one probe per configured part whose health the home page shows."""
        settings = self._live.current
        parts = [
            Probe("provider", settings.language_model, self._ask_provider),
            Probe("embedder", settings.embedding_model_name, self._time_embedder),
        ]
        if self._datasets.uses_storage:
            parts.append(Probe("storage", settings.minio_bucket_name, self._ask_storage))
        for part, identity in self._configured():
            if part.on_home:
                parts.append(Probe(part.name, identity, partial(_seconds, partial(part.attempt, self._app))))
        return parts

    def _configured(self) -> Iterator[tuple[Part, str]]:
        """Yield the other parts that are configured, each with its identity."""
        for part in PARTS.values():
            if identity := part.identity(self._app):
                yield part, identity

    def check(self) -> list[Check]:
        """Check each part once, in this thread. The first call loads the embedding model."""
        return [
            _check("provider", self._provider_detail),
            _check("embedder", self._embedder_detail),
            _check("data", self._data_detail),
            *([_check("storage", self._datasets.try_storage)] if self._datasets.uses_storage else []),
            *(_check(part.name, partial(part.attempt, self._app)) for part, _ in self._configured()),
        ]

    def _provider_detail(self) -> str:
        self._providers.require_chosen()
        return self._live.current.language_model

    def _embedder_detail(self) -> str:
        return f"{self._live.current.embedding_model_name} ({1_000 * self._time_embedder():.0f} ms)"

    def _data_detail(self) -> str:
        folder = self._live.current.data_dir
        make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)

    def _ask_provider(self) -> float | None:
        self._providers.require_chosen()
        settings = self._live.current
        if not settings.model_of(settings.provider):
            return None
        check = self._providers.check(settings.provider)
        if check.error is not None:
            raise check.error
        return check.seconds

    def _time_embedder(self) -> float:
        embedder = self._embedders.of(self._live.current)
        return _seconds(lambda: embedder.embed(["?"], "query"))

    def _ask_storage(self) -> None:
        self._datasets.try_storage()


def _fences() -> str:
    """Read a file, and return what held around its reader."""
    read_apart(".html", "doctor.html", b"<p>1</p>", 1)
    return str(require_fences())


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _check(name: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(name, True, attempt())
    except (ChatbotError, OSError) as error:
        return Check(name, False, str(error))
