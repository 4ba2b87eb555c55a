"""Convert an answer to the record that is stored and displayed again, including the data of the debug panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from chatbot_mvp.chat.answer import Answer, Failure
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.claims.comparison import Difference
from chatbot_mvp.chat.context import Mode
from chatbot_mvp.chat.nearest import Nearest, Suggestion
from chatbot_mvp.chat.quality import Quality, average_relevance, debug_values
from chatbot_mvp.chat.record_check import require_types
from chatbot_mvp.chat.relevance import Outcome
from chatbot_mvp.chat.verification import Statement
from chatbot_mvp.documents.kb_files import FilePlace
from chatbot_mvp.storage.formats import complete
from chatbot_mvp.types import Chunk

_CHARS_PER_TOKEN = 6
"""More characters than a token of Spanish or English prose has on average, with any tokeniser."""
_ADDED_LATER = (("version", 0), ("version_id", ""), ("updated_at", ""), ("kb_name", ""))
"""Keys of a source that older answers do not have."""
_STATEMENTS_LATER: dict[str, Any] = {"differences": ()}
"""The same for statements."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """An answer as plain values. Fields as in ``Answer`` unless documented here."""

    text: str
    sources: tuple[Source, ...]
    statements: tuple[Statement, ...]
    mode: Mode
    abstained: bool
    from_kb: bool
    failure: Failure | None
    model: str
    """Model that answered; "" if none was asked."""
    finish_reason: str
    cached: bool
    evidence: float
    relevance: float | None
    decided_by: str
    search_query: str
    """The query that was searched if it was not the question itself, else ""."""
    search_how: str
    seconds: float
    usage: Mapping[str, int | float | None]
    """prompt_tokens, completion_tokens, cost_usd; None if unknown. Empty if no model answered."""
    vectors_share: float | None
    debug: Mapping[str, Any]
    """Data of the debug panel, under the names of ``RetrievalTrace``."""
    outcome: Outcome
    why: str | None
    nearest: Nearest | None
    hint: str
    average_relevance: float | None
    """As in ``Quality``."""

    @property
    def quality(self) -> Quality:
        return Quality(
            self.average_relevance,
            self.evidence,
            self.relevance,
            bool(self.debug["query_expanded"]),
            self.debug["reranked"],
            self.model or None,
            self.seconds,
        )

    @property
    def chosen(self) -> bool:
        """True if a person chose the passage to answer from: nothing has decided that it answers."""
        return self.decided_by == "chosen"

    @property
    def is_outline(self) -> bool:
        """True for the first sentences of sections in place of a summary: nothing has decided what matters in them."""
        return self.decided_by == "outline" and self.model == "demo"

    @property
    def is_talk(self) -> bool:
        """True if the question was a greeting or the like, for which nothing was searched."""
        return self.decided_by == "talk"

    @property
    def unsupported(self) -> int:
        return sum(not statement.supported for statement in self.statements)

    @property
    def tick(self) -> bool:
        """True if every sentence of an answer from the knowledge base names a passage that supports it well."""
        whole = self.finish_reason == "stop" and not self.debug.get("garbage")
        answers = self.outcome == "answered" and self.mode == "strict" and not (self.chosen or self.is_outline)
        return answers and whole and bool(self.statements) and all(one.ticked for one in self.statements)

    @property
    def prompt_cut(self) -> bool:
        """True if the provider counts far fewer tokens than it was sent: its server cuts what is too long for it."""
        counted = self.usage.get("prompt_tokens")
        sent = sum(len(message["content"]) for message in self.debug.get("prompt", ()))
        return bool(counted) and sent > _CHARS_PER_TOKEN * float(counted or 0)

    @property
    def fell_back(self) -> bool:
        return self.failure is not None

    def as_json(self) -> dict[str, Any]:
        """Return JSON values that ``from_json`` can read."""
        return {
            **asdict(self),
            "sources": [source_json(source) for source in self.sources],
            "nearest": _nearest_json(self.nearest),
        }

    def as_reply(self) -> dict[str, Any]:
        """Return what explains the answer, as JSON values: the same for ``kb ask``, ``serve`` and exports."""
        return {
            "outcome": self.outcome,
            "why": self.why,
            "hint": self.hint,
            "tick": self.tick,
            "from_kb": self.from_kb,
            "abstained": self.abstained,
            "evidence": self.evidence,
            "relevance": self.relevance,
            "sources": [source_json(source) for source in self.sources],
            "statements": [
                {**asdict(s), "numbers": list(s.numbers), "text": self.text[s.start : s.end]} for s in self.statements
            ],
            "nearest": _nearest_json(self.nearest),
            "fell_back": self.fell_back,
            "prompt_cut": self.prompt_cut,
            "vectors_share": self.vectors_share,
            "seconds": self.seconds,
            "quality": asdict(self.quality),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> AnswerRecord:
        """Read the values of ``as_json``.

        Raises:
            TypeError, KeyError, ValueError, AttributeError: the value has another form.
        """
        failure = value["failure"]
        record = cls(
            **{
                **value,
                "sources": tuple(_source(item) for item in value["sources"]),
                "statements": tuple(map(_statement, value["statements"])),
                "failure": Failure(**complete(failure, Failure)) if failure else None,
                "nearest": _nearest(value["nearest"]) if value["nearest"] else None,
            }
        )
        require_types(replace(record, debug={}), record.debug)
        return record


def record_of(answer: Answer) -> AnswerRecord:
    """Convert an answer to its record."""
    completion, decision = answer.completion, answer.decision
    return AnswerRecord(
        text=answer.text,
        sources=answer.sources,
        statements=answer.statements,
        mode=answer.mode,
        abstained=answer.abstained,
        from_kb=answer.from_kb,
        failure=answer.failure,
        model=completion.model if completion else "",
        finish_reason=completion.finish_reason if completion else "stop",
        cached=completion.cached if completion else False,
        evidence=round(decision.evidence, 4),
        relevance=decision.relevance,
        decided_by=decision.reason,
        vectors_share=answer.vectors_share,
        search_query=answer.search.query if answer.search.how else "",
        search_how=answer.search.how,
        seconds=round(answer.seconds, 4),
        usage=asdict(completion.usage) if completion else {},
        outcome=answer.outcome,
        why=answer.why,
        nearest=answer.nearest,
        hint=answer.hint,
        average_relevance=average_relevance(answer.trace),
        debug={
            **debug_values(answer.trace),
            "min_evidence": decision.min_evidence,
            "proof": completion.proof if completion else None,
            "relevance": decision.relevance,
            "decided_by": decision.reason,
            "strategy": answer.strategy,
            "fingerprint": answer.fingerprint,
            "prompt": [{"role": message.role, "content": message.content} for message in answer.messages],
            "garbage": answer.garbage,
            "withheld": completion.text if completion and answer.why == "unsupported" else "",
        },
    )


def source_json(source: Source) -> dict[str, Any]:
    """Convert a source to JSON values; offsets are in characters of the source document, pages are from 1.

    ``file`` is None if the files of the knowledge base are not known, ``page`` also for formats without pages.
    ``version`` (number) and ``version_id`` name the version that was cited, ``updated_at`` is when the file's content
    came; 0 and "" if they are not known, as in answers of before there were versions. ``kb_name`` names the knowledge
    base if several were asked.
    """
    chunk = source.chunk
    return {
        "number": source.number,
        "chunk_id": chunk.chunk_id,
        "doc_id": chunk.doc_id,
        "section": chunk.section,
        "file": source.place.file if source.place else None,
        "page": source.place.page if source.place else None,
        "version": source.place.version if source.place else 0,
        "version_id": source.place.version_id if source.place else "",
        "updated_at": source.place.updated_at if source.place else "",
        "kb_name": source.place.kb_name if source.place else "",
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
        "highlights": [list(span) for span in source.highlights],
    }


def _nearest_json(nearest: Nearest | None) -> dict[str, Any] | None:
    if nearest is None:
        return None
    return {**asdict(nearest), "passages": [source_json(source) for source in nearest.passages]}


def _nearest(value: Mapping[str, Any]) -> Nearest:
    return Nearest(
        **{
            **value,
            "passages": tuple(_source(item) for item in value["passages"]),
            "missing": tuple(value["missing"]),
            "did_you_mean": tuple(Suggestion(**item) for item in value["did_you_mean"]),
        }
    )


def _statement(value: Mapping[str, Any]) -> Statement:
    found = complete({**_STATEMENTS_LATER, **value}, Statement)
    told = tuple(Difference(**complete(item, Difference)) for item in found["differences"])
    return Statement(**{**found, "numbers": tuple(found["numbers"]), "differences": told})


def _source(value: Mapping[str, Any]) -> Source:
    chunk = Chunk(value["chunk_id"], value["doc_id"], value["section"], value["text"], value["start"], value["end"])
    place = None
    if value["file"] is not None:
        place = FilePlace(value["file"], value["page"], *(value.get(name, none) for name, none in _ADDED_LATER))
    return Source(value["number"], chunk, tuple((start, end) for start, end in value["highlights"]), place)
