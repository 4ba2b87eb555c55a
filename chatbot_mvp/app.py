"""``build_app(settings)`` makes the App: all that a page or a command may use, wired together in one place."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from chatbot_mvp.chat.answering import Answering
from chatbot_mvp.chat.sessions import ChatSessions
from chatbot_mvp.datasets.service import DatasetService
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.benchmark.presets import Presets
from chatbot_mvp.evaluation.benchmark.runner import RunParts
from chatbot_mvp.evaluation.detail import RunDetails
from chatbot_mvp.evaluation.gate.service import Gate
from chatbot_mvp.evaluation.kb_service import KbEvaluationService
from chatbot_mvp.evaluation.promises import Promises
from chatbot_mvp.evaluation.ragas.service import RagasService
from chatbot_mvp.evaluation.service import RunService
from chatbot_mvp.evaluation.sources import RunSources
from chatbot_mvp.exports.tables import write_detail_csv, write_summary_csv
from chatbot_mvp.health import ConfiguredParts, HealthChecks
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.knowledge_base.service import KnowledgeBases
from chatbot_mvp.knowledge_base.uploads import Uploads
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.settings.access import AdminAccess
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.sharing.service import Sharing


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
        parts = RunParts(factory, embedders, providers, exporters, start.submissions_path)

        self.live = live
        """The settings in effect, and changing them."""
        self.access = AdminAccess(start)
        """Who may use Admin."""
        self.providers = providers
        """Language models: what is configured, chosen and reachable; choosing and checking."""
        self.embedders = embedders
        """Embedding models by name."""
        self.kbs = KnowledgeBases(live, factory, embedders)
        """Knowledge bases: kept, read, renamed, deleted, and the pipeline over each."""
        self.uploads = Uploads(live, self.kbs)
        """Files that become knowledge bases in the background, and indexes built again."""
        self.answering = Answering(live, self.kbs, providers)
        """Answers to single questions."""
        self.chat = ChatSessions(live, self.answering)
        """Conversations: answers in the background, history, feedback, export."""
        self.datasets = DatasetService(live)
        """Data sets for benchmark runs."""
        sources = RunSources(live, self.datasets, self.kbs)
        self.archive = RunArchive(live, sources, (jobs, kb_jobs), parts)
        """Runs that have ended: listed, tagged, ranked, compared, exported, imported."""
        self.ragas = RagasService(live, parts, jobs)
        """Evaluations of answers from any system, as runs."""
        self.runs = RunService(live, sources, parts, self.ragas, self.archive, jobs, kb_jobs)
        """Runs: planned, started, resumed, stopped."""
        self.presets = Presets(start.presets_path)
        """Named parameters of runs."""
        self.details = RunDetails(live, providers, self.archive)
        """One finished run in full, and what the chat can take over from it."""
        self.kb_evaluation = KbEvaluationService(live, self.kbs, providers, self.runs, self.archive, sources, kb_jobs)
        """Question sets of a knowledge base: proposed, edited, evaluated."""
        self.gate = Gate(self.kbs, self.kb_evaluation, self.runs, self.archive)
        """Tests whether today's configuration is worse than a baseline."""
        self.promises = Promises(live, self.kbs, self.kb_evaluation)
        """Promises on wrong answers, and whether they still apply."""
        self.sharing = Sharing(live)
        """Exchange of knowledge bases and finished runs with other servers."""
        self.parts = ConfiguredParts(live, providers, embedders, self.datasets, self.sharing)
        """What is configured, and whether it works."""
        self.health = HealthChecks(self.parts)
        """The same parts, checked in the background."""

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self.live.current


def build_app(settings: Settings) -> App:
    """The App with the implementations that ``settings`` name. A model is loaded when it is first used."""
    live = LiveSettings(settings)
    return App(live, Providers(live), Embedders(live))
