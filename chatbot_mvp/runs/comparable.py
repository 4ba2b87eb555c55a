"""Whether two runs measured the same data, so that they may be compared."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from chatbot_mvp.errors import NotComparable
from chatbot_mvp.runs.kinds import KB, run_kind
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.result import RunResult

Mismatch = Literal["kind", "dataset", "documents", "questions"]


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One side of a comparison: a finished run and its manifest."""

    manifest: RunManifest
    result: RunResult
    expected: Mapping[str, str] = field(default_factory=dict)
    """Query id -> the passage that a question about a knowledge base expects; "" if the version has it not."""

    @property
    def run_id(self) -> str:
        return self.manifest.run_id


def why_not_comparable(base: RunLine, other: RunLine) -> Mismatch | None:
    """Return the first reason why two runs cannot be compared, judged by their lines; None if there is none.

    This check is fast, for long lists of runs. ``compare_runs`` checks more.
    """
    if base.kind != other.kind:
        return "kind"
    if run_kind(base.kind).same_data_by_content:
        # Files and sets of questions are comparable if their contents are equal, whatever their names.
        if base.kind == KB and (base.dataset, base.queries) == (other.dataset, other.queries):
            return None  # perhaps on two versions of a knowledge base; ``compare_runs`` looks at the questions
        return None if base.dataset_sha256 == other.dataset_sha256 else "questions"
    if base.dataset != other.dataset:
        return "dataset"
    if base.queries != other.queries:
        return "questions"
    if (base.documents, base.dataset_sha256) != (other.documents, other.dataset_sha256):
        return "documents"
    return None


def refuse_different(base: ComparedRun, other: ComparedRun) -> None:
    """Raise NotComparable if the two runs did not measure the same data."""
    one, two = base.manifest, other.manifest
    here, there = questions_of(base), questions_of(other)
    if _other_version(one, two):
        _refuse_questions(one, two, set(here.items()), set(there.items()))
        return
    if (one.dataset_sha256, one.documents) != (two.dataset_sha256, two.documents):
        raise NotComparable(
            "corpora_differ",
            base=one.run_id,
            other=two.run_id,
            base_dataset=f"{one.dataset}, {one.documents}, {one.dataset_sha256[:12]}",
            other_dataset=f"{two.dataset}, {two.documents}, {two.dataset_sha256[:12]}",
        )
    _refuse_questions(one, two, set(here), set(there))


def _other_version(one: RunManifest, two: RunManifest) -> bool:
    """Return whether two runs searched different versions of one knowledge base."""
    facts, others = one.evaluation, two.evaluation
    same_kb = one.kind == two.kind == KB and facts.get("kb_id") == others.get("kb_id")
    return same_kb and facts.get("kb_sha256") != others.get("kb_sha256")


def _refuse_questions(one: RunManifest, two: RunManifest, here: Set[Any], there: Set[Any]) -> None:
    if here != there:
        raise NotComparable(
            "questions_differ",
            base=one.run_id,
            other=two.run_id,
            only_base=len(here - there),
            only_other=len(there - here),
        )


def questions_of(run: ComparedRun) -> dict[str, str]:
    """Return query_id -> text, sorted by id, because the order decides each query's random signs and draws."""
    rows = sorted(run.result.per_query, key=lambda row: row.query_id)
    return {row.query_id: row.question for row in rows}
