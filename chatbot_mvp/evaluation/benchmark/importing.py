"""Import runs made elsewhere, so that they are listed, shown, compared and exported like local runs."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from chatbot_mvp import __version__
from chatbot_mvp.datasets import Dataset
from chatbot_mvp.datasets.sampling import sample
from chatbot_mvp.errors import ImportRefused, RunError
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun, run_ids
from chatbot_mvp.evaluation.benchmark.runner import RunParts, execute
from chatbot_mvp.evaluation.benchmark.trec import RankingFile, known_ids
from chatbot_mvp.exports.bundle import Bundle
from chatbot_mvp.runs.manifest import TREC, RunManifest
from chatbot_mvp.runs.payloads import RETRIEVE
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.fields import deciding
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder, write_atomically
from chatbot_mvp.types import ProgressCallback

_RECORDED = (*deciding("sample"), "retrieval_k", "kb_top_k")
"""Settings recorded for an imported ranking: those that decide how it is scored. The other program's are unknown."""


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """The outcome of an import."""

    run_id: str
    kind: str
    """``records.BUNDLE`` or ``records.TREC``."""
    queries: int
    without_ranking: int = 0
    """Number of queries without a line in the file. They count as queries for which nothing was retrieved."""
    left_out: int = 0
    """Number of queries in the file that the settings exclude from the run (EVAL_MAX_QUERIES, DEV_MODE)."""


def keep_bundle(bundle: Bundle, settings: Settings, finish: Callable[[RunResult], None]) -> ImportedRun:
    """Store a finished run under its own id.

    Args:
        finish: called with the result after all files are written, before the folder moves to its final place.

    Raises:
        ImportRefused (run_exists), RunError (import_not_written)
    """
    manifest = bundle.manifest
    run_id = manifest.run_id
    kept = replace(bundle.result, imported=manifest.imported)
    with _staged(settings, run_id) as root:
        folder = RunFolder(root, run_id)
        folder.create(manifest)
        for name, content in bundle.files.items():
            write_atomically(folder.path / name, content)
        folder.finish(kept)
        finish(kept)
    return ImportedRun(run_id, manifest.imported, manifest.queries)


def import_trec(
    trec: RankingFile,
    name: str,
    reference: str,
    whole: Dataset,
    settings: Settings,
    parts: RunParts,
    progress: ProgressCallback,
) -> ImportedRun:
    """Score the rankings of another program in the same way as the rankings of a run.

    Args:
        name: shown in place of a strategy; "" takes the tag of a TREC file, or the name of a JSON file.
        reference: identifies the data set, so that it can be loaded again.
        whole: the data set before sampling.

    Raises:
        ImportRefused (trec_id_unknown): the file has the id of a query or document that the data set does not have.
        ImportRefused (nothing_to_import): it ranks documents only for queries that the run does not measure.
        NothingScored (nothing_to_score): the data set has no judgements.
        RunError (import_not_written), RunStopped
    """
    settings = settings.with_changes(generation_enabled=False, reranker_enabled=False, mteb_dataset_name=reference)
    dataset = sample(whole, settings).dataset
    rankings = known_ids(trec, whole, dataset)
    asked = {query.query_id for query in dataset.queries}
    if asked.isdisjoint(rankings):
        split = f" of the split {dataset.split!r}" if dataset.split else ""
        reason = f"none of its {len(rankings)} queries is among the {len(asked)} judged ones{split} that are measured"
        raise ImportRefused("nothing_to_import", path=trec.path, reason=reason)

    def found(query_id: str) -> dict[str, float]:
        own = query_id if query_id in dataset.queries_that_are_documents else None
        return {doc_id: score for doc_id, score in rankings.get(query_id, {}).items() if doc_id != own}

    label = re.sub(r"[^\w.-]+", "-", name or trec.name).strip("-.") or TREC
    manifest = RunManifest(
        run_id=next(free for free in run_ids(dataset.name, label) if not (settings.results_dir / free).exists()),
        dataset=dataset.name,
        dataset_ref=reference,
        dataset_sha256=dataset.sha256,
        strategy=label,
        settings_masked=settings.model_dump(mode="json", include=set(_RECORDED)),
        fingerprint=hashlib.sha256(repr(sorted(rankings.items())).encode("utf-8", "surrogatepass")).hexdigest()[:12],
        code_version=__version__,
        queries=len(dataset.queries),
        documents=len(dataset.documents),
        started_at=utc_now(),
        imported=TREC,
    )
    with _staged(settings, manifest.run_id) as root:
        folder = RunFolder(root, manifest.run_id)
        folder.create(manifest)
        folder.append_records(_record(manifest.run_id, key, found(key), settings) for key in sorted(asked))
        execute(PreparedRun(folder, manifest, RunCorpus(dataset), settings, 0.0), parts, progress)
    missing = sum(not found(query_id) for query_id in asked)
    return ImportedRun(manifest.run_id, TREC, len(asked), missing, len(rankings.keys() - asked))


def _record(run_id: str, query_id: str, ranking: Mapping[str, float], settings: Settings) -> QueryRecord:
    kept = dict(list(ranking.items())[: settings.retrieval_k])
    payload = {"doc_ids": list(kept), "scores": list(kept.values()), "evidence": None, "topic": None, "seconds": {}}
    return QueryRecord(run_id, query_id, RETRIEVE, "ok", payload)


@contextmanager
def _staged(settings: Settings, run_id: str) -> Iterator[Path]:
    """Yield a temporary root for the run's folder. The folder moves to its final place if the block succeeds."""
    place = settings.results_dir / run_id
    if place.exists():
        raise ImportRefused("run_exists", run_id=run_id)
    try:
        make_folder(settings.results_dir)
        # In the same directory as the final place, so that the move is atomic. Runs are not searched for this deep.
        root = Path(tempfile.mkdtemp(prefix=".import-", dir=settings.results_dir))
        try:
            yield root
            (root / run_id).rename(place)
        finally:
            shutil.rmtree(root, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError("import_not_written", run_id=run_id, path=str(error.filename or place), reason=reason) from error
