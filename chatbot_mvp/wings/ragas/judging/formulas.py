"""Compute the scores of Ragas from verdicts (Es et al. 2023, arXiv:2309.15217; definitions of ragas 0.4.3).

Pure arithmetic without requests. Every function returns None, never NaN, if there is nothing to score. For equal
verdicts the results equal the package's, except where a docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]


def context_precision(verdicts: Sequence[int]) -> float | None:
    """LLMContextPrecision with and without reference: average precision over the passages, best ranked first.

    The mean of precision@k over the ranks k of the useful passages. ``verdicts``: for each rank, 1 if the passage was
    useful, else 0. Range 0-1; [0, 1, 1] gives 0.583; 0.0 if none was useful.

    None without passages (the package: 0.0 or an error, depending on which of its two implementations is used).
    """
    if not verdicts:
        return None
    useful, total = 0, 0.0
    for rank, verdict in enumerate(verdicts, 1):
        if verdict:
            useful += 1
            total += useful / rank
    return total / useful if useful else 0.0


def context_recall(verdicts: Sequence[int]) -> float | None:
    """LLMContextRecall: the share of the reference's statements that the passages support. Range 0-1.

    ``verdicts``: 1 for a statement that can be attributed to them, else 0. None without statements (the package: NaN).
    """
    return sum(1 for verdict in verdicts if verdict) / len(verdicts) if verdicts else None


def faithfulness(verdicts: Sequence[int]) -> float | None:
    """Faithfulness: the share of the response's statements that the passages support. Range 0-1.

    ``verdicts``: 1 for a statement that follows from them, else 0. None without statements (the package: NaN), as for
    a response that only says that it does not know.
    """
    return sum(1 for verdict in verdicts if verdict) / len(verdicts) if verdicts else None


def response_relevancy(question: Vectors, generated: Vectors, noncommittal: Sequence[int]) -> float | None:
    """ResponseRelevancy: mean cosine of the question with the questions that a judge made from the response alone.

    0.0 if the response was found noncommittal every time. Range -1 to 1, in practice 0-1.

    Args:
        question: shape (dimensions,).
        generated: shape (questions, dimensions).
        noncommittal: for each generated question, 1 if the response evades the question, else 0.

    None without generated questions, or if a vector is zero (the package: NaN).
    """
    if not len(generated):
        return None
    asked = np.asarray(question, dtype=np.float64)
    made = np.asarray(generated, dtype=np.float64)
    norms = np.linalg.norm(made, axis=1) * np.linalg.norm(asked)
    if not norms.all():
        return None
    return 0.0 if all(noncommittal) else float((made @ asked / norms).mean())


def context_relevance(first: int | None, second: int | None) -> float | None:
    """ContextRelevance (NVIDIA): the mean of two ratings of 0, 1 or 2, halved. Range 0-1.

    A failed rating is None, and the other one then counts alone; the result is None if both failed. (The package's
    ``max(nan, x)`` loses the second rating if only the first failed, contrary to its own description.)
    """
    ratings = [rating / 2 for rating in (first, second) if rating is not None]
    return sum(ratings) / len(ratings) if ratings else None


def irrelevant_at_sight(question: str, contexts: Iterable[str]) -> bool:
    """Return whether ContextRelevance is 0.0 without a request.

    This is so if the question or the passages are empty, or if the question contains the passages.
    """
    text = "\n".join(contexts).strip()
    return not question.strip() or text in question.strip()


def id_based_context_precision(retrieved: Iterable[str | int], reference: Iterable[str | int]) -> float | None:
    """IDBasedContextPrecision: the share of the retrieved ids that are in the reference. Range 0-1.

    Repeated ids count once; 7 and "7" are one id. None if nothing was retrieved (the package: NaN).
    """
    found, gold = {str(name) for name in retrieved}, {str(name) for name in reference}
    return len(found & gold) / len(found) if found else None


def id_based_context_recall(retrieved: Iterable[str | int], reference: Iterable[str | int]) -> float | None:
    """IDBasedContextRecall: the share of the reference's ids that were retrieved. Range 0-1.

    Repeated ids count once; 7 and "7" are one id. None without reference (the package: NaN).
    """
    found, gold = {str(name) for name in retrieved}, {str(name) for name in reference}
    return len(found & gold) / len(gold) if gold else None
