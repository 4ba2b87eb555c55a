"""Resolve what a tune measures: a knowledge base with its questions, or a data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chatbot_mvp.datasets.catalogue import Found
from chatbot_mvp.errors import KbNotFound
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.kb.corpus import KbCorpus
from chatbot_mvp.evaluation.kb.question_sets import QuestionSets
from chatbot_mvp.evaluation.kb.sets import SET_ID
from chatbot_mvp.evaluation.run_service import RunService
from chatbot_mvp.evaluation.run_sources import RunSources, kb_reference, names_kb
from chatbot_mvp.knowledge_base.service import KnowledgeBases
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ProgressCallback
from chatbot_mvp.wings.tune.errors import TuneError


class TuneTargets:
    """Finds and loads the targets of tunes."""

    def __init__(self, kbs: KnowledgeBases, question_sets: QuestionSets, sources: RunSources, runs: RunService) -> None:
        self._kbs = kbs
        self._question_sets = question_sets
        self._sources = sources
        self._runs = runs

    def find(self, target: str, questions: str) -> Found:
        """Find a target.

        Args:
            target: id of a knowledge base, reference of one with its questions, or name or folder of a data set.
            questions: id of a question set or path of a question file; "" for the newest set of a knowledge base.

        Raises:
            TuneError (tune_questions_missing): a knowledge base without a question set.
            KbNotFound, KbUnreadable, QuestionSetNotFound, KbEvaluationError, DatasetError, StorageError
        """
        if names_kb(target):
            return self._sources.find(target)
        if questions:
            self._kbs.store.record(target)
            asked = questions if SET_ID.fullmatch(questions) else str(Path(questions).expanduser().resolve())
            return self._sources.find(kb_reference(target, asked))
        try:
            self._kbs.store.record(target)
        except KbNotFound:
            return self._sources.find(target)
        sets = [one for one in self._question_sets.sets(target) if one.kept]
        if not sets:
            raise TuneError("tune_questions_missing", kb_id=target, legal="none")
        return self._sources.find(kb_reference(target, sets[0].set_id))

    def again(self, reference: str) -> Found:
        """Find a target by its reference."""
        return self._sources.find(reference)

    def corpus(self, found: Found, settings: Settings, progress: ProgressCallback) -> RunCorpus:
        """Load what a run with ``settings`` measures.

        Raises:
            KbError, DatasetError, StorageError, InvalidSetting
        """
        corpus, _ = self._sources.load(found, progress).sampled(settings)
        return replace(corpus, keeps_pipelines=False) if isinstance(corpus, KbCorpus) else corpus

    def of_run(self, settings: Settings) -> Settings:
        """Return the settings that a run of the same target without answers would have.

        Raises:
            NeedsLanguageModel, UnknownChoice
        """
        return self._runs.of_run(settings)


def measured(settings: Settings, reference: str) -> Settings:
    """Return settings for runs over a target: retrieval only, and all questions of a knowledge base."""
    # Configurations share indexes and stages within this process, which workers on other machines cannot.
    local: dict[str, object] = {"eval_engine": "local"}
    changes = {**local, "mteb_dataset_name": reference, "generation_enabled": False}
    if names_kb(reference):
        changes |= {"eval_max_queries": 0, "dev_mode": False}
    return settings.with_changes(**changes)
