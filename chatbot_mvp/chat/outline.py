"""An outline of what the documents say, for a question that asks for a summary; a model summarises the same passages.

The outline is the beginning of each section, as it stands there: the sections whose headings or file the question
names, or all of them. A model gets those sections whole, in as many requests as they need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from chatbot_mvp.chat.citations import clean_citations
from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.prompting import grounded_messages
from chatbot_mvp.knowledge_base.places import Places
from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion, Quote, Usage
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.trace import Hit
from chatbot_mvp.text import STOP_WORDS, fold, sentences
from chatbot_mvp.types import Chunk

_REQUEST = re.compile(
    r"(?:(?:por favor|puedes?|podrias?|quiero|quisiera|necesito|dame|deme|haz(?:me)?|haga(?:me)?|hacer(?:me)?|"
    r"dar(?:me)?|me|un|una|el|la|los|las|breve|cuales son|"
    r"please|can|could|you|give|make|write|i|need|want|us|a|an|the|short|brief|what are) )*"
    r"(?:resum\w*|sintesis|sintetiza\w*|(?:puntos|ideas) (?:clave|principales)|de que (?:tratan?|van?|hablan?)|"
    r"summar\w+|overview|(?:key|main) (?:points|ideas)|tl dr|tldr)\b(?P<about>.*)|"
    r"what (?:is|are) (?P<what>(?:this|the|these|that) .*)\babout"
)
_THE_WHOLE = frozenset(
    """por favor please documento documentos texto textos archivo archivos fichero ficheros base conocimiento pdf
    contenido todo toda todos apartado seccion capitulo document documents text texts file files content knowledge
    everything all section chapter""".split()
).union(*(map(fold, words) for words in STOP_WORDS.values()))
"""Words that name no document."""
_POINTS = frozenset("eso esto anterior ello that it lo previous".split())
_LIST = re.compile(r"[-*+•|] ?|\d+[.)] |[^\n.]+:\s*\n\s*(?:[-*+•]|\d+[.)]) ")
_MARKUP = re.compile(r"[][*_`<>|$~#]")
_HEADINGS = 2
"""Headings that name a section: its own, and the one above."""
_MOST_SECTIONS = 12
_MOST_PARTS = 6
_MOST_PASSAGES = 99
"""A citation has two digits."""
_MOST_CHARS = 1_500
"""Characters that are quoted, shared by the sections; each has its first sentence at least, and of a list a fifth."""
_SAYS = {
    "es": ("Un esquema: cómo empieza cada apartado.", "Lo que dice este apartado:"),
    "en": ("An outline: how each section begins.", "What this section says:"),
}
_MORE = {"es": "Y {count} documentos más: pregunte por uno.", "en": "And {count} more documents: ask about one."}


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections that a question asks a summary of."""

    sections: tuple[tuple[str, tuple[Chunk, ...]], ...]
    """(heading, its chunks in the order of the text), at most twelve: of more, those under one heading are joined."""

    budget: int
    """Characters of passages in one request to a model."""
    left_out: int = 0
    """Documents behind the twelfth."""

    def search_of(self, search: Search) -> Search:
        """Return a search as if it had found the chunks to summarise: all that six requests hold, else the first ones
        of the sections."""
        chunks = [chunk for _, chunks in self.sections for chunk in chunks]
        if len(chunks) > _MOST_PASSAGES or sum(len(chunk.text) for chunk in chunks) > _MOST_PARTS * self.budget:
            chunks = [chunks[0] for _, chunks in self.sections]
        found = {hit.chunk.chunk_id: hit for hit in search.trace.hits}
        final = tuple(found.get(chunk.chunk_id, Hit(chunk, 0.0)) for chunk in chunks)
        used = sum(len(chunk.text) for chunk in chunks)
        trace = replace(search.trace, chunks_final=final, chunks_added_by_stitching=(), context_chars_used=used)
        return replace(search, trace=trace)

    def quoted(self, passages: Sequence[Chunk], language: str) -> Completion:
        """Return the outline as the built-in model's reply about ``passages``."""
        numbers = {chunk.chunk_id: number for number, chunk in enumerate(passages, 1)}
        alone = len(self.sections) == 1
        lines, quotes = [_SAYS[language][alone]], list[Quote]()
        for heading, chunks in self.sections:
            for chunk in chunks if alone else chunks[:1]:
                named = set(map(_plain, chunk.section.split(" > ")))  # in a text without marks, headings are lines
                spans = [
                    (start, end)
                    for start, end in sentences(chunk.text)
                    if not chunk.text.startswith("#", start) and _plain(chunk.text[start:end]) not in named
                ]
                if not spans or (number := numbers.get(chunk.chunk_id)) is None:
                    continue
                start, end = spans[0]
                is_list = _LIST.match(chunk.text, start)  # its first item alone says nothing
                most = max(_MOST_CHARS // len(self.sections), _MOST_CHARS // 5 if is_list else 0)
                end = max([end, *(to for _, to in spans if to - start <= most)])
                end = min(end, start + _MOST_CHARS)
                quotes.append(Quote(number, start, end))
                title = "" if alone else f"**{_MARKUP.sub('', heading)}**" + ("\n\n" if is_list else ": ")
                lines.append(f"{title}{chunk.text[start:end]} [{number}]")
                if alone and sum(quote.end - quote.start for quote in quotes) >= _MOST_CHARS:
                    break
        if self.left_out:
            lines.append(_MORE[language].format(count=self.left_out))
        return Completion("\n\n".join(lines), "demo", 0.0, usage=Usage(cost_usd=0.0), quotes=tuple(quotes))


def outline_of(question: str, index: CorpusIndex, places: Places, budget: int) -> Outline | None:
    """Return the sections that a question asks a summary of; None if it asks none, or of something no heading names."""
    plain = _plain(question)
    request = _REQUEST.fullmatch(plain)
    if request is None or _POINTS & set(plain.split()):
        return None
    about = request["about"] or request["what"] or ""
    terms = set(index.analyzer.terms(" ".join(word for word in about.split() if word not in _THE_WHOLE)))
    sections: dict[tuple[str, ...], list[Chunk]] = {}
    for chunk in index.chunks:
        place = places.at(chunk.end - 1)  # a title that a file has no heading for stands before its place
        sections.setdefault((place.file if place else chunk.doc_id, *chunk.section.split(" > ")), []).append(chunk)
    if terms:
        named = {path: terms & set(index.analyzer.terms(re.sub(r"[\W_]+", " ", " ".join(path)))) for path in sections}
        most = max(map(len, named.values()), default=0)
        sections = {path: chunks for path, chunks in sections.items() if len(named[path]) == most}
        if not most or terms - set().union(*(named[path] for path in sections)):
            return None
    for depth in range(max(map(len, sections), default=0), 0, -1):
        joined: dict[tuple[str, ...], list[Chunk]] = {}
        for path, chunks in sections.items():
            joined.setdefault(path[:depth], []).extend(chunks)
        if len(joined) <= _MOST_SECTIONS or depth == 1:
            kept = list(joined.items())[:_MOST_SECTIONS]
            shortest = min(len(path) for path, _ in kept) - 1
            common = next((at for at in range(shortest) if len({path[at] for path, _ in kept}) > 1), shortest)
            heading = {path: " › ".join(path[max(common, len(path) - _HEADINGS) :]) for path, _ in kept}
            return Outline(
                tuple((heading[path], tuple(chunks)) for path, chunks in kept),
                budget,
                len(joined) - len(kept),
            )
    return None


_Numbers = tuple[int, int]
"""Of a part: passages in the parts before it, and its own."""
_Part = tuple[_Numbers, ChatRequest]


class InParts:
    """A model that is asked about the passages of a request part by part; its replies are joined."""

    needs_evidence = False

    def __init__(self, model: ChatModel, question: str, language: str, passages: Sequence[Chunk], budget: int) -> None:
        """``budget``: characters of passages in one request, as far as one passage has no more."""
        self.name = model.name
        self._model = model
        self._question, self._language = question, language
        self._parts: list[tuple[int, list[Chunk]]] = []
        left = 0
        for before, chunk in enumerate(passages):
            if len(chunk.text) > left:
                self._parts.append((before, []))
                left = budget
            self._parts[-1][1].append(chunk)
            left -= len(chunk.text)

    def complete(self, request: ChatRequest) -> Completion:
        return _joined([(numbers, self._model.complete(part)) for numbers, part in self._requests(request)])

    def stream(self, request: ChatRequest) -> ChatStream:
        return _PartsStream(self._model, list(self._requests(request)))

    def _requests(self, request: ChatRequest) -> Iterator[_Part]:
        for before, chunks in self._parts:
            messages = grounded_messages(self._question, chunks, self._language, ())
            yield (before, len(chunks)), replace(request, messages=messages)


class _PartsStream:
    """A ``ChatStream`` that yields the reply about each part when it is complete."""

    def __init__(self, model: ChatModel, parts: Sequence[_Part]) -> None:
        self._model, self._parts = model, parts
        self._done: list[tuple[_Numbers, Completion]] = []
        self._now: ChatStream | None = None
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        for numbers, part in self._parts:
            if self._closed:
                return
            said = len(self.completion.text) if self._done else 0
            self._now = self._model.stream(part)
            for _ in self._now:
                pass
            self._done.append((numbers, self._now.completion))
            yield self.completion.text[said:]

    @property
    def completion(self) -> Completion:
        if not self._done:
            return Completion("", self._model.name, 0.0, "cancelled")
        joined = _joined(self._done)
        return joined if len(self._done) == len(self._parts) else replace(joined, finish_reason="cancelled")

    def close(self) -> None:
        self._closed = True
        if self._now is not None:
            self._now.close()


def _joined(replies: Sequence[tuple[_Numbers, Completion]]) -> Completion:
    """Return replies as one, whose citations count the passages of all."""
    texts = []
    for (before, count), reply in replies:
        text = clean_citations(reply.text, count)
        texts.append(re.sub(r"\[(\d{1,2})\]", partial(_shifted, before), text))
    whole = [reply for _, reply in replies]
    counted = [
        [getattr(one.usage, name) for one in whole] for name in ("prompt_tokens", "completion_tokens", "cost_usd")
    ]
    usage = Usage(*(None if None in found else sum(found) for found in counted))
    return replace(
        whole[-1],
        text="\n\n".join(filter(None, texts)),
        seconds=sum(one.seconds for one in whole),
        finish_reason=next((one.finish_reason for one in whole if one.finish_reason != "stop"), "stop"),
        usage=usage,
        cached=all(one.cached for one in whole),
    )


def _shifted(by: int, mark: re.Match[str]) -> str:
    return f"[{int(mark[1]) + by}]"


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(text)))
