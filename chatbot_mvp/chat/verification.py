"""Check each sentence of an answer against the passages that it cites, without asking a model."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chatbot_mvp.chat.citations import MARKS, cited_numbers
from chatbot_mvp.chat.code_blocks import code_blocks
from chatbot_mvp.embedding.e5.embedder import E5_MODEL_IDS
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

MIN_SUPPORT = 0.56
"""Sentences with a lower support (0-1) are marked as unsupported. Chosen on the statements of
``tests/chat/support_cases.json``."""
_COSINE_BAND = dict.fromkeys(E5_MODEL_IDS, (0.82, 0.93))
"""Embedding model -> (cosine that maps to 0, cosine that maps to 1). Every model has its own narrow band of cosines, so
for other models words alone decide."""
_ONE_PASS_BAND = (0.81, 0.90)
"""The band if the windows come from one pass over each paragraph (``DenseSide.tokens``)."""
_LEXICAL_SHARE = 0.6
_SURE = 0.95  # above this share of a sentence's words in the passage, vectors are not needed
_MISSING_FIGURE = 0.5  # factor on the support if a number of the sentence is missing
_WINDOW = 2  # number of successive sentences of a passage that can support one of the answer
_NEAR_BEST = 0.6  # numbers are searched in windows that match at least this share of the best one's match

_ITEM = re.compile(r"\s*(?:[-*+•]\s+)?(?:\d{1,2}[.)]\s+)?")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")

Idf = Callable[[str], float]
Nearness = Callable[[Sequence[str]], list[Mapping[str, float]]]
"""Maps texts to, for each text, chunk id -> similarity in meaning (0-1) of the chunk's most similar sentences."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer with its support by the passages."""

    start: int
    """Offset in the answer's text, in characters."""
    end: int
    """Offset behind the sentence."""
    numbers: tuple[int, ...]
    """Numbers of the cited passages. Without a citation, the number of the passage that supports the sentence best;
    empty if none does."""
    score: float
    """Support, 0-1."""
    supported: bool
    """True if ``score`` reaches MIN_SUPPORT."""
    cited: bool = True
    """False if the answer gives no citation for the sentence."""


def verify(
    answer: str, passages: Sequence[Chunk], analyzer: Analyzer, idf: Idf, nearness: Nearness | None = None
) -> tuple[Statement, ...]:
    """Return the statements of ``answer`` in order, each with its support.

    Support is the idf-weighted share of a sentence's terms in two successive sentences of a cited passage. With
    ``nearness`` it is 0.6 x that share + 0.4 x the similarity in meaning. It is halved if the passage lacks a number of
    the sentence. Sentences without a citation are compared with every passage. Headings, lines without a term, and the
    numbers of list items are ignored.
    """
    found = [
        (start, end, numbers)
        for start, end, numbers in _cited_sentences(answer)
        if analyzer.terms(answer[start:end]) and not answer.startswith("#", start)
    ]
    windows = [_windows(chunk) for chunk in passages]
    every = range(1, len(passages) + 1)
    lexical = [
        {
            number: _best_share(analyzer, idf, answer[start:end], windows[number - 1])
            for number in [number for number in numbers if number in every] or every
        }
        for start, end, numbers in found
    ]
    unsure = [row for row, of_row in enumerate(lexical) if max(share for share, _ in of_row.values()) < _SURE]
    near: dict[int, Mapping[str, float]] = {}
    if nearness is not None and unsure:
        near = dict(zip(unsure, nearness([answer[slice(*found[row][:2])] for row in unsure]), strict=True))
    statements = []
    for row, (start, end, numbers) in enumerate(found):
        scores: dict[int, float] = {}
        # If several passages are cited together, each may have one of the numbers.
        figures_anywhere = bool(numbers) and _figures(answer[start:end]) <= set().union(
            *(figures for _, figures in lexical[row].values())
        )
        for number, (share, figures) in lexical[row].items():
            score = share
            if row in near:
                meaning = near[row].get(passages[number - 1].chunk_id, 0.0)
                score = _LEXICAL_SHARE * share + (1 - _LEXICAL_SHARE) * meaning
            has_figures = figures_anywhere or _figures(answer[start:end]) <= figures
            scores[number] = score * (1.0 if has_figures else _MISSING_FIGURE)
        best = max(scores, key=lambda number: (scores[number], -number))
        supported = scores[best] >= MIN_SUPPORT
        named = numbers or ((best,) if supported else ())
        statements.append(Statement(start, end, named, round(scores[best], 4), supported, bool(numbers)))
    return tuple(statements)


def with_citations(answer: str, statements: Sequence[Statement]) -> tuple[str, tuple[Statement, ...]]:
    """Add citations to supported sentences without one; return (the answer, the statements with moved offsets).

    Citations of sentences inside a block of code stand below the block.
    """
    blocks = code_blocks(answer)
    ends = [end for _, end in blocks]
    added: dict[int, dict[int, None]] = {}
    for statement in statements:
        if not statement.cited and statement.numbers:
            row = bisect_left(ends, statement.end)
            inside = row < len(blocks) and blocks[row][0] < statement.end
            at = ends[row] if inside else statement.end
            there = cited_numbers(marks) if inside and (marks := MARKS.match(answer, at)) else ()
            if new := [number for number in statement.numbers if number not in there]:
                added.setdefault(at, {}).update(dict.fromkeys(new))
    pieces, shifts, position = [], [0], 0
    below = set(ends)
    for at, numbers in added.items():
        mark = ("\n\n" if at in below else " ") + " ".join(f"[{number}]" for number in numbers)
        pieces += [answer[position:at], mark]
        position = at
        shifts.append(shifts[-1] + len(mark))
    places = list(added)
    moved = (
        replace(
            statement,
            start=statement.start + shifts[bisect_right(places, statement.start)],
            end=statement.end + shifts[bisect_left(places, statement.end)],
        )
        for statement in statements
    )
    return "".join([*pieces, answer[position:]]), tuple(moved)


def nearness_of(index: CorpusIndex) -> Nearness | None:
    """Create a ``Nearness`` from the knowledge base's stored sentence vectors; None if there are none."""
    kb, side = index.kb, index.dense
    if kb is None or side is None or side.windows is None or side.embedder.model_id not in _COSINE_BAND:
        return None
    low, high = _COSINE_BAND[side.embedder.model_id] if side.tokens is None else _ONE_PASS_BAND
    embedder, vectors = side.embedder, side.windows

    def near(texts: Sequence[str]) -> list[Mapping[str, float]]:
        found: list[Mapping[str, float]] = []
        for vector in embedder.embed(texts, "query"):
            best = kb.matcher.best_of_windows(vectors.cosines(vector).astype(float))
            scaled = np.clip((best - low) / (high - low), 0.0, 1.0)
            positions, rows = kb.paragraphs.ranked(scaled, others_weight=0.0)
            nearness = scaled[rows].tolist()
            found.append({kb.chunks[at].chunk_id: near for at, near in zip(positions, nearness, strict=True)})
        return found

    return near


def _cited_sentences(answer: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (start, end, cited numbers) of each sentence. Citation marks follow the sentence that they support."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    position = 0
    for match in [*MARKS.finditer(answer), None]:
        end = match.start() if match else len(answer)
        numbers = cited_numbers(match) if match else ()
        spans = [
            (position + left + _item_mark(answer[position + left : position + right]), position + right)
            for left, right in sentences(answer[position:end])
        ]
        # Marks belong to the sentence directly before them; earlier sentences have no citation.
        found += [(*span, numbers if row == len(spans) - 1 else ()) for row, span in enumerate(spans)]
        position = match.end() if match else end
    return found


def _item_mark(sentence: str) -> int:
    """Return the length of a list marker at the start of a sentence, 0 if there is none."""
    found = _ITEM.match(sentence)
    return found.end() if found else 0


def _windows(chunk: Chunk) -> list[str]:
    spans = sentences(chunk.text)
    last = len(spans) - 1
    texts = [chunk.text[start : spans[min(row + _WINDOW - 1, last)][1]] for row, (start, _) in enumerate(spans)]
    # Include the heading, which often names the subject that its sentences leave out.
    return [f"{chunk.section}\n{text}" for text in texts] or [chunk.index_text]


def _figures(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


def _best_share(analyzer: Analyzer, idf: Idf, sentence: str, windows: Sequence[str]) -> tuple[float, set[str]]:
    """Return (the best window's share of the sentence's idf weight, the numbers in the well-matching windows)."""
    weights = {term: idf(term) for term in analyzer.terms(sentence)}
    total = sum(weights.values())
    shares = []
    for window in windows:
        present = set(analyzer.terms(window))
        shares.append(sum(weight for term, weight in weights.items() if term in present) / total if total else 0.0)
    best = max(shares, default=0.0)
    around = [window for window, share in zip(windows, shares, strict=True) if share >= _NEAR_BEST * best]
    return best, {figure for text in around for figure in _figures(text)}
