"""Index the questions of a run for repeated filtering."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.statistics.summary import SPLITS
from chatbot_mvp.runs.figures import row_groups
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.text import fold

_ROUNDING = 1e-9

Only = Literal["all", "lost", "missed", "failed"]
"""lost: the cause is not ok. missed: a relevant document was not retrieved. failed: a phase failed."""


@dataclass(frozen=True, slots=True)
class QueryFilter:
    """A filter of questions. All conditions must hold; "" sets no condition."""

    only: Only = "all"
    cause: str = ""
    """A value of ``Cause``."""
    field: str = ""
    """One of ``SPLITS``."""
    value: str = ""
    """Value of ``field``."""
    metric: str = ""
    low: float = 0.0
    high: float = 1.0
    """``low`` <= score of ``metric`` <= ``high``. Questions without a score do not match."""
    text: str = ""
    """Words that must all occur in question, reference or answer; case and accents are ignored."""


class QueryTable:
    """The questions of a finished run. Read-only; safe to share between sessions."""

    def __init__(self, result: RunResult) -> None:
        self.result = result
        self.rows: list[QueryRow] = sorted(result.per_query, key=_badness)
        """Rows of all questions, worst first: by recall@5, or by the decision in a KB run, then by mrr."""
        known = {name for row in self.rows for name in row.metrics}
        self.metrics = [name for name in METRICS if name in known]
        """Metrics that occur in the rows, in the registry's order."""
        self._position = {row.query_id: position for position, row in enumerate(self.rows)}
        self._values = {
            name: np.array([row.metrics.get(name) for row in self.rows], dtype=np.float64) for name in self.metrics
        }
        self._causes = np.array([row.cause for row in self.rows], dtype=object)
        self._fields = {
            field: np.array([row_groups(row)[field] for row in self.rows], dtype=object) for field in SPLITS
        }
        self._flags = {
            "lost": np.array([(row.cause or "ok") != "ok" for row in self.rows], dtype=bool),
            "missed": np.array([self.found(row) < len(set(row.gold)) for row in self.rows], dtype=bool),
            "failed": np.array([row.failed or row.judge_failed for row in self.rows], dtype=bool),
        }
        self._texts = [fold(f"{row.question} {row.answer} {row.response or ''}") for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def position(self, query_id: str) -> int | None:
        """Return the position of a question in ``rows``; None if there is no such question."""
        return self._position.get(query_id)

    def counts(self) -> dict[str, int]:
        """Return value of ``Only`` -> number of questions."""
        return {"all": len(self.rows), **{name: int(flags.sum()) for name, flags in self._flags.items()}}

    def causes(self) -> dict[str, int]:
        """Return cause -> number of questions; empty if the run's version did not record causes."""
        return {str(cause): count for cause, count in Counter(self._causes.tolist()).items() if cause}

    def fields(self) -> dict[str, list[str]]:
        """Return field of ``SPLITS`` -> its values, for fields with at least two values."""
        found = {field: sorted({str(value) for value in values if value}) for field, values in self._fields.items()}
        return {field: values for field, values in found.items() if len(values) > 1}

    @staticmethod
    def found(row: QueryRow) -> int:
        """Return the number of relevant documents that were retrieved."""
        return len(set(row.gold) & set(row.retrieved))

    def values(self, metric: str) -> list[float | None]:
        """Return the scores of a metric in the order of ``rows``; None is not scored."""
        return [None if np.isnan(value) else float(value) for value in self._values[metric]]

    def select(self, wanted: QueryFilter) -> list[int]:
        """Return the positions in ``rows`` of the matching questions, ascending."""
        keep = np.ones(len(self.rows), dtype=bool)
        if wanted.only != "all":
            keep &= self._flags[wanted.only]
        if wanted.cause:
            keep &= self._causes == wanted.cause
        if wanted.field and wanted.value:
            keep &= self._fields[wanted.field] == wanted.value
        if wanted.metric:
            values = self._values[wanted.metric]
            with np.errstate(invalid="ignore"):
                keep &= (values >= wanted.low - _ROUNDING) & (values <= wanted.high + _ROUNDING)
        found = np.flatnonzero(keep).tolist()
        words = fold(wanted.text).split()
        return [row for row in found if all(word in self._texts[row] for word in words)]


def _badness(row: QueryRow) -> tuple[float, float, str]:
    first = next(
        (score for name in ("recall@5", "refused", "accepted") if (score := row.metrics.get(name)) is not None), 0.0
    )
    # A question without relevant documents, such as one that is to be refused, has no rank to be bad.
    second = row.metrics.get("mrr") or (0.0 if row.gold or "refused" not in row.metrics else 1.0)
    return first, second, row.query_id
