"""Split questions into a half to search with and a half to confirm with, so that both share no document or section.

Turns of one conversation are always in the same half, because what was said before one of them is said again before the
next.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.kb.corpus import KbCorpus
from chatbot_mvp.runs.rows import STORED

SMALLER_SHARE = 0.4
"""Smallest share of the questions that either half must have; otherwise the questions are split by smaller units."""

DOCUMENTS, SECTIONS, PASSAGES, QUESTIONS = "documents", "sections", "passages", "questions"


@dataclass(frozen=True, slots=True)
class Split:
    """The two halves."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    searching: tuple[str, ...]
    """Ids of the questions to search with, in the order in which the search uses them."""
    confirming: tuple[str, ...]
    by: str
    """What is never on both sides: "documents", "sections", "passages" or, if nothing larger is possible, "questions".
    """
    groups: int
    """Number of these units."""


def split_questions(corpus: RunCorpus, seed: int) -> Split:
    """Split the questions that have a judgement, by the largest units that give two halves of similar size.

    Args:
        seed: decides which units go to which half, and the order of the questions.
    """
    scored = scored_questions(corpus)
    levels = _kb_levels(corpus, scored) if isinstance(corpus, KbCorpus) else _dataset_levels(corpus, scored)
    talks = _conversations(corpus, scored)
    for by, units in levels:
        if found := _halves(scored, {name: [*units[name], talks[name]] for name in scored}, seed, by):
            return found
    raise AssertionError("single questions always give two halves")


def scored_questions(corpus: RunCorpus) -> list[str]:
    """Return the ids of the questions with a relevant document or passage, without which no ranking can be scored."""
    qrels = corpus.dataset.qrels
    return [
        query.query_id
        for query in corpus.dataset.queries
        if any(score > 0 for score in qrels.get(query.query_id, {}).values())
    ]


def _conversations(corpus: RunCorpus, scored: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return question -> a unit for its conversation: what was asked first in it."""
    asked = {query.query_id: query for query in corpus.dataset.queries}
    return {
        name: ("conversation", asked[name].history[0].question if asked[name].history else asked[name].text)
        for name in scored
    }


def _halves(scored: Sequence[str], units: Mapping[str, Sequence[Hashable]], seed: int, by: str) -> Split | None:
    """Return the halves; None if one of them would be too small.

    Args:
        units: question -> units that it belongs to. Questions that share one stay together.
    """
    groups = _connected(scored, units)
    rng = random.Random(seed)
    rng.shuffle(groups)
    sides: tuple[list[str], list[str]] = ([], [])
    for group in sorted(groups, key=len, reverse=True):
        smaller = min(sides, key=len)
        smaller += group
    if len(scored) > 1 and by != QUESTIONS and min(map(len, sides)) < SMALLER_SHARE * len(scored):
        return None
    for side in sides:
        rng.shuffle(side)
    return Split(tuple(sides[0]), tuple(sides[1]), by, len(groups))


def _connected(scored: Sequence[str], units: Mapping[str, Sequence[Hashable]]) -> list[list[str]]:
    """Return groups of questions, such that questions of different groups have no unit in common."""
    parent: dict[Hashable, Hashable] = {}

    def root(of: Hashable) -> Hashable:
        while parent.setdefault(of, of) != of:
            parent[of] = of = parent[parent[of]]
        return of

    for query_id in scored:
        first, *others = units[query_id]
        for other in others:
            parent[root(other)] = root(first)
    groups: dict[Hashable, list[str]] = {}
    for query_id in scored:
        groups.setdefault(root(units[query_id][0]), []).append(query_id)
    return list(groups.values())


def _kb_levels(corpus: KbCorpus, scored: Sequence[str]) -> list[tuple[str, dict[str, list[str]]]]:
    """Return the files of a knowledge base, its sections from the outermost in, paragraphs and questions."""
    chunks = corpus.chunks()
    files = corpus.kbs.contents(corpus.record.kb_id).files
    paths: dict[str, list[list[str]]] = {}
    for query_id in scored:
        starts = [place[0] for place in corpus.places[query_id]]
        of_starts = []
        for start in starts:
            file = next((file.name for file in files if file.start <= start < file.end), "")
            section = next((chunk.section for chunk in chunks if chunk.start <= start < chunk.end), "")
            of_starts.append([file, *section.split(" > ")])
        paths[query_id] = of_starts
    deepest = max((len(path) for found in paths.values() for path in found), default=1)
    levels = [
        (
            DOCUMENTS if depth == 1 else SECTIONS,
            {query_id: [" > ".join(path[:depth]) for path in found] for query_id, found in paths.items()},
        )
        for depth in range(1, deepest + 1)
    ]
    passages = {query_id: [str(place[0]) for place in corpus.places[query_id]] for query_id in scored}
    return [*levels, (PASSAGES, passages), (QUESTIONS, {query_id: [query_id] for query_id in scored})]


def _dataset_levels(corpus: RunCorpus, scored: Sequence[str]) -> list[tuple[str, dict[str, list[str]]]]:
    """Return the titles of the relevant documents, the documents and the questions."""
    titles = {document.doc_id: document.title or document.doc_id for document in corpus.dataset.documents}
    gold = {
        query_id: [doc_id for doc_id, score in corpus.dataset.qrels[query_id].items() if score > 0]
        for query_id in scored
    }
    by_title = {query_id: [titles.get(doc_id, doc_id) for doc_id in found] for query_id, found in gold.items()}
    return [(DOCUMENTS, by_title), (PASSAGES, gold), (QUESTIONS, {query_id: [query_id] for query_id in scored})]
