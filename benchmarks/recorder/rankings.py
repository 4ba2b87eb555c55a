"""Rankings: every strategy and preset over knowledge bases and data sets, with the scores of each signal and stage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.recorder.facts import JSON, Fact, Place
from benchmarks.recorder.sources import EVERYDAY, Asked, Base, bases, kb_of, open_app, some
from benchmarks.script import SAMPLES
from chatbot_mvp.app import App
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import chunk_document, passage_chunk
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.late_interaction import LateInteraction
from chatbot_mvp.retrieval.strategies import STRATEGIES, get_strategy
from chatbot_mvp.retrieval.systems import DEFAULT, SYSTEMS
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.types import Chunk, Document, last

HITS, OTHERS = 3, 9
"""Hits with all their signals, and hits of which those behind have their scores alone."""
SAMPLED = ("LEXICAL", "BRIDGE_HYBRID", "KB_CHAT", "RAG_V2", "HYBRID weighted, reranked")
_WEIGHTED = {"retrieval_strategy": "HYBRID", "retrieval_fusion": "weighted", "reranker_enabled": True}
_PLAIN = {"retrieval_strategy": "BRIDGE_HYBRID", "retrieval_expansion": False, "retrieval_stitching": False}
_OF_MODEL = {"retrieval_strategy": "HYBRID", "query_expansion_llm": True, "retrieval_fusion": "rrf"}


def searches() -> dict[str, Mapping[str, Any]]:
    """Return name -> settings of each strategy, each preset, and of some choices that no preset makes."""
    return {
        **{name: {"retrieval_strategy": name} for name in STRATEGIES},
        **{name: system.changes for name, system in SYSTEMS.items() if name != DEFAULT},
        "HYBRID weighted, reranked": _WEIGHTED,
        "HYBRID with words of a model": _OF_MODEL,
        "BRIDGE_HYBRID plain": _PLAIN,
    }


def facts(place: Place) -> Iterator[Fact]:
    app = open_app(place.work / "data")
    chosen = {name: changes for name, changes in searches().items() if not place.sample or name in SAMPLED}
    for base in bases(place):
        if base.name == "handbook" or not (place.sample or base.shared):
            kb_id = kb_of(app, base)
            yield from _of_corpus(base, _by_kb(app, kb_id), chosen, place, kb_id)
    for base, language, chunks in _data_sets(place):
        yield from _of_corpus(base, _by_chunks(app, language, chunks), chosen, place)


def _by_kb(app: App, kb_id: str) -> Callable[[Mapping[str, Any]], Pipeline]:
    return lambda changes: app.kbs.pipeline(kb_id, search=tuple(changes.items()))


def _by_chunks(app: App, language: str, chunks: Sequence[Chunk]) -> Callable[[Mapping[str, Any]], Pipeline]:
    factory = app.run_parts.factory
    return lambda changes: last(factory.grow(chunks, language, app.settings.with_changes(**changes)))


def _of_corpus(
    base: Base,
    build: Callable[[Mapping[str, Any]], Pipeline],
    chosen: Mapping[str, Mapping[str, Any]],
    place: Place,
    kb_id: str = "",
) -> Iterator[Fact]:
    asked = some(some(base.questions, 10), 5 if place.sample else 7)
    for name, changes in chosen.items():
        strategy = get_strategy(changes["retrieval_strategy"])
        late = LateInteraction in strategy.stages
        like = "late" if late else "ranking" if strategy.needs_vectors else "equal"
        for question, trace in zip(asked, build(changes).retrieve([one.text for one in asked]), strict=True):
            value = told(trace, base.shared)
            if kb_id:  # made from the content and the time
                value = json.loads(json.dumps(value).replace(kb_id, base.name))
            yield Fact(f"rankings/{base.name}/{name}/{question.id}", value, like, base.shared)


def _data_sets(place: Place) -> Iterator[tuple[Base, str, list[Chunk]]]:
    """Yield the sample, passages of everyday texts, and samples of ../shared, each with its language and passages."""
    sets = [("valle", SAMPLES / "valle_multihop", "es", False)]
    if place.shared is not None:
        sets += [(name, place.shared / name, "en", True) for name in ("hotpotqa",) if not place.sample]
    for name, folder, language, shared in sets:
        found = load_dataset(folder)
        asked = some([Asked(query.query_id, query.text) for query in found.queries], 10)
        relevant = {doc for one in asked for doc in found.qrels.get(one.id, ())}
        documents = [one for at, one in enumerate(found.documents) if one.doc_id in relevant or at < 30]
        yield Base(name, (), tuple(asked), shared), language, [passage_chunk(document) for document in documents]
    if not place.sample:
        english = [EVERYDAY / f"{name}_en.md" for name in ("allotments", "fernlog")]
        chunks = [
            chunk for path in english for chunk in chunk_document(Document(path.stem, path.stem, path.read_text()))
        ]
        asked = [one for base in bases(place) if base.name == "english" for one in base.questions]
        yield Base("gardens", (), tuple(asked)), "en", chunks


def told(trace: RetrievalTrace, shared: bool) -> JSON:
    """Return what a search found; of shared texts no words."""
    return {
        "hits": [[hit.chunk.chunk_id, _short(hit.score), _signals(hit.signals)] for hit in trace.hits[:HITS]],
        "others": [[hit.chunk.chunk_id, _short(hit.score)] for hit in trace.hits[HITS:OTHERS]],
        "final": [[hit.chunk.chunk_id, _short(hit.score)] for hit in trace.chunks_final],
        "retrieved": [hit.chunk.chunk_id for hit in trace.retrieved[:3]] if trace.hits_before_rerank else [],
        "stitched": trace.stitching_added_count,
        "chars": [trace.context_chars_used, trace.context_chars_budget],
        "evidence": trace.evidence,
        "topic": trace.topic,
        "notes": len(trace.expansion_notes) if shared else list(trace.expansion_notes),
        "query": "" if shared else trace.query_expanded,
        "stages": [
            [record.stage, {key: _plain(value, shared) for key, value in record.notes.items()}]
            for record in trace.records
        ],
    }


def _plain(value: Any, shared: bool) -> JSON:
    if isinstance(value, int | float) or value is None:
        return _short(value)
    return len(str(value)) if shared else str(value)


def _signals(signals: Mapping[str, float]) -> JSON:
    return {name: _short(value) for name, value in sorted(signals.items())}


def _short(value: Any) -> Any:
    """Return a number with the digits that a ranking is compared by."""
    return float(f"{value:.7g}") if isinstance(value, float) else value
