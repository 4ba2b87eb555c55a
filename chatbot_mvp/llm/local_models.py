"""GGUF models for ``local``: offered by this machine's memory, downloaded from the hub, used and deleted."""

from __future__ import annotations

import os
import shutil
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from chatbot_mvp.errors import ChatbotError, InvalidSetting, LocalModelError
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.llm.hub import HubFile, file_url, gguf_files
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.files import naming
from chatbot_mvp.types import ProgressCallback

_LIST = Path(__file__).with_name("local_models.toml")
_OFFERED = 3
_KEPT_S = 300.0
_REFUSED_S = 30.0
"""How long an answer of the hub is used, and a refusal: a page is drawn often."""
_MARGIN_BYTES = 500_000_000
"""Space on the disk that a download leaves free."""
_MOST_FOLDERS = 5_000
"""How many folders are looked into for a file."""
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that runs on this machine."""

    repo: str
    name: str
    """Name of the file."""
    file: HubFile | None
    """What the hub says of it; None if it could not be asked."""
    problem: ChatbotError | None
    """Why it could not."""
    here: bool
    """Whether it is downloaded."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A model on this machine."""

    name: str
    """"OWNER/NAME/FILE", as ``use`` and ``delete`` take it."""
    size_bytes: int
    in_use: bool
    """Whether LOCAL_MODEL_PATH names it."""


class LocalModels:
    """The GGUF models of this machine. Safe to share between sessions."""

    def __init__(self, live: LiveSettings, providers: Providers) -> None:
        self._live = live
        self._providers = providers
        self._told: dict[str, tuple[float, list[HubFile] | ChatbotError]] = {}

    # --- choosing

    @property
    def memory_gb(self) -> float | None:
        """Memory of this machine; None if not known."""
        memory = memory_bytes()
        return None if memory is None else memory / _GB

    @performs(Action.CHECK)
    def offers(self) -> list[Offer]:
        """Return the three largest models of our list that this machine's memory holds, the smallest first.

        Asks the hub for their size, licence and checksum, at most once in five minutes.
        """
        rows = tomllib.loads(_LIST.read_text("utf-8"))["model"]
        memory = memory_bytes()
        fitting = [row for row in rows if memory is None or row["memory_gb"] * _GB <= memory * 1.1] or rows[:1]
        chosen = fitting[-_OFFERED:] if memory is not None else fitting[:_OFFERED]
        with ThreadPoolExecutor(_OFFERED) as pool:
            return list(pool.map(lambda row: self._offer(row["repo"], row["file"]), chosen))

    def _offer(self, repo: str, name: str) -> Offer:
        here = self._place(repo, name).is_file()
        try:
            return Offer(repo, name, self._file(repo, name), None, here)
        except ChatbotError as problem:
            return Offer(repo, name, None, problem, here)

    @performs(Action.CHECK)
    def files(self, repo: str) -> list[HubFile]:
        """Return the GGUF files of a model on the hub, smallest first. Raises as ``hub.gguf_files``."""
        endpoint = self._live.current.hf_endpoint
        key = f"{endpoint} {repo}"
        at, found = self._told.get(key, (-_KEPT_S, []))
        if time.monotonic() - at > (_REFUSED_S if isinstance(found, ChatbotError) else _KEPT_S):
            try:
                found = gguf_files(endpoint, repo)
            except ChatbotError as problem:
                found = problem
            self._told[key] = (time.monotonic(), found)
        if isinstance(found, ChatbotError):
            raise found
        return found

    def _file(self, repo: str, name: str) -> HubFile:
        files = {file.name: file for file in self.files(repo)}
        if name not in files:
            raise LocalModelError("hub_file_unknown", repo=repo, file=name, legal=", ".join(files))
        return files[name]

    # --- downloading

    @performs(Action.CHANGE_SETTINGS)
    def start(self, repo: str, name: str) -> str:
        """Download a model in the background, and use it then; return the job's id. A partial download continues.

        ``local`` becomes the provider at the end, unless another one was chosen meanwhile or PROVIDER names one.

        Raises:
            LocalModelError: the hub does not have it, or does not answer.
            RunError (run_busy): it is being downloaded.
        """
        file, chosen = self._file(repo, name), self._providers.chosen
        job_id = f"model-{repo.replace('/', '--')}--{name}"
        self._jobs.submit(job_id, f"{repo}/{name}", partial(self._fetch, file, chosen))
        return job_id

    @performs(Action.CHECK)
    def jobs(self) -> list[JobStatus]:
        """Return the downloads, the latest first; one without an end has ended with the server."""
        return sorted(self._jobs.statuses(), key=lambda job: job.updated_at, reverse=True)

    @performs(Action.CHANGE_SETTINGS)
    def stop(self, job_id: str) -> None:
        """Stop a download. What has arrived is kept."""
        self._jobs.stop(job_id)

    def _fetch(self, file: HubFile, chosen: str, progress: ProgressCallback) -> None:
        from chatbot_mvp.remote.download import download

        target = self._place(file.repo, file.name)
        url = file_url(self._live.current.hf_endpoint, file)
        if not target.is_file():
            self._require_room(file, target)

            def failed(reason: str) -> LocalModelError:
                return LocalModelError("local_model_not_received", file=file.name, url=url, reason=reason)

            download(url, target, failed, progress, sha256=file.sha256)
        with suppress(InvalidSetting):  # LOCAL_MODEL_PATH is set outside Admin, which wins
            self.use(f"{file.repo}/{file.name}", instead_of=chosen)

    def _require_room(self, file: HubFile, target: Path) -> None:
        home = next(place for place in target.parents if place.exists())
        part = target.with_name(f"{target.name}.part")
        needed = file.size_bytes - (part.stat().st_size if part.is_file() else 0)
        free = shutil.disk_usage(home).free
        if needed + _MARGIN_BYTES > free:
            figures = {"needed_gb": f"{needed / _GB:.1f}", "free_gb": f"{free / _GB:.1f}"}
            raise LocalModelError("local_model_no_room", file=file.name, folder=str(target.parent), **figures)

    # --- what is here

    @performs(Action.READ)
    def here(self) -> list[Downloaded]:
        """Return the models that are downloaded, in the order of their names."""
        used = self._live.current.local_model_path
        return [Downloaded(name, path.stat().st_size, str(path) == used) for name, path in self._found().items()]

    @performs(Action.CHANGE_SETTINGS)
    def below(self, place: str) -> list[Path]:
        """Return a GGUF file of this machine, or those in a folder and below it, in at most ``_MOST_FOLDERS``.

        Raises:
            LocalModelError (local_model_not_here): there is none.
        """
        path = Path(place).expanduser().absolute()
        below = islice(os.walk(path), _MOST_FOLDERS)
        files = [path, *(Path(folder, name) for folder, _, names in below for name in names)]
        found = sorted(one for one in files if one.suffix == ".gguf" and one.is_file())
        if not found:
            raise LocalModelError("local_model_not_here", file=str(path), legal=", ".join(self._found()) or "-")
        return found

    @performs(Action.CHANGE_SETTINGS)
    def use(self, name: str, instead_of: str = "") -> None:
        """Let ``local`` run a downloaded model, and choose ``local`` as the provider where Admin may choose.

        Args:
            name: of a downloaded model, or the absolute path of a file of this machine.
            instead_of: choose it only if this provider is chosen; "" for whichever is.

        Raises:
            LocalModelError (local_model_not_here)
            InvalidSetting: LOCAL_MODEL_PATH is set outside Admin.
            ConfigurationError (choice_not_kept), FileOfLaterVersion
        """
        [path] = self.below(name) if Path(name).is_absolute() else [self._downloaded(name)]
        if self._live.is_outside("local_model_path"):
            reason = "it is set outside Admin, which takes precedence; remove it there first"
            found = self._live.current.local_model_path
            raise InvalidSetting(name="LOCAL_MODEL_PATH", found=found, reason=reason)
        self._live.save({"local_model_path": str(path)})
        able = any(status.name == "local" and status.configured for status in self._providers.statuses())
        if able and not self._providers.fixed and self._providers.chosen in (instead_of or self._providers.chosen,):
            self._providers.choose("local")

    @performs(Action.CHANGE_SETTINGS)
    def delete(self, name: str) -> None:
        """Delete a downloaded model; ``local`` is without a model if it was that one.

        Raises:
            LocalModelError (local_model_not_here)
            FileNotWritten: the file could not be deleted.
        """
        path = self._downloaded(name)
        if str(path) == self._live.current.local_model_path and not self._live.is_outside("local_model_path"):
            self._live.save({"local_model_path": None})
        with naming(path):
            path.unlink(missing_ok=True)

    def _downloaded(self, name: str) -> Path:
        here = self._found()
        if name not in here:
            raise LocalModelError("local_model_not_here", file=name, legal=", ".join(here) or "-")
        return here[name]

    def _found(self) -> dict[str, Path]:
        paths = sorted(self._home.glob("*--*/*.gguf"))
        return {f"{path.parent.name.replace('--', '/', 1)}/{path.name}": path for path in paths}

    def _place(self, repo: str, name: str) -> Path:
        return self._home / repo.replace("/", "--", 1) / name

    @property
    def _home(self) -> Path:
        return self._live.current.gguf_dir.absolute()

    @cached_property
    def _jobs(self) -> JobManager:
        return JobManager(self._live.current.model_jobs_dir)


def memory_bytes() -> int | None:
    """Return the memory of this machine, or of the container around this process; None if not known."""
    found = []
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # without a limit it says "max"
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(found, default=None)
