"""Find the best configuration for a knowledge base or a data set, and take it into the chat.

A target is the id of a knowledge base with the id of a question set or the path of a question file, or the name or
folder of a data set without questions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from chatbot_mvp.app import App
from chatbot_mvp.chat.profile import chat_profile
from chatbot_mvp.errors import ProviderError, RunError, RunStopped, UnknownChoice
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.pilot import pilot_folder
from chatbot_mvp.evaluation.benchmark.preparation import run_fingerprint
from chatbot_mvp.evaluation.benchmark.runner import RunParts
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.shared_work import SharedWork
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import MODEL_SETTINGS, Settings
from chatbot_mvp.storage.clock import sortable_stamp
from chatbot_mvp.types import ProgressCallback, ignore_progress
from chatbot_mvp.wings.tune.errors import TuneError, TuneStopped, TuneStoppedEarly, TuneUnreadable
from chatbot_mvp.wings.tune.planning import Planner, require_same
from chatbot_mvp.wings.tune.space import Configuration
from chatbot_mvp.wings.tune.store import TuneFolder, tune_folders, tunes_dir
from chatbot_mvp.wings.tune.targets import corpus_of, find_target, measured
from chatbot_mvp.wings.tune.trials import Trials
from chatbot_mvp.wings.tune.tuning import tune
from chatbot_mvp.wings.tune.types import Application, TuneOptions, TunePlan, TuneProgress, TuneResult, TuneState, Undone

_USUAL = TuneOptions()


def application(
    plan: TunePlan, result: TuneResult, config_id: str, live: LiveSettings, providers: ModelSource
) -> Application:
    """Return what applying a configuration would change, with the reason if it cannot be applied.

    Args:
        config_id: one of the measured configurations; "" for the winner, if it is recommended.

    Raises:
        TuneError (tune_nothing_to_apply): nothing is recommended and no configuration is named.
        UnknownChoice: the tune has no such configuration.
    """
    chosen = _chosen(result, config_id)
    settings = live.current
    # The settings that ran are those of the plan with the changes; both were recorded on this machine.
    recorded = plan.settings | chosen.changes
    has_model = providers.language_model(settings) is not None
    profile = chat_profile(result.tune_id, recorded, settings, has_model)
    taken = dict(profile.changes)
    taken |= {name: value for name, value in chosen.changes.items() if name in MODEL_SETTINGS.values()}
    values = {name: value for name, value in taken.items() if value != getattr(settings, name)}
    changes = {name: (getattr(settings, name), value) for name, value in values.items()}
    return Application(result.tune_id, chosen, changes, _reason(live, chosen, values))


def _chosen(result: TuneResult, config_id: str) -> Configuration:
    if not config_id:
        if not result.recommended or result.winner is None:
            raise TuneError("tune_nothing_to_apply", tune_id=result.tune_id, verdict=result.verdict)
        return result.winner
    known = {trial.configuration.config_id: trial.configuration for trial in result.trials}
    if config_id not in known:
        raise UnknownChoice(kind="configuration of the tune", found=config_id, legal=", ".join(known))
    return known[config_id]


def _reason(live: LiveSettings, chosen: Configuration, values: dict[str, Any]) -> str:
    if reason := live.why_not_applicable(values):
        return reason
    after = live.current.with_changes(**values)
    if (now := run_fingerprint(after)) != chosen.config_id:
        return (
            f"other settings have changed since, so that the chat would search under {now} and not under "
            f"{chosen.config_id}"
        )
    return ""


class Tuner:
    """Tunes configurations. Safe to share between sessions: holds no state of a single user."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._live = app.live
        self._of_run = app.runs.of_run
        self._parts = app.run_parts
        self._jobs = JobManager(app.settings.data_dir / "tune_jobs")  # tunes wait for other runs all the same

    @classmethod
    def of(cls, app: App) -> Tuner:
        """As in ``Service``."""
        return cls(app)

    # --- plan

    @performs(Action.MEASURE)
    def plan(
        self,
        target: str,
        questions: str = "",
        options: TuneOptions = _USUAL,
        pilot: int = 0,
        progress: ProgressCallback = ignore_progress,
    ) -> TunePlan:
        """Plan a tune. Writes nothing but caches.

        Args:
            target: id of a knowledge base, or name or folder of a data set.
            questions: id of a question set, or path of a question file; "" for a data set, or for the newest set.
            pilot: number of configurations to measure on a few questions of the search, to know the variance of the
                gains and the seconds of a question; 0 for none.

        Raises:
            TuneError
            TuneError (tune_needs_model, tune_needs_budget)
            KbNotFound, KbUnreadable, DatasetError, StorageError, ConfigurationError
        """
        found = find_target(self._app, target, questions)
        settings = measured(self._live.current, found.reference)
        corpus = corpus_of(self._app.sources, found, settings, progress)
        planner = Planner(found, corpus(settings), settings, self._of_run, self._parts, options)
        plan = planner.plan()
        if not pilot:
            return plan
        with pilot_folder(settings.cache_dir) as folder:
            trials = self._trials(folder, plan, corpus, settings, progress, self._live.current.provider)
            return planner.plan(planner.pilot(plan, trials, pilot))

    # --- start, resume, stop

    @performs(Action.MEASURE)
    def start(self, target: str, questions: str = "", options: TuneOptions = _USUAL) -> str:
        """Check and queue a tune in the background; return its id, which is also that of its job.

        Args and errors are those of ``plan``.

        Raises:
            FileNotWritten
        """
        tune_id = self.create(self.plan(target, questions, options))
        self.resume(tune_id)
        return tune_id

    def create(self, plan: TunePlan) -> str:
        """Keep a plan as a tune that has not begun, for ``resume`` or ``resume_now``; return its id.

        Raises:
            FileNotWritten
        """
        tune_id = f"{sortable_stamp()}-tune"
        self._folder(tune_id).create(plan)
        return tune_id

    @performs(Action.MEASURE)
    def resume(self, tune_id: str) -> None:
        """Queue an unfinished tune in the background.

        Raises:
            TuneError (tune_not_found, tune_already_finished), TuneUnreadable, RunError (run_busy)
        """
        plan, chosen = self._unfinished(tune_id).plan(), self._live.current.provider
        self._jobs.submit(
            tune_id, f"{plan.target} · {plan.metric}", lambda progress: self._carry_out(tune_id, progress, chosen)
        )

    def resume_now(self, tune_id: str, progress: ProgressCallback = ignore_progress) -> TuneResult:
        """Carry out what is missing of a tune in this thread, and return its result.

        Raises:
            TuneError (tune_not_found, tune_already_finished), TuneUnreadable, RunError (run_busy)
            TuneError (tune_mismatch): text, questions or code have changed since it began.
            TuneStopped: ``progress`` stopped it. TuneStoppedEarly: a budget or a provider ended it. The records stay.
        """
        return self._carry_out(tune_id, progress, self._live.current.provider)

    def _carry_out(self, tune_id: str, progress: ProgressCallback, chosen: str) -> TuneResult:
        """Do the work of ``resume_now``, started while the provider ``chosen`` was the chosen one."""
        folder = self._unfinished(tune_id)
        plan = folder.plan()
        settings = self._live.current.with_recorded(plan.settings)
        with folder.held(), folder.timed():
            try:
                found = self._app.sources.find(plan.reference)
                corpus = corpus_of(self._app.sources, found, settings, progress)
                require_same(tune_id, plan, corpus(settings), settings, self._of_run)
                trials = self._trials(folder.trials, plan, corpus, settings, progress, chosen)
                result = tune(tune_id, plan, trials)
            except RunStopped as stop:
                raise TuneStopped(run_id=tune_id) from stop
            except (RunError, ProviderError) as error:
                reason = str(error).partition(". ")[0].rstrip(".")  # its next step is that of a run
                raise TuneStoppedEarly(tune_id=tune_id, reason=reason) from error
        return folder.finish(result)

    @performs(Action.MEASURE)
    def stop(self, tune_id: str) -> None:
        """Ask a queued or running tune to stop at the next safe point. What was measured stays."""
        self._jobs.stop(tune_id)

    # --- read

    @performs(Action.READ)
    def tunes(self) -> list[TuneState]:
        """Return all tunes that can be read, newest first."""
        found = []
        for folder in tune_folders(tunes_dir(self._live.current)):
            with suppress(TuneUnreadable):
                found.append(self._state(folder))
        return found

    @performs(Action.READ)
    def read(self, tune_id: str) -> TuneState:
        """Return one tune.

        Raises:
            TuneError (tune_not_found), TuneUnreadable
        """
        return self._state(self._folder(tune_id))

    def result(self, tune_id: str) -> TuneResult:
        """Return the result of a finished tune.

        Raises:
            TuneError (tune_not_found, tune_not_finished), TuneUnreadable
        """
        return self._folder(tune_id).result()

    # --- apply, undo

    @performs(Action.READ)
    def preview(self, tune_id: str, config_id: str = "") -> Application:
        """Return what ``apply`` would change, with the reason if it cannot be applied.

        Raises:
            TuneError (tune_not_found, tune_not_finished), TuneUnreadable
            TuneError (tune_nothing_to_apply): nothing is recommended and no configuration is named.
            UnknownChoice: the tune has no such configuration.
        """
        folder = self._folder(tune_id)
        return application(folder.plan(), folder.result(), config_id, self._live, self._parts.providers)

    @performs(Action.CHANGE_SETTINGS)
    def apply(self, tune_id: str, config_id: str = "") -> Application:
        """Change the settings in effect, for all chats and runs, to those of a configuration; ``undo`` restores them.

        Args:
            config_id: one of the measured configurations; "" for the winner, if it is recommended.

        Raises:
            TuneError: a setting cannot be changed here, or the settings would not rank like the configuration.
            ConfigurationError (choice_not_kept), FileOfLaterVersion: nothing is changed.
            As ``preview``.
        """
        made = self.preview(tune_id, config_id)
        if made.reason:
            raise TuneError("tune_not_applicable", tune_id=tune_id, reason=made.reason)
        self._live.apply(tune_id, {name: after for name, (_, after) in made.changes.items()})
        return made

    @performs(Action.CHANGE_SETTINGS)
    def undo(self) -> Undone:
        """Restore the settings as they were before the latest application that was not undone.

        Raises:
            TuneError (tune_nothing_to_undo)
            ConfigurationError (choice_not_kept), FileOfLaterVersion: nothing is changed.
        """
        undone = self._live.undo()
        if undone is None:
            raise TuneError("tune_nothing_to_undo", path=str(self._live.current.app_settings_path))
        applied, kept = undone
        now = self._live.current
        restored = {name: getattr(now, name) for name in applied.values if name not in kept}
        return Undone(applied.label, restored, kept)

    @performs(Action.READ)
    def applied(self) -> tuple[str, ...]:
        """Return the ids of the tunes whose configurations were applied and not undone, the latest last."""
        return tuple(one.label for one in self._live.applied)

    # --- wiring

    def _folder(self, tune_id: str) -> TuneFolder:
        return TuneFolder(tunes_dir(self._live.current), tune_id)

    def _unfinished(self, tune_id: str) -> TuneFolder:
        folder = self._folder(tune_id)
        folder.plan()
        if folder.finished:
            raise TuneError("tune_already_finished", tune_id=tune_id)
        return folder

    def _trials(
        self,
        folder: Path,
        plan: TunePlan,
        corpus: Callable[[Settings], RunCorpus],
        settings: Settings,
        progress: ProgressCallback,
        chosen: str,
    ) -> Trials:
        # Without exports and without a line in the list of runs: what is listed is the tune.
        factory = PipelineFactory(self._parts.embedders, self._parts.providers, SharedWork())
        parts = RunParts(factory, self._parts.embedders, self._parts.providers)
        return Trials(
            folder,
            plan.reference,
            corpus,
            settings,
            self._of_run,
            parts,
            progress,
            plan.retrievals,
            plan.budget_usd,
            chosen,
        )

    def _state(self, folder: TuneFolder) -> TuneState:
        plan = folder.plan()
        result = folder.result() if folder.finished else None
        state: TuneProgress = "finished" if result else "running" if folder.busy else "unfinished"
        job = self._jobs.status(folder.tune_id)
        return TuneState(folder.tune_id, plan, state, job, result, folder.tune_id in self.applied())
