"""What a change of a knowledge base does to a promise: which labels lapse, and what those that remain would show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.evaluation.kb.results import ResultRow
from chatbot_mvp.knowledge_base.versions import Version
from chatbot_mvp.wings.promise.promise import Promise

Verdict = Literal["held", "weaker", "withdrawn"]
"""held: no label lapsed. weaker: those that remain would still show the level. withdrawn: they would not."""


@dataclass(frozen=True, slots=True)
class KbChange:
    """What the changes of a knowledge base since a promise was made did to its labels.

    The evidence scores are those of the version that was measured: only another measurement on the current version
    makes the promise apply again. This says beforehand what its labels are worth.
    """

    version: int
    """Number of the version that was measured; 0 if it is not known."""
    current: int
    """Number of the current version."""
    labels: int
    """Number of labelled questions that the promise was made from, with those that repeat others."""
    lapsed: tuple[str, ...]
    """Ids of those whose evidence stood in documents that have changed or gone."""
    documents: tuple[str, ...]
    """Paths of these documents, in the version that was measured."""
    verdict: Verdict
    bound: float | None
    """Upper bound of the share of wrong answers that the remaining labels show; None if none remain."""

    @property
    def remaining(self) -> int:
        return self.labels - len(self.lapsed)


def lapsed_of(
    rows: Sequence[ResultRow], measured: Version, current: Version
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (ids of the questions whose evidence changed or went, paths of the documents that it stood in).

    Evidence that stands in several documents lapses if all of them changed. A label without evidence, for a question
    that the knowledge base does not answer, stays: should a new document answer it, an answer still counts as wrong, so
    that the promise is never better than the labels show.
    """
    texts = {one.sha256 for one in current.documents}
    gone = {one.path for one in measured.documents if one.sha256 not in texts}
    found: dict[str, set[str]] = {}
    for row in rows:
        paths = set(_paths(row, measured))
        if paths and paths <= gone:
            found[row.question.question_id] = paths
    return tuple(found), tuple(sorted(set[str]().union(*found.values())))


def _paths(row: ResultRow, version: Version) -> Iterable[str]:
    for start, _ in row.places:
        yield from (file.name for file in version.files if file.start <= start < file.end)


def verdict_of(lapsed: Collection[str], again: Promise | None) -> Verdict:
    """Return what becomes of a promise.

    Args:
        again: the promise of the remaining labels; None if there are none.
    """
    if not lapsed:
        return "held"
    return "weaker" if again is not None and again.made else "withdrawn"
