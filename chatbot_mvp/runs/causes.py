"""Find the cause of a wrong answer: the first stage at which a needed document or the answer was lost, and how far
the relevant documents of a run's questions came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from chatbot_mvp.metrics.answers.accuracy import answered_right
from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.runs.payloads import Retrieved
from chatbot_mvp.runs.rows import QueryRow


class Cause(StrEnum):
    """Causes in the order of the pipeline's stages. The values occur in run records and translation keys."""

    OK = "ok"
    """Answered right or, in a run without answers, with all gold documents in the context."""
    NOT_RETRIEVED = "not_retrieved"
    """A gold document is not among the candidates."""
    BELOW_CUT = "below_cut"
    """A gold document is a candidate, but ranked too low for the context, and no reranker raised it."""
    LOST_IN_RERANKING = "lost_in_reranking"
    """A gold document ranked high enough for the context, but the reranker moved it below the cut."""
    ANSWERED_WRONG = "answered_wrong"
    """All gold documents were in the context; the answer is wrong."""
    UNKNOWN_WRONGLY = "unknown_wrongly"
    """All gold documents were in the context; the answer is "I don't know"."""
    REFUSED_WRONGLY = "refused_wrongly"
    """In a KB run: nothing was lost, but the evidence is too low for strict mode to answer."""
    UNSOLVED = "unsolved"
    """In a KB run: nothing was lost and the evidence is enough, but the chat shows the nearest, or a wrong ✓."""
    ACCEPTED_WRONGLY = "accepted_wrongly"
    """In a KB run: the knowledge base has no answer, but the evidence is high enough for strict mode to answer."""
    JUDGE_FAILED = "judge_failed"
    """There is an answer, but neither a judge nor a metric could decide whether it is right."""
    NOT_SCORED = "not_scored"
    """The query failed before it could be scored, or there is nothing to score it against."""


def cause_of(row: QueryRow, cut: int, language: str, candidates: Sequence[str] = ()) -> Cause:
    """Return the cause of a question's outcome; if several gold documents were lost, the earliest stage counts.

    A right answer is ok whatever was retrieved. An "I don't know" without the evidence is a failure of retrieval, not
    of the answer.

    Args:
        cut: maximum number of documents in the context.
        language: language of the answers.
        candidates: ids of all documents that the reranker received; empty without a reranker.
    """
    if row.failed:
        return Cause.NOT_SCORED
    right = answered_right(AnswerCase(row.response, row.answer, row.answer_type, language))
    if row.abstained:
        right = False  # otherwise the "no" in "no lo sé" would count as the answer "no"
    solved = row.metrics.get("solved")
    if row.response is not None and solved is not None:
        right = solved == 1.0  # as in ``headlines``: what the chat says to it counts
    if right:
        return Cause.OK
    if row.response is not None and right is None and row.judge_failed:
        return Cause.JUDGE_FAILED
    if (refused := row.metrics.get("refused")) is not None:
        return Cause.OK if refused else Cause.ACCEPTED_WRONGLY
    refused_wrongly = row.metrics.get("accepted") == 0
    if not row.gold:
        return Cause.REFUSED_WRONGLY if refused_wrongly else Cause.NOT_SCORED
    if lost := _lost(row, cut, candidates):
        return lost
    if row.response is None or solved is not None:
        unsolved = Cause.UNSOLVED if solved == 0 else Cause.OK
        return Cause.REFUSED_WRONGLY if refused_wrongly else unsolved
    if row.abstained:
        return Cause.UNKNOWN_WRONGLY
    return Cause.NOT_SCORED if right is None else Cause.ANSWERED_WRONG


def _lost(row: QueryRow, cut: int, candidates: Sequence[str]) -> Cause | None:
    found = list(dict.fromkeys([*row.retrieved, *candidates]))
    high = set(found[:cut])
    missing = set(row.gold) - (high if row.generation_doc_ids is None else set(row.generation_doc_ids))
    if not missing:
        return None
    if missing - set(found):
        return Cause.NOT_RETRIEVED
    # Even without a reranker a high candidate can be missing, because the context is also limited in characters.
    return Cause.BELOW_CUT if missing - high or not row.reranked else Cause.LOST_IN_RERANKING


class Fate(StrEnum):
    """Where one relevant document of a question was lost, in the order of the stages; also translation keys."""

    IN_CONTEXT = "in_context"
    """It reached the context."""
    NOT_FOUND = "not_found"
    """No retriever has it among its candidates."""
    LOST_IN_FUSION = "lost_in_fusion"
    """A retriever found it, but the merged ranking does not contain it."""
    BELOW_CUT = "below_cut"
    """It is in the ranking, but too low for the context, and no reranker raised it."""
    LOST_IN_RERANKING = "lost_in_reranking"
    """It ranked high enough before the reranker, and too low after it."""
    LEFT_OUT = "left_out"
    """It ranked high enough, but the context had no room for it, or its score was below the minimum."""


@dataclass(frozen=True, slots=True)
class GoldPath:
    """The ranks of one relevant document in the stages of its question."""

    doc_id: str
    ranks: Mapping[str, int | None]
    """Stage -> rank from 1, None if the stage lost it. Stages as in ``searching.gold_ranks``, as far as recorded."""
    fate: Fate


def gold_paths(row: QueryRow, retrieved: Retrieved, cut: int, reranker: bool) -> list[GoldPath]:
    """Trace the relevant documents of a question through the stages.

    Args:
        row: supplies the saved ranking and the context if the record has no ranks.
        retrieved: payload of the retrieval phase; ``Retrieved()`` if there is no record.
        cut: maximum number of documents in the context.
        reranker: whether the run had a reranker.
    """
    paths = []
    for doc_id in row.gold:
        ranks = retrieved.gold.ranks.get(doc_id) or _known_ranks(row, retrieved, doc_id, cut)
        paths.append(GoldPath(doc_id, ranks, fate_of(ranks, cut, reranker)))
    return paths


def fate_of(ranks: Mapping[str, int | None], cut: int, reranker: bool) -> Fate:
    """Return the first stage that lost a document with these ranks."""
    if ranks.get("context"):
        return Fate.IN_CONTEXT
    place = ranks.get("ranking")
    if place is None:
        # Only retrievers can have a rank here: what is not in the ranking reaches neither reranker nor context.
        return Fate.LOST_IN_FUSION if any(ranks.values()) else Fate.NOT_FOUND
    if reranker:
        after = ranks.get("rerank")
        if after is not None and after <= cut:
            return Fate.LEFT_OUT
        return Fate.LOST_IN_RERANKING if place <= cut else Fate.BELOW_CUT
    return Fate.BELOW_CUT if place > cut else Fate.LEFT_OUT


def _known_ranks(row: QueryRow, retrieved: Retrieved, doc_id: str, cut: int) -> dict[str, int | None]:
    before = tuple(dict.fromkeys([*row.retrieved, *retrieved.pre_rerank_candidate_ids]))
    reached = row.retrieved[:cut] if row.generation_doc_ids is None else row.generation_doc_ids
    lists = {"ranking": before, "context": reached}
    return {stage: ids.index(doc_id) + 1 if doc_id in ids else None for stage, ids in lists.items()}


STAGES = ("found", "ranked", "context")
"""found: among the candidates of a retriever. ranked: high enough for the context. context: in it."""
_LAST = {
    Fate.NOT_FOUND: 0,
    Fate.LOST_IN_FUSION: 1,
    Fate.BELOW_CUT: 1,
    Fate.LOST_IN_RERANKING: 1,
    Fate.LEFT_OUT: 2,
    Fate.IN_CONTEXT: 3,
}
"""Fate of a document -> number of stages that it passed."""
OUTCOMES = ("right", "wrong", "answered", "declined", "unknown")


@dataclass(frozen=True, slots=True)
class Flow:
    """The questions of a run that have relevant documents, counted by their way."""

    ways: Mapping[tuple[int, str], int]
    """(number of ``STAGES`` that all relevant documents passed, outcome) -> questions. The outcome is one of
    ``OUTCOMES``, "" in a run that neither answers nor decides whether to answer."""
    left_out: int
    """Questions without a relevant document, or whose retrieval failed."""

    @property
    def total(self) -> int:
        return sum(self.ways.values())


def flow_of(questions: Iterable[tuple[QueryRow, Sequence[GoldPath]]], answered: bool) -> Flow:
    """Count the ways of questions, each with the paths of its relevant documents.

    Args:
        answered: whether the run has answers; without, strict mode's decision is the outcome, if there is one.
    """
    ways: Counter[tuple[int, str]] = Counter()
    left_out = 0
    for row, paths in questions:
        if not paths or (row.failed and not row.retrieved):
            left_out += 1
            continue
        ways[min(_LAST[path.fate] for path in paths), _outcome(row, answered)] += 1
    return Flow(dict(ways), left_out)


def _outcome(row: QueryRow, answered: bool) -> str:
    if answered:
        if row.response is None or row.cause in (Cause.JUDGE_FAILED, Cause.NOT_SCORED):
            return "unknown"
        if row.cause == Cause.OK:
            return "right"
        return "declined" if row.abstained else "wrong"
    accepted = row.metrics.get("accepted")
    return "" if accepted is None else "answered" if accepted else "declined"
