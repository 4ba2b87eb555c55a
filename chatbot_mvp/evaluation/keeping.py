"""What runs and question sets keep of knowledge bases: the versions that they refer to, and quotations to purge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.kb.sets import QuestionSetStore
from chatbot_mvp.knowledge_base.changing import References
from chatbot_mvp.knowledge_base.purged_files import purge_files
from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.knowledge_base.purging import Eraser
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.model import Settings

_REWRITTEN = (".json", ".jsonl", ".csv", ".md", ".txt", ".files")


@dataclass(frozen=True, slots=True)
class KbKeeper:
    """What a part of the program keeps of knowledge bases beside their own folder and the folders of runs."""

    references: Callable[[Any, str], Iterator[str]] | None = None
    """Called with the App and the id of a knowledge base; gives the hashes of the texts that the part refers to. The
    versions with these texts stay."""
    purge: Callable[[Any, Purged], int] | None = None
    """Called with the App when documents are purged; takes their text out of the part's files and returns how many
    changed. It may be called again for the same documents."""


def references_of(settings: Settings) -> References:
    """Return what gives the hashes of the texts that runs and question sets refer to."""
    sets = QuestionSetStore(settings.kb_dir)

    def found(kb_id: str) -> Iterator[str]:
        yield from (one.kb_sha256 for one in sets.all(kb_id))
        for folder in _runs_of(settings.results_dir, kb_id):
            with suppress(ChatbotError, OSError, ValueError):
                yield str(RunFolder(settings.results_dir, folder.name).manifest().evaluation.get("kb_sha256", ""))

    return found


def eraser_of(settings: Settings) -> Eraser:
    """Return what takes purged text out of the runs over a knowledge base, and out of the states of jobs."""
    jobs = (settings.kb_jobs_dir, settings.kb_evaluation_jobs_dir, settings.jobs_dir, settings.data_jobs_dir)

    def purge(purged: Purged) -> int:
        count = 0
        for folder in _runs_of(settings.results_dir, purged.kb_id):
            if changed := purge_files(_rewritable(folder.rglob("*")), purged):
                count += changed
                with suppress(FileNotFoundError):  # who has read the result with its questions reads them again
                    RunFolder(settings.results_dir, folder.name).result_path.touch()
        states = (path for folder in jobs if folder.is_dir() for path in folder.iterdir())
        return count + purge_files(_rewritable(states), purged)

    return purge


def _rewritable(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.suffix in _REWRITTEN]


def _runs_of(results: Path, kb_id: str) -> Iterator[Path]:
    """Yield the folders of the runs whose manifest names a knowledge base."""
    for path in results.glob("*/manifest.json"):
        with suppress(OSError):
            if kb_id in path.parent.name or kb_id.encode() in path.read_bytes():
                yield path.parent
