"""Holds each sentence of an answer against the passage it cites, without asking a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

MIN_SUPPORT = 0.56
"""A sentence with less is marked as unsupported. Measured by ``benchmarks/support_threshold.py``."""
_COSINE_BAND = {"local/multilingual-e5-small-q4": (0.82, 0.93)}
"""Embedding model -> (cosine that supports nothing, cosine that supports all). A model's cosines live in a narrow band
of their own, so another model's say nothing here and words alone decide."""
_LEXICAL_SHARE = 0.6
_SURE = 0.95  # so much of a sentence's words in the passage needs no vectors
_MISSING_FIGURE = 0.5
_WINDOW = 2  # sentences of a passage in a row that may support one of an answer
_NEAR_BEST = 0.6  # windows that match at least this share of what the best one does are where a figure may stand

_MARKS = re.compile(r"(?:\s*\[\d{1,2}\])+")
_ITEM = re.compile(r"\s*(?:[-*+•]\s+)?(?:\d{1,2}[.)]\s+)?")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")

Idf = Callable[[str], float]
Nearness = Callable[[Sequence[str]], list[Mapping[str, float]]]
"""Texts -> for each, chunk id -> how near (0-1) the chunk's nearest sentences are to it in meaning."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer, and how far its passage supports it."""

    start: int
    """Offset in the answer's text, in characters."""
    end: int
    numbers: tuple[int, ...]
    """Of the passages it cites; for one without a citation that of the passage which supports it best, empty if none
    does."""
    score: float
    """0-1."""
    supported: bool
    cited: bool = True
    """False if the answer did not name its passage."""


def verify(
    answer: str, passages: Sequence[Chunk], language: str, idf: Idf, nearness: Nearness | None = None
) -> tuple[Statement, ...]:
    """The statements of ``answer`` in order, each with its support.

    Support is the idf-weighted share of a sentence's terms that two sentences in a row of a cited passage have; with
    ``nearness``, that for 0.6 and the nearness in meaning for 0.4. A figure that does not stand there halves it.
    A sentence without a citation is held against every passage. Headings, and lines without a term, state nothing and
    are left out; the number of a list item is no figure of it.
    """
    analyzer = Analyzer(language)
    found = [
        (start, end, numbers)
        for start, end, numbers in _cited_sentences(answer)
        if analyzer.terms(answer[start:end]) and not answer.startswith("#", start)
    ]
    windows = [_windows(chunk) for chunk in passages]
    against = [_cited(numbers, len(passages)) for _, _, numbers in found]
    lexical = [
        {number: _best_share(analyzer, idf, answer[start:end], windows[number - 1]) for number in numbers}
        for (start, end, _), numbers in zip(found, against, strict=True)
    ]
    unsure = [row for row, of_row in enumerate(lexical) if max(share for share, _ in of_row.values()) < _SURE]
    near: dict[int, Mapping[str, float]] = {}
    if nearness is not None and unsure:
        near = dict(zip(unsure, nearness([answer[slice(*found[row][:2])] for row in unsure]), strict=True))
    statements = []
    for row, (start, end, numbers) in enumerate(found):
        scores: dict[int, float] = {}
        # Several passages that are cited together may hold a figure each.
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
    """The answer with a citation behind each supported sentence that had none; the statements where they then are."""
    pieces, moved, position, shift = [], [], 0, 0
    for statement in statements:
        moved.append(replace(statement, start=statement.start + shift, end=statement.end + shift))
        if not statement.cited and statement.numbers:
            mark = "".join(f" [{number}]" for number in statement.numbers)
            pieces += [answer[position : statement.end], mark]
            position, shift = statement.end, shift + len(mark)
    return "".join([*pieces, answer[position:]]), tuple(moved)


def nearness_of(index: CorpusIndex) -> Nearness | None:
    """Nearness by the vectors of a knowledge base's sentences, which are there already; None without any."""
    kb, side = index.kb, index.dense
    if kb is None or side is None or side.windows is None or side.embedder.model_id not in _COSINE_BAND:
        return None
    low, high = _COSINE_BAND[side.embedder.model_id]
    embedder, vectors = side.embedder, side.windows

    def near(texts: Sequence[str]) -> list[Mapping[str, float]]:
        found: list[Mapping[str, float]] = []
        for vector in embedder.embed(texts, "query"):
            best = kb.matcher.best_of_windows(vectors.cosines(vector).astype(float))
            scaled = np.clip((best - low) / (high - low), 0.0, 1.0)
            of_chunk: dict[str, float] = {}
            for row, passage in enumerate(kb.matcher.passages):
                for position in passage.hits:
                    chunk_id = kb.chunks[position].chunk_id
                    of_chunk[chunk_id] = max(of_chunk.get(chunk_id, 0.0), float(scaled[row]))
            found.append(of_chunk)
        return found

    return near


def _cited_sentences(answer: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """(start, end, cited numbers) of each sentence; citation marks stand behind what they are about."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    position = 0
    for match in [*_MARKS.finditer(answer), None]:
        end = match.start() if match else len(answer)
        spans = [(position + left, position + right) for left, right in sentences(answer[position:end])]
        numbers = tuple(dict.fromkeys(int(n) for n in re.findall(r"\d+", match.group()))) if match else ()
        spans = [(left + _item_mark(answer[left:right]), right) for left, right in spans]
        # The marks are those of the sentence before them; what stands earlier has none of its own.
        found += [(*span, numbers if row == len(spans) - 1 else ()) for row, span in enumerate(spans)]
        position = match.end() if match else end
    return found


def _item_mark(sentence: str) -> int:
    """Length of what makes a sentence an item of a list."""
    found = _ITEM.match(sentence)
    return found.end() if found else 0


def _windows(chunk: Chunk) -> list[str]:
    spans = sentences(chunk.text)
    last = len(spans) - 1
    texts = [chunk.text[start : spans[min(row + _WINDOW - 1, last)][1]] for row, (start, _) in enumerate(spans)]
    # A heading often says what its sentences leave out.
    return [f"{chunk.section}\n{text}" for text in texts] or [chunk.index_text]


def _cited(numbers: tuple[int, ...], count: int) -> list[int]:
    return [number for number in numbers if 1 <= number <= count] or list(range(1, count + 1))


def _figures(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


def _best_share(analyzer: Analyzer, idf: Idf, sentence: str, windows: Sequence[str]) -> tuple[float, set[str]]:
    """(share of the sentence's idf weight that the best window has, the figures that stand thereabouts)."""
    weights = {term: idf(term) for term in analyzer.terms(sentence)}
    total = sum(weights.values())
    shares = []
    for window in windows:
        present = set(analyzer.terms(window))
        shares.append(sum(weight for term, weight in weights.items() if term in present) / total if total else 0.0)
    best = max(shares, default=0.0)
    around = [window for window, share in zip(windows, shares, strict=True) if share >= _NEAR_BEST * best]
    return best, {figure for text in around for figure in _figures(text)}
