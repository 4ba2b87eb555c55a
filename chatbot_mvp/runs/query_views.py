"""What pages show of a run's questions: a filtered table, distributions, an answer's words beside the reference's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from chatbot_mvp.metrics.answers.text import normalise
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.statistics.summary import SPLITS
from chatbot_mvp.runs.figures import row_groups
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.text import detect_language, fold

_ROUNDING = 1e-9

Only = Literal["all", "lost", "unscored", "missed", "failed"]
"""lost: it did not go well. unscored: there is nothing to score it against. missed: a relevant document was not
retrieved. failed: a phase failed."""


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
        rows: Iterable[QueryRow] = result.per_query
        if result.generator and "solved" in result.metrics:
            rows = map(_as_headline, rows)
        self.rows: list[QueryRow] = sorted(rows, key=_badness)
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
            "lost": np.array(
                [row.failed or row.cause not in ("", "ok", "not_scored") for row in self.rows], dtype=bool
            ),
            "unscored": np.array([row.cause == "not_scored" and not row.failed for row in self.rows], dtype=bool),
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


def _as_headline(row: QueryRow) -> QueryRow:
    """Return the row of a KB run with the cause that agrees with ``headlines``: earlier versions looked for a reference
    answer, which people rarely wrote."""
    solved = row.metrics.get("solved")
    if solved is None or row.failed or row.cause == "":
        return row
    if solved:
        return replace(row, cause="ok")
    return replace(row, cause="unsolved") if row.cause in ("ok", "not_scored") else row


def _badness(row: QueryRow) -> tuple[float, float, str]:
    first = next(
        (score for name in ("recall@5", "refused", "accepted") if (score := row.metrics.get(name)) is not None), 0.0
    )
    # A question without relevant documents, such as one that is to be refused, has no rank to be bad.
    second = row.metrics.get("mrr") or (0.0 if row.gold or "refused" not in row.metrics else 1.0)
    return first, second, row.query_id


BINS = 10
_TAIL = 0.99


@dataclass(frozen=True, slots=True)
class Distribution:
    """Values of one quantity, one per query or request."""

    edges: tuple[float, ...]
    """Ascending edges of the intervals, one more than ``counts``. Intervals include their lower edge, the last both."""
    counts: tuple[int, ...]
    """Number of values in each interval."""
    scored: int
    """Number of values: the sum of ``counts`` and ``above``."""
    missing: int
    """Number of queries without a value."""
    above: int
    """Number of values above the last edge. A long tail is cut off so that the other bars stay readable."""
    mean: float
    quantiles: tuple[float, float, float]
    """5 %, median and 95 % quantile, with linear interpolation."""


def distribution(
    values: Iterable[float | None], domain: tuple[float, float] | None = None, bins: int = BINS
) -> Distribution | None:
    """Compute the distribution of ``values``.

    Args:
        values: None is a missing value.
        domain: (lowest, highest possible value); None for 0 to the 99th percentile.

    Returns:
        None if there are no values.
    """
    given = list(values)
    known = np.array([value for value in given if value is not None], dtype=np.float64)
    if not len(known):
        return None
    low, high = domain or (0.0, float(np.quantile(known, _TAIL)))
    if high <= low:
        high = low + 1.0
    # Round the edges: otherwise 0.3 would fall below an edge of 0.30000000000000004.
    edges = np.round(np.linspace(low, high, bins + 1), 9)
    edges[-1] = max(edges[-1], high)
    counts, _ = np.histogram(known, edges)
    low_end, median, high_end = (float(value) for value in np.quantile(known, [0.05, 0.5, 0.95]))
    return Distribution(
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        scored=len(known),
        missing=len(given) - len(known),
        above=int((known > edges[-1]).sum()),
        mean=float(known.mean()),
        quantiles=(low_end, median, high_end),
    )


_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class WordPart:
    """A part of a text."""

    text: str
    shared: bool
    """True if the other text has its words too, or if it has no words that count (articles, punctuation, spaces)."""


def answer_difference(row: QueryRow) -> tuple[tuple[WordPart, ...], tuple[WordPart, ...]]:
    """Return the ``word_difference`` of a row's reference and its answer, by the rule of their language."""
    reference, answer = row.answer, row.response or ""
    return word_difference(reference, answer, detect_language(f"{row.question} {reference} {answer}"))


def word_difference(reference: str, answer: str, language: str) -> tuple[tuple[WordPart, ...], tuple[WordPart, ...]]:
    """Return (parts of the reference, parts of the answer), alternately shared and not. Joined they give the texts.

    A word that occurs twice in one text and once in the other is shared at its first occurrence only.
    """
    common = Counter(_words(reference, language)) & Counter(_words(answer, language))
    return _parts(reference, Counter(common), language), _parts(answer, Counter(common), language)


def _words(text: str, language: str) -> list[str]:
    return [word for found in _WORD.findall(text) for word in normalise(found, language).split()]


def _parts(text: str, left: Counter[str], language: str) -> tuple[WordPart, ...]:
    pieces: list[list[str | bool]] = []
    position = 0
    for match in _WORD.finditer(text):
        words = normalise(match[0], language).split()
        shared = all(left[word] > 0 for word in words)
        if shared:
            left.subtract(words)
        piece = text[position : match.end()]
        position = match.end()
        if pieces and pieces[-1][1] == shared:
            pieces[-1][0] = f"{pieces[-1][0]}{piece}"
        else:
            pieces.append([piece, shared])
    if position < len(text):
        pieces.append([text[position:], True])
    return tuple(WordPart(str(piece), bool(shared)) for piece, shared in pieces)
