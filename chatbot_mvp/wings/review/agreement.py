"""Agreement between reviewers: share of equal verdicts, Cohen's kappa, Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatbot_mvp.metrics.statistics.share import Share


@dataclass(frozen=True, slots=True)
class ReviewerAgreement:
    """Agreement on the items that at least two reviewers judged."""

    reviewers: int
    """Number of people who judged one of these items."""
    agreed: Share
    """Items on which all verdicts are equal."""
    kappa: float | None
    """Cohen's kappa, -1 to 1, of exactly two reviewers; None for other numbers, or if both always say the same one
    verdict, which leaves it undefined."""
    interval: tuple[float, float] | None
    """95 % interval of ``kappa``."""
    alpha: float | None
    """Krippendorff's alpha for nominal data, at most 1, of more than two reviewers; None for fewer, or if undefined."""


def agreement_of(items: Sequence[Mapping[str, str]]) -> ReviewerAgreement:
    """Compute the agreement.

    Args:
        items: reviewer -> verdict, for each item. Items with fewer than two verdicts are left out.
    """
    shared = [item for item in items if len(item) > 1]
    names = sorted({name for item in shared for name in item})
    agreed = Share(sum(len(set(item.values())) == 1 for item in shared), len(shared))
    kappa = interval = None
    if len(names) == 2:
        kappa, interval = cohens_kappa([(item[names[0]], item[names[1]]) for item in shared])
    alpha = krippendorffs_alpha([list(item.values()) for item in shared]) if len(names) > 2 else None
    return ReviewerAgreement(len(names), agreed, kappa, interval, alpha)


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> tuple[float | None, tuple[float, float] | None]:
    """Return Cohen's kappa and its 95 % interval; (None, None) if it is undefined.

    kappa = (p_o - p_e) / (1 - p_e), with p_o the share of equal pairs and p_e the share expected by chance (Cohen
    1960). The interval is that of Cohen, which takes p_e as known, with Wilson's (1927) interval of p_o in place of the
    normal one: the normal one has no width if all pairs are equal.
    """
    agreed = Share(sum(one == other for one, other in pairs), len(pairs))
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(first[name] * second[name] for name in first) / max(1, len(pairs)) ** 2
    if agreed.value is None or agreed.interval is None or chance >= 1:
        return None, None
    low, high = (max(-1.0, (share - chance) / (1 - chance)) for share in agreed.interval)
    return (agreed.value - chance) / (1 - chance), (low, high)


def krippendorffs_alpha(units: Sequence[Sequence[str]]) -> float | None:
    """Return Krippendorff's alpha for nominal data; None if it is undefined.

    alpha = 1 - (n - 1) * D_o / D_e over the matrix of coincidences (Krippendorff 2011, "Computing Krippendorff's
    alpha-reliability", section C).

    Args:
        units: the values that coders gave each unit, in any order; units with fewer than two values are left out.
    """
    paired = [Counter(unit) for unit in units if len(unit) > 1]
    totals: Counter[str] = Counter()
    differing = 0.0
    for counts in paired:
        size = counts.total()
        totals.update(counts)
        differing += sum(count * (size - count) for count in counts.values()) / (size - 1)
    values = totals.total()
    expected = sum(count * (values - count) for count in totals.values())
    return 1 - (values - 1) * differing / expected if expected else None
