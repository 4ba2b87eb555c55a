"""``build_app(settings)`` makes the App: all that a page or a command may use, wired together in one place."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Iterator
from contextlib import suppress
from threading import RLock, Thread
from typing import Any, Protocol, Self, TypeVar

from threadpoolctl import threadpool_limits

from chatbot_mvp.chat.answering import Answering
from chatbot_mvp.chat.purging import purge_chat
from chatbot_mvp.chat.sessions import ChatSessions
from chatbot_mvp.datasets.dataset_service import DatasetService
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.benchmark.preparation import reopen_run
from chatbot_mvp.evaluation.benchmark.presets import Presets
from chatbot_mvp.evaluation.benchmark.runner import RunParts
from chatbot_mvp.evaluation.benchmark.worker import RunWorker, run_models
from chatbot_mvp.evaluation.detail import RunDetails
from chatbot_mvp.evaluation.kb.question_sets import QuestionSets
from chatbot_mvp.evaluation.kb_map import KbMaps
from chatbot_mvp.evaluation.kb_service import KbEvaluationService
from chatbot_mvp.evaluation.keeping import KbKeeper, eraser_of, references_of
from chatbot_mvp.evaluation.own_questions import OwnQuestions
from chatbot_mvp.evaluation.run_service import RunService
from chatbot_mvp.evaluation.run_sources import RunSources
from chatbot_mvp.exports.tables import write_detail_csv, write_summary_csv
from chatbot_mvp.health import ConfiguredParts, HealthChecks
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.knowledge_base.changing import KbChanges
from chatbot_mvp.knowledge_base.filing import KbFiling
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.one_document import KbDocuments
from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.knowledge_base.uploads import Uploads
from chatbot_mvp.llm.connections import Connections
from chatbot_mvp.llm.local_models import LocalModels
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.rows import Start
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.systems import changes_of
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.access import AdminAccess
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.data_folder import use_folder

START_S = 10.0
"""How long a server waits for what a plugin does at its start, in seconds."""

_log = logging.getLogger(__name__)


class Service(Protocol):
    """A part of the App that it does not know. Safe to share between sessions; holds nothing of one user."""

    @classmethod
    def of(cls, app: App) -> Self:
        """Make the service over an App."""


Made = TypeVar("Made", bound=Service)


class App:
    """The services of one server or command. Safe to share between sessions; holds nothing of one user."""

    def __init__(self, live: LiveSettings, providers: Providers, embedders: Embedders) -> None:
        # The products of one question are small: several BLAS threads would mostly wait for each other, and take the
        # cores from the encoder. Measured beside a busy process, a question takes a third of the processor's time.
        threadpool_limits(1, "blas")
        start = live.current  # folders do not change while the App is open
        factory = PipelineFactory(embedders, providers)
        jobs = JobManager(start.jobs_dir)
        exporters = (write_summary_csv, write_detail_csv)
        kb_jobs = JobManager(start.kb_evaluation_jobs_dir)

        self.live = live
        """The settings in effect, and changing them."""
        self.access = AdminAccess(start)
        """Who may use Admin."""
        self.providers = providers
        """Language models: what is configured, chosen and reachable; choosing and checking."""
        self.connections = Connections(live, providers)
        """Providers as they are connected: keys, addresses and lists of models."""
        self.local_models = LocalModels(live, providers)
        """Language models for this machine: offered, downloaded, used."""
        self.embedders = embedders
        """Embedding models by name."""
        self.kbs = KnowledgeBases(live, factory, embedders)
        """Knowledge bases: kept, read, renamed, deleted, and the pipeline over each."""
        self.kb_changes = KbChanges(live, self.kbs)
        """Documents of knowledge bases: added, removed, moved; versions: listed, compared, restored, published."""
        self.kb_filing = KbFiling(live, self.kbs, self.kb_changes)
        """Files that become documents while the caller waits, and folders that knowledge bases are made equal to."""
        self.kb_documents = KbDocuments(self.kbs)
        """Single documents of knowledge bases: original, text, chunks."""
        self.uploads = Uploads(live, self.kbs, self.kb_changes)
        """Files that become knowledge bases in the background, and indexes built again."""
        self.answering = Answering(live, self.kbs, providers)
        """Answers to single questions."""
        self.chat = ChatSessions(live, self.answering)
        """Conversations: answers in the background, history, feedback, export."""
        self.datasets = DatasetService(live)
        """Data sets for benchmark runs."""
        self.sources = RunSources(live, self.datasets, self.kbs)
        """What a run can be over: data sets, and knowledge bases with questions."""
        self.run_parts = RunParts(factory, embedders, providers, exporters, start.submissions_path, build_worker)
        """What runs are made with."""
        self.archive = RunArchive(live, self.sources, (jobs, kb_jobs), self.run_parts)
        """Runs that have ended: listed, tagged, ranked, compared, exported, imported."""
        self.run_jobs = jobs
        """The queue of all runs but those over knowledge bases: only one of them is at work."""
        self.runs = RunService(live, self.sources, self.run_parts, jobs, kb_jobs, self)
        """Runs: planned, started, resumed, stopped."""
        self.presets = Presets(start.presets_path, live.is_outside)
        """Named parameters of runs."""
        self.details = RunDetails(live, providers, self.archive)
        """One finished run in full, and what the chat can take over from it."""
        self.question_sets = QuestionSets(live, self.kbs)
        """Question sets of knowledge bases: checked, edited, imported, exported."""
        self.own_questions = OwnQuestions(self.kbs, self.question_sets, self.chat)
        """Questions that people really ask: where each is answered, proposed by search and decided by a person."""
        self.kb_evaluation = KbEvaluationService(
            live, self.kbs, providers, self.question_sets, self.runs, self.archive, self.sources, kb_jobs
        )
        """Knowledge bases measured by question sets, and sets proposed."""
        self.kb_maps = KbMaps(live, self.kbs, self.kb_evaluation)
        """Passages of knowledge bases, with what questions and conversations had to do with them."""
        self.parts = ConfiguredParts(live, providers, embedders, self.datasets, self)
        """What is configured, and whether it works."""
        self.health = HealthChecks(self.parts)
        """The same parts, checked in the background."""
        self.kb_changes.references += [references_of(start), self._added_references]
        self.kb_changes.erasers += [self._purge_chat, eraser_of(start), self._purge_added]
        self._made: dict[type[Any], Any] = {}
        self._lock = RLock()  # one service may need another

    def get(self, kind: type[Made]) -> Made:
        """Return the App's one service of a class, which ``kind.of`` makes when it is first asked for.

        Services of wings and of installed packages are had this way; the attributes are those of the kernel.
        """
        with self._lock:
            if kind not in self._made:
                self._made[kind] = kind.of(self)
            made: Made = self._made[kind]
            return made

    def _purge_chat(self, purged: Purged) -> int:
        self.archive.forget_documents()
        self.chat.forget_held()
        start = self.live.current
        # Listed one after the other, so that a conversation that is deleted or brought back meanwhile is met.
        folders = (start.conversations_dir, start.deleted_conversations_dir, start.conversations_dir)
        talks = (path for folder in folders for path in sorted(folder.glob("*/*.jsonl")))
        deleted = start.deleted_sets_dir.glob(f"{purged.kb_id}/**/*.json")
        return purge_chat(talks, (start.metrics_log_path, start.errors_log_path, *deleted), purged)

    def _added_references(self, kb_id: str) -> Iterator[str]:
        for name, keeper in added("kb_keeper", KbKeeper).items():
            if keeper.references is None:
                continue
            try:
                yield from list(keeper.references(self, kb_id))
            except Exception as error:  # noqa: BLE001 - of a stranger's code
                # The change is made by now. Every version stays, since the plugin might refer to any of them.
                _log.exception("kb_keeper %r does not say what it refers to: %s", name, error)
                for version_id in self.kbs.store.versions_kept(kb_id):
                    with suppress(ChatbotError):
                        yield self.kbs.store.version(kb_id, version_id).sha256

    def _purge_added(self, purged: Purged) -> int:
        count, failed = 0, ""
        for name, keeper in added("kb_keeper", KbKeeper).items():
            try:
                count += keeper.purge(self, purged) if keeper.purge is not None else 0
            except Exception as error:  # noqa: BLE001 - of a stranger's code
                _log.exception("kb_keeper %r does not purge", name)
                failed = f"kb_keeper {name!r}: {type(error).__name__}: {error}"
        if failed:  # told as what could not be written, when the other keepers are done
            raise OSError(failed)
        return count

    def start(self) -> None:
        """Begin what a server does beside answering: called once, when its pages or ``serve`` start."""
        self.kb_changes.finish_purges()
        for name, work in added("start", Start).items():
            thread = Thread(target=self._begin, args=(name, work), name=f"start-{name}", daemon=True)
            thread.start()
            thread.join(START_S)
            if thread.is_alive():
                _log.error("start %r has not returned within %s s; the server goes on without waiting", name, START_S)

    def _begin(self, name: str, work: Start) -> None:
        try:
            work.run(self)
        except Exception:  # noqa: BLE001 - of a stranger's code
            _log.exception("start %r failed; the server goes on without it", name)

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self.live.current


def build_worker(settings: Settings, run_id: str) -> RunWorker:
    """The worker of a run in a process of its own, over the same data folder. Raises as ``reopen_run``."""
    threadpool_limits(1, "blas")
    live = LiveSettings(settings, changes_of)
    providers, embedders = Providers(live), Embedders(live)
    factory = PipelineFactory(embedders, providers)
    sources = RunSources(live, DatasetService(live), KnowledgeBases(live, factory, embedders))
    run = reopen_run(RunFolder(settings.results_dir, run_id), sources.reload, settings)
    return RunWorker(run, factory, lambda of_run: run_models(of_run, providers))


def build_app(settings: Settings) -> App:
    """The App with the implementations that ``settings`` name. A model is loaded when it is first used."""
    held = use_folder(settings.data_folder)
    live = LiveSettings(settings, changes_of)
    app = App(live, Providers(live), Embedders(live))
    if held is not None:
        weakref.finalize(app, os.close, held)
    return app
