"""Resolve what a run searches: a data set, or a knowledge base with its questions (``kb:<id or name>/<questions>``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.catalogue import Found
from chatbot_mvp.datasets.counts import Counts
from chatbot_mvp.datasets.dataset_service import DatasetService
from chatbot_mvp.errors import DatasetError, KbEvaluationError, RunUnreadable
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.kb.corpus import QUESTIONS, kb_corpus
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.evaluation.kb.sets import SET_ID, QuestionSetStore
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.naming import kb_named
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.types import ProgressCallback, ignore_progress

_KB = "kb:"


def kb_reference(kb_id: str, questions: str) -> str:
    """Return the reference of a knowledge base with the id of one of its sets, or with the path of a question file."""
    return f"{_KB}{kb_id}/{questions}"


def names_kb(reference: str) -> bool:
    """Return whether a reference names a knowledge base."""
    return reference.startswith(_KB)


class RunSources:
    """Everything that a run can search. Safe to share between sessions."""

    def __init__(self, live: LiveSettings, datasets: DatasetService, kbs: KnowledgeBases) -> None:
        self._live = live
        self._datasets = datasets
        self._kbs = kbs
        self._sets = QuestionSetStore(live.current.kb_dir)

    def find(self, reference: str) -> Found:
        """Find a data set as ``DatasetService.find`` does, or a knowledge base with its questions.

        Raises:
            DatasetError, StorageError
            KbNotFound, KbUnreadable, QuestionSetNotFound, KbEvaluationError (no_questions_kept)
        """
        if not names_kb(reference):
            return self._datasets.find(reference)
        kb_id, rest, questions, origin = self._asked(reference)
        record = self._kbs.store.record(kb_id)
        counts = Counts(len(questions), record.chunks)
        folder = self._live.current.kb_dir / kb_id
        return Found(f"{kb_id}/{origin['set_name']}", "local", kb_reference(kb_id, rest), folder, counts)

    def load(self, found: Found, progress: ProgressCallback = ignore_progress) -> RunCorpus:
        """Load what ``find`` returned, and download it first if needed.

        Raises:
            DatasetError, StorageError, KbNotFound, KbUnreadable, QuestionSetNotFound, KbEvaluationError
        """
        if not names_kb(found.reference):
            return RunCorpus(self._datasets.load_found(found, progress))
        kb_id, _, questions, origin = self._asked(found.reference)
        return kb_corpus(self._kbs, kb_id, questions, origin, self._live.current.retrieval_chunk_chars)

    def reload(self, manifest: RunManifest, progress: ProgressCallback = ignore_progress) -> RunCorpus:
        """Load what a run searched, with the questions as they were when the run started.

        Raises:
            DatasetError, StorageError, KbNotFound, KbUnreadable, QuestionSetNotFound, KbEvaluationError, RunUnreadable
        """
        kept = self._live.current.results_dir / manifest.run_id / QUESTIONS
        if names_kb(manifest.dataset_ref) and kept.is_file():
            facts = manifest.evaluation
            origin = {name: value for name, value in facts.items() if not name.startswith("kb_")}
            try:
                kb_id, chars = facts["kb_id"], manifest.settings_masked["retrieval_chunk_chars"]
                searched = self._kbs.store.version_with(kb_id, facts["kb_sha256"])
            except KeyError as error:
                reason = f"manifest.json: {error.args[0]}: the key is missing"
                raise RunUnreadable(run_id=manifest.run_id, reason=reason) from error
            version = searched.version_id if searched else ""
            return kb_corpus(self._kbs, kb_id, load_questions(kept), origin, chars, version)
        return self.load(self.find(manifest.dataset_ref), progress)

    def _asked(self, reference: str) -> tuple[str, str, Sequence[KbQuestion], dict[str, Any]]:
        """Return (kb id, set id or absolute path of a file, questions, what ``KbCorpus.origin`` holds)."""
        name, _, rest = reference.removeprefix(_KB).partition("/")
        kb_id = kb_named(self._kbs.records(), name).kb_id
        if rest and not SET_ID.fullmatch(rest):
            path = Path(rest).expanduser().resolve()
            return kb_id, str(path), load_questions(path), _origin("", path.stem)
        if not rest:
            known = [f"{_KB}{kb_id}/{set_id}" for set_id in self._sets.ids(kb_id)]
            raise DatasetError(
                "dataset_not_found", name=reference, legal=", ".join([*known, f"{_KB}{kb_id}/QUESTIONS.jsonl"])
            )
        found = self._sets.load(kb_id, rest)
        if not found.kept:
            raise KbEvaluationError("no_questions_kept", name=found.name)
        return kb_id, rest, found.kept, _origin(rest, found.name, found.automatic, found.proposed)


def _origin(set_id: str, name: str, automatic: int = 0, proposed: Sequence[str] = ()) -> dict[str, Any]:
    """Return what ``KbCorpus.origin`` holds."""
    return {"set_id": set_id, "set_name": name, "automatic": automatic, "proposed": list(proposed)}
