"""A part of a knowledge base is searched as a knowledge base of its documents alone, with the weights of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.kb_files import join_sources
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.part.index import Spans
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages.kb_cosines import window_cosines
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, Document, last
from tests.fakes import FakeEmbedder

STRATEGIES = ("LEXICAL", "SIMPLE_VECTOR", "HYBRID", "BRIDGE", "BRIDGE_HYBRID", "KB_CHAT", "RAG_V2")
WORDS = "faro puerto barco vela ancla viento marea costa isla nudo casa 1234 expediente Ángela".split()

_SENTENCE = st.lists(st.sampled_from(WORDS), min_size=2, max_size=7).map(lambda words: " ".join(words).capitalize())
_PARAGRAPH = st.lists(_SENTENCE, min_size=1, max_size=3).map(lambda found: ". ".join(found) + ".")
_SECTION = st.tuples(st.sampled_from(WORDS), st.lists(_PARAGRAPH, min_size=1, max_size=3)).map(
    lambda pair: f"## {pair[0].capitalize()}\n\n" + "\n\n".join(pair[1])
)
_DOCUMENT = st.lists(_SECTION, min_size=1, max_size=3).map("\n\n".join)
_QUESTION = st.lists(st.sampled_from((*WORDS, "faor", "ventana", "¿qué")), min_size=1, max_size=6).map(" ".join)


class Cut:
    """A ``LexicalSearch`` that ranks everything, leaves out what is not in the part, and cuts last."""

    def __init__(self, whole: CorpusIndex, part: Sequence[Chunk], own: CorpusIndex) -> None:
        self.analyzer, self._whole, self._own = whole.lexical.analyzer, whole, own
        self._row = {chunk.chunk_id: row for row, chunk in enumerate(part)}

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        ranked = self._whole.lexical.search(query, len(self._whole.chunks))
        ids = [(self._whole.chunks[row].chunk_id, score) for row, score in ranked]
        return [(self._row[name], score) for name, score in ids if name in self._row][:limit]

    def document_frequency(self, term: str) -> int:
        return self._own.lexical.document_frequency(term)


def grown(chunks: Sequence[Chunk], config: Settings) -> Pipeline:
    return last(growing_pipeline(chunks, "es", config, lambda: FakeEmbedder(), kb_id="kb"))


def exact(strategy: str, folder: Path) -> Settings:
    """The settings of a strategy that compares all vectors, in memory."""
    return Settings(_env_file=None, data_dir=folder, retrieval_strategy=strategy, vector_store="exact")  # type: ignore[call-arg]


def joined(texts: Sequence[str]) -> tuple[list[Chunk], list[tuple[int, int]]]:
    """The chunks of some documents, and the span of each document."""
    parsed = [(f"d{row}.md", ParsedText(text, "utf-8", len(text), False)) for row, text in enumerate(texts)]
    text, files = join_sources(parsed, 1_000_000)
    ends = [0, *(file.end for file in files)]
    return chunk_document(Document("kb", "kb", text), 400), list(pairwise(ends))


def named(spans: Sequence[tuple[int, int]]) -> Spans:
    return tuple(("kb", *span) for span in spans)


def reference(whole: Pipeline, part: Sequence[Chunk], config: Settings) -> Pipeline:
    """A pipeline built of the chunks of the part alone, with the weights of words that the whole has."""
    built = grown(part, config)
    index, every = built.index, whole.index
    assert index.kb is not None
    assert every.kb is not None
    own, all_of = index.kb.matcher, every.kb.matcher
    for name in ("terms", "searched", "window_terms", "grams"):
        getattr(own, name).idf = getattr(all_of, name).idf
    own.pairs.numbers_after = all_of.pairs.numbers_after  # type: ignore[method-assign]
    row_of = {passage.start: row for row, passage in enumerate(all_of.passages)}
    rows = [row_of[passage.start] for passage in own.passages]
    own._norm = own._searched_norm = all_of._norm[rows]
    changed = replace(index, lexical=Cut(every, index.chunks, index))
    for name, value in (("idf", every.idf), ("source_chars", every.source_chars)):
        object.__setattr__(changed, name, value)
    return Pipeline(changed, config)


def shown(trace: RetrievalTrace) -> list[object]:
    hits = [(hit.chunk, round(hit.score, 5)) for hit in trace.hits]
    final = [(hit.chunk, round(hit.score, 5)) for hit in trace.chunks_final]
    added = (trace.query_expanded, trace.expansion_notes, trace.chunks_added_by_stitching)
    return [hits, final, added, trace.context_chars_used, trace.context_chars_budget]


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=max(10, settings().max_examples // 4))
@given(
    texts=st.lists(_DOCUMENT, min_size=2, max_size=5),
    flags=st.lists(st.booleans(), min_size=5, max_size=5),
    questions=st.lists(_QUESTION, min_size=1, max_size=3),
)
def test_a_filtered_search_is_the_search_of_its_documents_with_the_weights_of_the_whole(
    strategy: str, tmp_path_factory: pytest.TempPathFactory, texts: list[str], flags: list[bool], questions: list[str]
) -> None:
    config = exact(strategy, tmp_path_factory.getbasetemp() / "part")
    chunks, spans = joined(texts)
    kept = [span for span, wanted in zip(spans, flags, strict=False) if wanted] or spans[:1]
    whole = grown(chunks, config)
    limited = whole.within(named(kept))
    part = [one for one in chunks if any(start <= one.start and one.end <= end for start, end in kept)]
    assert limited is not None
    expected = reference(whole, part, config)
    for found, alone in zip(limited.retrieve(questions), expected.retrieve(questions), strict=True):
        assert shown(found) == shown(alone)
        if strategy in ("LEXICAL", "BRIDGE", "KB_CHAT", "RAG_V2", "SIMPLE_VECTOR"):
            assert (found.evidence, found.topic) == pytest.approx((alone.evidence, alone.topic))
        for hit in (*found.hits, *found.chunks_final, *(hit for hits in found.candidates.values() for hit in hits)):
            assert any(start <= hit.chunk.start and hit.chunk.end <= end for start, end in kept)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_chunk_is_of_one_document_and_all_documents_are_the_whole(strategy: str, tmp_path: Path) -> None:
    chunks, spans = joined(["Un texto.", "Otro texto.\n\nCon dos párrafos.", "# Uno\n\nEl último."])
    for chunk in chunks:
        assert sum(start <= chunk.start and chunk.end <= end for start, end in spans) == 1
    whole = grown(chunks, exact(strategy, tmp_path))
    assert whole.within(named(spans)) is whole
    assert whole.within(()) is None
    assert whole.within(named([(1, 2)])) is None
    assert whole.within(tuple(("another", *span) for span in spans)) is None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_document_of_a_thousand_is_found_as_surely_as_among_few(strategy: str, tmp_path: Path) -> None:
    many = [f"El faro número {row} abre el puerto de la isla a las nueve. El barco sale." for row in range(1_000)]
    many[713] = "El barco de la isla lleva una vela."
    chunks, spans = joined(many)
    whole = grown(chunks, exact(strategy, tmp_path))
    limited = whole.within(named([spans[713]]))
    assert limited is not None
    for question in ("¿A qué hora abre el puerto de la isla?", "barco de la isla"):
        [trace] = limited.retrieve([question])
        assert {hit.chunk.text for hit in trace.hits} <= {limited.index.chunks[0].text}
        assert [hit.chunk for hit in trace.chunks_final] == [limited.index.chunks[0]], question


def test_the_cosines_of_a_part_are_those_of_the_whole_and_so_is_their_spread(tmp_path: Path) -> None:
    chunks, spans = joined([f"El {word} de la isla. El {other}." for word in WORDS[:8] for other in WORDS[:5]])
    whole = grown(chunks, exact("HYBRID", tmp_path))
    limited = whole.within(named(spans[:1]))
    assert limited is not None
    [every], [own] = whole.retrieve(["el faro de la isla"]), limited.retrieve(["el faro de la isla"])
    cosines = window_cosines(every, whole.index.dense)
    assert cosines is not None
    usual = (cosines.max() - cosines.mean()) / cosines.std()
    own_best = window_cosines(own, limited.index.dense)
    assert own_best is not None
    judged = own.records[-1].notes
    assert judged["cosine_z"] == pytest.approx((own_best.max() - cosines.mean()) / cosines.std(), abs=1e-3)
    assert judged["cosine_z"] <= usual + 1e-3
    assert np.isin(own_best, cosines).all()
