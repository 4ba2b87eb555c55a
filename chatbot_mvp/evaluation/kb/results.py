"""Finished KB runs as results of question sets: what the retrieval found for each question, and where it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.evaluation.kb.corpus import QUESTIONS
from chatbot_mvp.evaluation.kb.own_threshold import Scores
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.evaluation.kb.strict_mode import StrictMode, outcome_of
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.metrics.decisions import UNANSWERABLE, Outcome
from chatbot_mvp.runs.payloads import RETRIEVE, Said, Span, retrieved_of
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.fields import MODEL_SETTINGS
from chatbot_mvp.types import Chunk


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """The position of a retrieved chunk. Its text is not stored: it is read from the knowledge base."""

    chunk_id: str
    section: str
    start: int
    """Offset of the first character in the knowledge base's text."""
    end: int
    """Offset after the last character."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A question and what the retrieval found for it."""

    question: KbQuestion
    evidence: float
    """Evidence score of the retrieval, 0-1."""
    found: tuple[FoundPassage, ...]
    """The passages that an answer would be based on, best first."""
    places: tuple[Span, ...]
    """(start, end) of the expected passage in the text; empty if none is expected or it does not occur."""
    rank: int | None
    """Rank from 1 of the first found passage that covers at least half of an expected place; None if none does."""
    seconds: float
    said: Said | None = None
    """What the chat said; None if the run did not record it."""

    @property
    def outcome(self) -> Outcome | None:
        """What that was worth; None if nobody says what is right, or nothing was recorded."""
        return outcome_of(self.said, self.question.kind, self.places) if self.said else None

    def accepted(self, threshold: float) -> bool:
        """Return whether an answer is looked for at this evidence threshold (0-1)."""
        return self.evidence >= threshold


@dataclass(frozen=True, slots=True)
class KbResult:
    """One run of a question set."""

    result_id: str
    """Id of the run."""
    kb_id: str
    kb_sha256: str
    set_id: str
    set_name: str
    started_at: str
    """ISO 8601, UTC."""
    fingerprint: str
    """Fingerprint of the retrieval's configuration; equal if the same questions would find the same passages."""
    strategy: str
    min_evidence: float
    """KB_MIN_EVIDENCE at the time of the run."""
    rows: tuple[ResultRow, ...]
    figures: Mapping[str, Any]
    """The figures that ``run_results.kb_figures`` returns."""
    automatic: int
    """Number of answerable questions made by rules and not reworded since: they are easier than people's questions."""
    version: int = 0
    """Number of the version that was measured; 0 if the run does not say."""
    min_proof: float | None = None
    """KB_MIN_PROOF at the time of the run; None if proofs were not recorded."""
    provider: str = ""
    """Setting PROVIDER at the time of the run."""
    model: str = ""
    """Provider and model that answered in the chat; "" for literal quotes."""
    proposed: frozenset[str] = frozenset()
    """Ids of the questions that rules or a model made and nobody reworded: they say nothing about those of people."""

    @property
    def strict(self) -> StrictMode:
        """What the chat made of the questions."""
        found = {row.question.question_id: row.outcome for row in self.rows}
        return StrictMode({key: outcome for key, outcome in found.items() if outcome is not None})

    def part(self, own: bool) -> KbResult:
        """Return the same result over the questions of people, or over those that were proposed."""
        rows = tuple(row for row in self.rows if (row.question.question_id in self.proposed) is not own)
        places = [row.rank for row in rows if row.places]
        hits = {f"hit@{k}": _mean([float(rank is not None and rank <= k) for rank in places]) for k in (1, 3)}
        mrr = _mean([1 / rank if rank else 0.0 for rank in places])
        figures = {**self.figures, **hits, "mrr": mrr, "scored": len(places)}
        return replace(self, rows=rows, figures=figures, automatic=0 if own else self.automatic)

    @property
    def scores(self) -> Scores:
        """Kind -> evidence scores of its questions. Questions without a kind are left out."""
        found: dict[str, list[float]] = {}
        for row in self.rows:
            if row.question.kind is not None:
                found.setdefault(row.question.kind, []).append(row.evidence)
        return found

    @property
    def summary(self) -> dict[str, float | None]:
        """hit@1, hit@3, mrr, and ``solved``: the share of which the chat makes the right thing."""
        return {**{name: self.figures[name] for name in ("hit@1", "hit@3", "mrr")}, "solved": self.strict.right.value}


_NUMBERED = re.compile(r"[anf]\d{3}")
_AROUND = 600  # characters of the paragraph shown on either side of an expected passage


def kb_figures(result: RunResult) -> dict[str, Any]:
    """Return the figures of a KB run, as ``kb evaluate`` prints them. A figure that cannot be computed is None.

    Returns:
        ``questions`` {kind: n}; ``accepted`` {kind: share with evidence >= KB_MIN_EVIDENCE}; ``hit@1``, ``hit@3``,
        ``mrr`` and ``useful`` over the questions whose paragraph is in the knowledge base; ``scored`` their number;
        ``auroc`` {near, far}: evidence of the answerable against those; ``seconds_per_question_p50``, ``_p95``.
    """
    accepted: dict[str, list[float]] = {}
    for row in result.per_query:
        if (answered := row.metrics.get("accepted")) is not None:
            accepted.setdefault(row.question_type, []).append(answered)
        elif (refused := row.metrics.get("refused")) is not None:
            accepted.setdefault(row.question_type, []).append(1 - refused)
    return {
        "questions": dict(Counter(row.question_type or "unknown" for row in result.per_query)),
        "accepted": {kind: sum(values) / len(values) for kind, values in accepted.items()},
        **{name: result.metrics.get(name) for name in ("hit@1", "hit@3", "mrr", "useful")},
        "scored": result.scored.get("mrr", (0, 0))[0],
        "auroc": {kind: result.auroc.get(kind) for kind in UNANSWERABLE},
        **{f"seconds_per_question_{name}": result.question_seconds.get(name) for name in ("p50", "p95")},
    }


def read_kb_result(folder: RunFolder) -> KbResult:
    """Return a finished KB run as a result. Questions whose retrieval failed have no evidence and are left out.

    Raises:
        ChatbotError, OSError, KeyError, ValueError, TypeError: it is no finished KB run, or a file is unreadable.
    """
    manifest, result = folder.manifest(), folder.result()
    records, _ = folder.records(RETRIEVE)
    questions = {one.question_id: one for one in load_questions(folder.path / QUESTIONS)}
    rows = []
    for row in result.per_query:
        if row.evidence is None:
            continue
        retrieved = retrieved_of(records[row.query_id])
        rows.append(
            ResultRow(
                questions[row.query_id],
                row.evidence,
                tuple(FoundPassage(*passage) for passage in retrieved.passages),
                retrieved.places,
                next((rank for rank, doc_id in enumerate(row.retrieved, 1) if doc_id in row.gold), None),
                sum(retrieved.seconds.values()),
                retrieved.answer,
            )
        )
    facts = {name: manifest.evaluation[name] for name in ("kb_id", "kb_sha256", "set_id", "set_name", "automatic")}
    return KbResult(
        **facts,
        version=_number(manifest.evaluation.get("kb_version")),
        proposed=_proposed(manifest.evaluation.get("proposed"), questions),
        result_id=manifest.run_id,
        started_at=manifest.started_at,
        fingerprint=manifest.fingerprint,
        strategy=manifest.strategy,
        min_evidence=manifest.settings_masked["kb_min_evidence"],
        min_proof=manifest.settings_masked.get("kb_min_proof"),
        provider=manifest.settings_masked.get("provider", ""),
        model=_model(manifest.settings_masked),
        rows=tuple(rows),
        figures=kb_figures(result),
    )


def _model(settings: Mapping[str, Any]) -> str:
    provider = settings.get("provider", "")
    model = str(settings.get(MODEL_SETTINGS.get(provider, "")) or "")
    if provider == "local":  # a file, as ``Settings.model_of`` names it
        model = Path(model).stem
    return f"{provider}/{model}" if model else ""


def _number(found: object) -> int:
    return found if isinstance(found, int) else 0


def _proposed(found: object, questions: Iterable[str]) -> frozenset[str]:
    # A run of an earlier version does not say it: proposals are numbered, and a reworded one keeps its number.
    return frozenset(found if isinstance(found, list) else filter(_NUMBERED.fullmatch, questions))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def found_passages(store: KbStore, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
    """Return the passages found, best first, with what the chat said highlighted.

    Empty if the version that was measured is no longer kept.

    Raises:
        KbNotFound, KbUnreadable
    """
    text = _text_of(store, result)
    if text is None:
        return ()
    passages = tuple(
        Chunk(one.chunk_id, result.kb_id, one.section, text[one.start : one.end], one.start, one.end)
        for one in row.found
    )
    said = row.said.places if row.said else ()
    return tuple(
        Source(number, chunk, tuple(span for span in said if chunk.start <= span[0] and span[1] <= chunk.end))
        for number, chunk in enumerate(passages, 1)
    )


def expected_passages(store: KbStore, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
    """Return the first occurrence of the expected passage, highlighted, with its surroundings; empty if it is missing.

    Raises:
        KbNotFound, KbUnreadable
    """
    text = _text_of(store, result)
    if text is None or not row.places:
        return ()
    start, end = row.places[0]
    before, after = text.rfind("\n\n", 0, start), text.find("\n\n", end)
    begin = max(before + 2 if before >= 0 else 0, start - _AROUND)
    stop = min(after if after >= 0 else len(text), end + _AROUND)
    chunk = Chunk("", result.kb_id, row.question.heading or "", text[begin:stop], begin, stop)
    return (Source(1, chunk, ((start, end),)),)


def _text_of(store: KbStore, result: KbResult) -> str | None:
    """Return the text that a result was measured on; None if no version with it is kept."""
    version = store.version_with(result.kb_id, result.kb_sha256)
    return store.document(result.kb_id, version.version_id).text if version else None
