"""Resolve what a tune measures: a knowledge base with its questions, or a data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from chatbot_mvp.app import App
from chatbot_mvp.datasets.catalogue import Found
from chatbot_mvp.errors import KbNotFound
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.kb.corpus import KbCorpus
from chatbot_mvp.evaluation.kb.sets import SET_ID
from chatbot_mvp.evaluation.run_sources import RunSources, kb_reference, names_kb
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ProgressCallback
from chatbot_mvp.wings.tune.errors import TuneError


def find_target(app: App, target: str, questions: str) -> Found:
    """Find the target of a tune.

    Args:
        target: id of a knowledge base, reference of one with its questions, or name or folder of a data set.
        questions: id of a question set or path of a question file; "" for the newest set of a knowledge base.

    Raises:
        TuneError (tune_questions_missing): a knowledge base without a question set.
        KbNotFound, KbUnreadable, QuestionSetNotFound, KbEvaluationError (no_questions_kept), DatasetError, StorageError
    """
    if names_kb(target):
        return app.sources.find(target)
    try:
        app.kbs.store.record(target)
    except KbNotFound:
        if questions:
            raise
        return app.sources.find(target)
    if questions:
        asked = questions if SET_ID.fullmatch(questions) else str(Path(questions).expanduser().resolve())
        return app.sources.find(kb_reference(target, asked))
    newest = next((one for one in app.question_sets.sets(target) if one.kept), None)
    if newest is None:
        raise TuneError("tune_questions_missing", kb_id=target, legal="none")
    return app.sources.find(kb_reference(target, newest.set_id))


def corpus_of(
    sources: RunSources, found: Found, settings: Settings, progress: ProgressCallback
) -> Callable[[Settings], RunCorpus]:
    """Load a target; return a function from settings to the corpus that they measure, made once per chunk size.

    Args:
        settings: those that are measured first.

    Raises:
        KbError, DatasetError, StorageError, InvalidSetting
    """
    whole, _ = sources.load(found, progress).sampled(settings)
    if isinstance(whole, KbCorpus):
        whole = replace(whole, keeps_pipelines=False)
    made: dict[int, RunCorpus] = {settings.retrieval_chunk_chars: whole}

    def corpus(of: Settings) -> RunCorpus:
        if of.retrieval_chunk_chars not in made:
            made[of.retrieval_chunk_chars] = whole.sampled(of)[0]
        return made[of.retrieval_chunk_chars]

    return corpus


def measured(settings: Settings, reference: str) -> Settings:
    """Return settings for runs over a target: retrieval only, and all questions of a knowledge base."""
    # Configurations share indexes and stages within this process, which workers on other machines cannot.
    local: dict[str, object] = {"eval_engine": "local"}
    changes = {**local, "mteb_dataset_name": reference, "generation_enabled": False}
    if names_kb(reference):
        changes |= {"eval_max_queries": 0, "dev_mode": False}
    return settings.with_changes(**changes)
