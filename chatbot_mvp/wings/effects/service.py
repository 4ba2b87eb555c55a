"""Ask two versions of a knowledge base the same questions, and keep what became of the answers."""

from __future__ import annotations

import hashlib
import secrets
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from chatbot_mvp.app import App
from chatbot_mvp.errors import ChatbotError, ConfigurationError, KbChangeError, ProviderError, RunStopped
from chatbot_mvp.evaluation.drops.verdict import TOLERANCE
from chatbot_mvp.evaluation.kb.questions import unique_ids
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.storage.clock import sortable_stamp, utc_now
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress
from chatbot_mvp.wings.effects.asking import estimate_of, fingerprint_of, judged
from chatbot_mvp.wings.effects.comparing import EffectsReport, report_of
from chatbot_mvp.wings.effects.errors import EffectsError, EffectsStopped, EffectsStoppedEarly
from chatbot_mvp.wings.effects.questions import questions_to_ask
from chatbot_mvp.wings.effects.store import EffectsFolder, EffectsStore, digest_of
from chatbot_mvp.wings.effects.types import SIDES, EffectsPlan, EffectsState, Estimate, Side

DRAFT = "draft"
"""Names the version that waits to be published."""
_KEPT = 20
"""Comparisons of a knowledge base that stay: the newest ones."""


class Effects:
    """What changes of documents do to the answers. Safe to share between sessions.

    A version is named by its number or its id, ``DRAFT`` is the one that waits, and "" the current one. Methods that
    take the id of a knowledge base raise ``KbNotFound`` and ``KbUnreadable``.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._live = app.live
        self._store = EffectsStore(app.settings.kb_dir)
        self._jobs = JobManager(app.settings.data_dir / "effects_jobs")

    @classmethod
    def of(cls, app: App) -> Self:
        """As in ``Service``."""
        return cls(app)

    # --- plan

    @performs(Action.MEASURE)
    def plan(
        self,
        kb_id: str,
        questions: str | Path = "",
        before: str = "",
        after: str = DRAFT,
        last: int = 0,
        session: str = "",
    ) -> EffectsPlan:
        """Plan a comparison. Writes nothing.

        Args:
            questions: id of a question set, or path of a question file; "" for the newest set with kept questions, and
                without one for the last ``LAST`` questions of the chat.
            before: version that the change is measured against.
            after: version with the change.
            last: ask the last so many questions of the chat instead; 0 for ``questions``.
            session: the only session whose chat is read; "" for all.

        Raises:
            EffectsError (effects_no_questions, effects_no_chat, effects_same_version)
            KbChangeError (kb_nothing_staged, kb_version_not_found), QuestionSetNotFound, DatasetError, EmptyDataset
        """
        was, now = self._version(kb_id, before), self._version(kb_id, after)
        if was.version == now.version:
            raise EffectsError("effects_same_version", kb_id=kb_id, version=was.number or DRAFT)
        source, name, asked = questions_to_ask(self._app, kb_id, questions, last, session)
        ids = unique_ids([one.question_id for one in asked])
        named = tuple(replace(one, question_id=name) for one, name in zip(asked, ids, strict=True))
        return EffectsPlan(
            effects_id=f"{sortable_stamp()}-{secrets.token_hex(3)}",
            kb_id=kb_id,
            kb_name=now.kb_name,
            before=was.version,
            after=now.version,
            before_number=was.number,
            after_number=now.number,
            source=source,
            source_name=name,
            asker=_hashed(session) if source == "chat" else "",
            created_at=utc_now(),
            questions=named,
        )

    @performs(Action.MEASURE)
    def estimate(self, plan: EffectsPlan) -> Estimate:
        """Return what a plan needs at most, without the answers that earlier comparisons have."""
        known = self._store.known(plan.kb_id)
        missing = sum(
            (plan.version(side), digest_of(question)) not in known for side in SIDES for question in plan.questions
        )
        chars = max(self._app.kbs.store.record(plan.kb_id, plan.version(side)).chars for side in SIDES)
        return estimate_of(self._live.current, self._app.answering.model_name, missing, chars)

    # --- start, resume, stop

    @performs(Action.MEASURE)
    def start(self, plan: EffectsPlan) -> str:
        """Queue a comparison in the background; return its id, which is also that of its job.

        Raises:
            RunError (run_busy): this comparison is under way. FileNotWritten
        """
        effects_id = self.create(plan)
        self.resume(plan.kb_id, effects_id)
        return effects_id

    def create(self, plan: EffectsPlan) -> str:
        """Keep a plan, for ``resume`` or ``resume_now``, and return its id: that of an equal one that is unfinished.

        Raises:
            FileNotWritten
        """
        for state in self.comparisons(plan.kb_id):
            same = replace(state.plan, effects_id=plan.effects_id, created_at=plan.created_at, kb_name=plan.kb_name)
            if same == plan and not state.finished:
                return state.plan.effects_id
        self._store.folder(plan.kb_id, plan.effects_id).create(plan)
        for folder in self._store.folders(plan.kb_id)[_KEPT:]:
            if not folder.busy:
                folder.delete()
        return plan.effects_id

    @performs(Action.MEASURE)
    def resume(self, kb_id: str, effects_id: str) -> None:
        """Queue an unfinished comparison in the background.

        Raises:
            EffectsError (effects_not_found), FileOfLaterVersion, RunError (run_busy)
        """
        plan = self._store.folder(kb_id, effects_id).plan()
        self._jobs.submit(effects_id, plan.kb_name, lambda progress: self.resume_now(kb_id, effects_id, progress))

    def resume_now(self, kb_id: str, effects_id: str, progress: ProgressCallback = ignore_progress) -> None:
        """Ask in this thread what has no answer yet. What was asked under other settings is asked again.

        Raises:
            EffectsError (effects_not_found), FileOfLaterVersion, RunError (run_busy), KbChangeError
            EffectsStopped: ``progress`` stopped it. EffectsStoppedEarly: a provider failed, or somebody changed the
                settings. The answers so far stay.
        """
        folder = self._store.folder(kb_id, effects_id)
        plan = folder.plan()
        with folder.held():
            try:
                for side in SIDES:
                    self._ask(folder, plan, side, progress)
                given = [one.fingerprint for answers in folder.answers(plan).values() for one in answers.values()]
                if len(set(given)) > 1:
                    raise _changed(effects_id)
            except RunStopped as stop:
                raise EffectsStopped(run_id=effects_id) from stop
            except (ProviderError, ConfigurationError) as error:
                reason = str(error).partition(". ")[0].rstrip(".")
                raise EffectsStoppedEarly(effects_id=effects_id, reason=reason) from error

    @performs(Action.MEASURE)
    def stop(self, effects_id: str) -> None:
        """Ask a queued or running comparison to stop after the question at hand. Its answers stay."""
        self._jobs.stop(effects_id)

    # --- read

    @performs(Action.MEASURE)
    def comparisons(self, kb_id: str, session: str = "") -> list[EffectsState]:
        """Return the comparisons of a knowledge base that can be read, newest first.

        Args:
            session: leave out those with questions from the chats of other sessions; "" for all.
        """
        found = []
        for folder in self._store.folders(kb_id):
            with suppress(ChatbotError):
                found.append(self._state(folder))
        asker = _hashed(session)
        return [one for one in found if not session or one.plan.source != "chat" or one.plan.asker == asker]

    @performs(Action.MEASURE)
    def report(
        self, kb_id: str, effects_id: str, tolerance: float = TOLERANCE, max_lost: int | None = None
    ) -> EffectsReport:
        """Return what became of the answers.

        Args:
            tolerance, max_lost: as in ``report_of``.

        Raises:
            EffectsError (effects_not_found, effects_not_finished), FileOfLaterVersion
        """
        folder = self._store.folder(kb_id, effects_id)
        plan, answers = self._store.read(folder)
        done, total = sum(map(len, answers.values())), len(SIDES) * len(plan.questions)
        if done < total:
            raise EffectsError("effects_not_finished", kb_id=kb_id, effects_id=effects_id, done=done, total=total)
        return report_of(plan, answers, tolerance, max_lost)

    # --- publish

    @performs(Action.CHANGE_KB)
    def publish(self, plan: EffectsPlan, progress: ProgressCallback = ignore_progress) -> KbRecord:
        """Publish the draft that a comparison asked; return the record of the new version.

        Raises:
            EffectsError (effects_draft_changed): the draft or the current version is another one now.
            As ``KbChanges.publish``.
        """
        staged, current = self._app.kb_changes.staged(plan.kb_id), self._app.kbs.store.record(plan.kb_id).version
        found = ""
        if staged is None or staged.version_id != plan.after:
            found = "it is not the version that was asked" if staged else "there is none any more"
        elif current != plan.before:
            found = "it was not compared with the version that is the current one now"
        if found:
            raise EffectsError("effects_draft_changed", kb_id=plan.kb_id, found=found)
        return self._app.kb_changes.publish(plan.kb_id, progress=progress)

    # --- parts

    def _version(self, kb_id: str, name: str) -> KbRecord:
        store = self._app.kbs.store
        if name != DRAFT:
            return store.record(kb_id, name)
        store.record(kb_id)
        if (staged := store.staged(kb_id)) is None:
            raise KbChangeError("kb_nothing_staged", kb_id=kb_id)
        return store.record(kb_id, staged.version_id)

    def _ask(self, folder: EffectsFolder, plan: EffectsPlan, side: Side, progress: ProgressCallback) -> None:
        """Ask one version what it has not answered under today's settings."""
        began, version, total = time.monotonic(), plan.version(side), len(plan.questions)
        have, known = folder.answers(plan)[side], self._store.known(plan.kb_id)
        self._app.kbs.pipeline(
            plan.kb_id, progress, version=version
        )  # with its progress, which takes long the first time
        now = self._fingerprint()
        text = self._app.kbs.document(plan.kb_id, version).text
        before = 0
        for done, question in enumerate(plan.questions):
            progress(Progress(f"effects_{side}", done, total, time.monotonic() - began, before))
            kept = have.get(question.question_id)
            if kept is not None and kept.fingerprint == now:
                before += 1
                continue
            answer = known.get((version, digest_of(question)))
            if answer is None or answer.fingerprint != now:
                given = self._app.answering.ask_version(plan.kb_id, question.question, version)
                if given.failure is not None:
                    reason = given.failure.message.partition(". ")[0].rstrip(".")
                    raise EffectsStoppedEarly(effects_id=plan.effects_id, reason=reason)
                if self._fingerprint() != now:
                    raise _changed(plan.effects_id)
                answer = judged(question, given, text, now)
            else:
                before += 1
            folder.add(side, question.question_id, answer)
        progress(Progress(f"effects_{side}", total, total, time.monotonic() - began, before))

    def _fingerprint(self) -> str:
        return fingerprint_of(self._live.current, self._app.answering.model_name)

    def _state(self, folder: EffectsFolder) -> EffectsState:
        plan, answers = self._store.read(folder)
        done = sum(map(len, answers.values()))
        return EffectsState(plan, done, self._jobs.status(folder.effects_id), folder.busy)


def _changed(effects_id: str) -> EffectsStoppedEarly:
    return EffectsStoppedEarly(effects_id=effects_id, reason="the settings were changed meanwhile")


def _hashed(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()[:16] if session else ""
