"""The manifest of a run: what it measures. Written once, at its start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ConfigDict, ValidationError

from chatbot_mvp.runs.kinds import BENCHMARK
from chatbot_mvp.runs.result import adapter, first_problem
from chatbot_mvp.runs.rows import STORED, Recorded
from chatbot_mvp.storage.formats import complete
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.limits import Count, Name

BUNDLE, TREC = "bundle", "trec"
"""Where a run was imported from: a zip of ``benchmark export``, a TREC run file."""


@dataclass(frozen=True)
class RunManifest:
    """What a run measures. A resume is refused if any of it has changed.

    The defaults are those of a run of retrieval only; a file has every key.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    run_id: Name
    dataset: Name
    """The data set's name."""
    dataset_ref: Name
    """Reference for ``RunSources.find``: a local name, an absolute folder, ``s3://bucket/…/name/``, or
    ``kb:<kb_id>/<question set or file>``."""
    dataset_sha256: Name
    """Hash of its files, and of the sample if documents or queries were left out (``datasets.sampling``)."""
    strategy: Name
    settings_masked: Recorded
    """The settings at the start; secrets as "***"."""
    fingerprint: Name
    """Identifies what decides the ranking, as in the chat; of an evaluation of answers, its configuration."""
    code_version: Name
    queries: Count
    """Number of queries, after ``EVAL_MAX_QUERIES`` or ``DEV_MODE``."""
    documents: Count
    """Number of documents, after ``EVAL_MAX_CORPUS`` or ``DEV_MODE``."""
    started_at: Name
    """ISO 8601, UTC."""
    generator: Name = ""
    """Provider and model of the answers; "" for a run of retrieval only."""
    judge: Name = ""
    """Provider and model of the judgements; "" without a judge."""
    prompts: Name = ""
    """Identifies the prompts of generation and judging, by versions and a hash of their files; "" without answers."""
    imported: Name = ""
    """``BUNDLE`` for a run from another machine, ``TREC`` for another program's; "" for a run of this machine."""
    kind: Name = BENCHMARK
    """"benchmark", "kb", or the name of a kind of run that is added."""
    evaluation: Recorded = field(default_factory=dict)
    """What else a resume needs, as the kind of run defines it: knowledge base and question set of a KB run; empty for a
    benchmark."""
    generator_fingerprint: Name = ""
    """Identifies model, prompts and options of the answers; "" for a run of retrieval only."""
    judge_fingerprint: Name = ""
    """Identifies model, prompts and metrics of the judge; "" without a judge."""
    corpus_slice: Name = ""
    """EVAL_CORPUS_SLICE, "gold_first" or "blind", if EVAL_MAX_CORPUS left documents out; else ""."""
    gold_missing: Count = 0
    """Number of relevant documents that a blind slice left out and that count as not found."""
    preset: Name = ""
    """The system (``retrieval.systems.SYSTEMS``) that the run was asked for; "" if it was not asked for any. Settings
    that were given besides take precedence over its own: ``settings_masked`` has what ran."""


def parse_manifest(content: bytes) -> RunManifest:
    """Parse the content of a manifest's file. Keys that a later version may have added are ignored.

    Raises:
        ValueError: a field is missing, has a wrong type, or is too large; the message names the field.
    """
    try:
        found: RunManifest = adapter(RunManifest).validate_json(content)
        complete(parse_json(content), RunManifest)
        return found
    except ValidationError as error:
        raise ValueError(first_problem(error)) from error
