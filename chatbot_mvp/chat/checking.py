"""Check any text against passages, sentence by sentence, with the check of the chat's answers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.citations import find_sources
from chatbot_mvp.chat.claims.alignment import Idf
from chatbot_mvp.chat.verification import Statement, with_nearest
from chatbot_mvp.documents.chunking import chunk_document, passage_chunk
from chatbot_mvp.documents.languages import PARAGRAPH_WORDS, clear_language, tally
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.storage.json_object import InvalidJson, parse_json
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk, Document

_READ = 8
"""Passages of an index that a sentence is compared with at most, before the check takes the likeliest of them."""
_CITATION = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")

Where = Callable[[Chunk, int], Mapping[str, Any]]
"""(passage, offset in its document) -> how the place is named."""


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text with its sentences, as JSON values: what ``Statement`` has and, in ``found``, the place."""

    statements: tuple[dict[str, Any], ...]

    @property
    def supported(self) -> bool:
        """True if there is a sentence, and each is supported; ``ticked`` likewise."""
        return bool(self.statements) and all(one["supported"] for one in self.statements)

    @property
    def ticked(self) -> bool:
        return bool(self.statements) and all(one["tick"] for one in self.statements)

    @property
    def score(self) -> float:
        """Support of the least supported sentence, 0-1; 0 without any."""
        return min((float(one["score"]) for one in self.statements), default=0.0)

    def as_json(self) -> dict[str, Any]:
        return {
            "supported": self.supported,
            "tick": self.ticked,
            "score": self.score,
            "statements": list(self.statements),
        }


def check(text: str, passages: Sequence[Chunk], analyzer: Analyzer, idf: Idf, where: Where) -> CheckedText:
    """Check a text against passages. Citations in it are not read: any passage may support any sentence."""
    plain = _CITATION.sub(lambda found: " " * len(found[0]), text)
    rows = with_nearest(plain, passages, analyzer, idf)
    return CheckedText(tuple(_shown(plain, one, passages, best, analyzer, where) for one, best in rows))


def check_in_index(text: str, index: CorpusIndex, where: Where) -> CheckedText:
    """Check a text against the passages of an index that have most of the words of its sentences."""
    rows: dict[int, None] = {}
    for start, end in sentences(text):
        rows.update(dict.fromkeys(row for row, _ in index.lexical.search(text[start:end], _READ)))
    return check(text, [index.chunks[row] for row in sorted(rows)], index.analyzer, index.idf, where)


def check_in_base(text: str, kbs: KnowledgeBases, kb_id: str) -> CheckedText:
    """Check a text against the current version of a knowledge base.

    Raises:
        KbNotFound, KbUnreadable
    """
    places = kbs.places(kb_id, kbs.store.record(kb_id).version)

    def where(_: Chunk, offset: int) -> dict[str, Any]:
        place = places.at(offset)
        return {"file": place.file if place else None, "page": place.page if place else None}

    return check_in_index(text, kbs.growing(kb_id).best().index, where)


def index_of(documents: Mapping[str, ParsedText], language: str) -> CorpusIndex:
    """Return an index, in memory, of the words of documents, path -> text. Their passages' ``doc_id`` is the path."""
    chunks = [
        chunk for path, parsed in documents.items() for chunk in chunk_document(Document(path, path, parsed.text))
    ]
    words = growing_index(chunks, language, Path(), None, store=VectorStoreChoice(owner="check"))
    return next(iter(words))


def place_in(documents: Mapping[str, ParsedText]) -> Where:
    """Return how places in these documents are named: by file and, if the format has pages, by page."""

    def where(chunk: Chunk, offset: int) -> dict[str, Any]:
        starts = documents[chunk.doc_id].page_starts
        return {"file": chunk.doc_id, "page": bisect_right(starts, offset) or None if starts else None}

    return where


def language_of(text: str, otherwise: str = "es") -> str:
    """Return the language of a text, "es" or "en"; ``otherwise`` if it is not clear."""
    return clear_language(tally(text), PARAGRAPH_WORDS) or otherwise


def check_pairs(lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield, for each line with ``{id, text, sources}``, (its number from 1, the result or what is wrong with it).

    Each line stands for itself: words of its sources weigh the same. Blank lines are passed over.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _pair(line)


def _pair(line: str) -> dict[str, Any] | str:
    try:
        found = parse_json(line)
    except InvalidJson as error:
        return f"it is not JSON: {error}"
    if not isinstance(found, dict) or not isinstance(found.get("id"), str | int):
        return "it must be an object with 'id', a text or a number"
    text, sources = found.get("text"), found.get("sources")
    if not isinstance(text, str):
        return "'text' must be a text"
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        return "'sources' must be a list of texts"
    language = language_of(" ".join([text, *sources]))
    passages = [passage_chunk(Document(str(number), "", source)) for number, source in enumerate(sources, 1)]
    checked = check(text, passages, Analyzer(language), lambda _: 1.0, lambda chunk, _: {"source": int(chunk.doc_id)})
    return {"id": found["id"], **checked.as_json()}


def _shown(
    text: str, statement: Statement, passages: Sequence[Chunk], best: int, analyzer: Analyzer, where: Where
) -> dict[str, Any]:
    """Return a sentence as JSON values. A place is named if the sentence is found there, or said otherwise."""
    said = text[statement.start : statement.end]
    found = None
    if best and (statement.supported or statement.differences):
        chunk = passages[best - 1]
        source = next(iter(find_sources(f"{said} [1]", [chunk], analyzer)))
        start, end = source.highlights[0] if source.highlights else (chunk.start, chunk.end)
        quoted = chunk.text[start - chunk.start : end - chunk.start]
        found = {**where(chunk, start), "section": chunk.section, "start": start, "end": end, "text": quoted}
    return {
        "text": said,
        "start": statement.start,
        "end": statement.end,
        "supported": statement.supported,
        "tick": statement.ticked,
        "score": statement.score,
        "found": found,
        "differences": [asdict(one) for one in statement.differences],
    }
