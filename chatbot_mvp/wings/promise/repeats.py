"""Count a question that is asked in several spellings once: it is one label, however often it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from chatbot_mvp.runs.payloads import Span
from chatbot_mvp.text import fold, without_unseen
from chatbot_mvp.wings.promise.calibration import LabelledQuestion

ALIKE_ABOUT_ONE_PASSAGE = 0.5
"""Least similarity, 0-1, of two questions that are one label, if their expected passages overlap. Of 186,000 pairs of
people's questions about Spanish articles it joins 51, all rewordings or close relatives about one paragraph."""
ALIKE_WITHOUT_PASSAGE = 0.7
"""The same for two questions without an expected passage, such as far ones, where only the words can tell."""
_GRAM = 3  # characters; longer ones miss more misspellings, shorter ones join more different questions
_BLOCK = 256  # questions that are compared at a time, to bound memory

_WORD = re.compile(r"\w+")
Matrix = npt.NDArray[np.float32]


def normalized(question: str) -> str:
    """Return the words of a question without case, accents, punctuation, and characters that nobody sees."""
    return " ".join(_WORD.findall(fold(without_unseen(question))))


def without_repeats(
    labelled: Sequence[LabelledQuestion], places: Sequence[Sequence[Span]]
) -> tuple[list[LabelledQuestion], int]:
    """Return one question of each group of repeats, and the number of those left out.

    Questions about different passages are repeats only if their words are the same: people ask for the price of one
    thing after the other, and one answer quotes few passages. Repeats of repeats are repeats.

    If an answer with a tick to one of a group is wrong, the one that is best proven stands for the group, so that no
    repetition hides it; else the first one does.

    Args:
        places: for each question, where its expected passage stands in the text; empty without one.
    """
    first = list(range(len(labelled)))

    def root(at: int) -> int:
        while first[at] != at:
            first[at] = first[first[at]]
            at = first[at]
        return at

    for one, other, similar in _pairs([normalized(each.question.question) for each in labelled]):
        if similar >= _least(places[one], places[other]):
            one, other = sorted((root(one), root(other)))
            first[other] = one
    groups: dict[int, list[LabelledQuestion]] = {}
    for at, each in enumerate(labelled):
        groups.setdefault(root(at), []).append(each)
    kept = [
        max((each for each in group if each.wrong and each.score >= 0), key=lambda each: each.score, default=group[0])
        for group in groups.values()
    ]
    return kept, len(labelled) - len(kept)


def _least(places: Sequence[Span], others: Sequence[Span]) -> float:
    """Return the similarity from which two questions with these expected places are one label."""
    if not places and not others:
        return ALIKE_WITHOUT_PASSAGE
    overlap = any(start < last and first < end for start, end in places for first, last in others)
    return ALIKE_ABOUT_ONE_PASSAGE if overlap else 1.0


def _pairs(texts: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield (position, position, similarity) of the pairs that may be repeats.

    The similarity is Jaccard's, of groups of three characters: the greater one of those inside of words, which the
    order of the words does not change, and those of the whole text without blanks, which blanks inside words do not.
    """
    sides = [_matrix([_of_words(text) for text in texts]), _matrix([_of(text.replace(" ", "")) for text in texts])]
    for start in range(0, len(texts), _BLOCK):
        for other in range(start, len(texts), _BLOCK):
            similar = np.maximum(
                *(_jaccard(side[start : start + _BLOCK], side[other : other + _BLOCK]) for side in sides)
            )
            for row, column in np.argwhere(similar >= ALIKE_ABOUT_ONE_PASSAGE):
                if start + row < other + column:
                    yield int(start + row), int(other + column), float(similar[row, column])


def _jaccard(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> Matrix:
    left, right = one.astype(np.float32), other.astype(np.float32)
    common = left @ right.T
    either = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :] - common
    # Two questions without any word, such as "?" and "¿?", are equal.
    return np.where(either > 0, common / np.maximum(either, 1), np.float32(1))


def _matrix(grams: Sequence[set[str]]) -> npt.NDArray[np.bool_]:
    columns = {gram: number for number, gram in enumerate(sorted(set().union(*grams)))}
    found = np.zeros((len(grams), len(columns)), dtype=np.bool_)
    for row, each in enumerate(grams):
        found[row, [columns[gram] for gram in each]] = True
    return found


def _of_words(text: str) -> set[str]:
    return set().union(*(_of(f" {word} ") for word in text.split()))


def _of(text: str) -> set[str]:
    return {text[at : at + _GRAM] for at in range(max(1, len(text) - _GRAM + 1))} - {""}
