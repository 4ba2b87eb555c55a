"""Section stitching: whose neighbours join, how many, in which order, and what the trace says about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.retrieval.stages.base import Selection
from chatbot_mvp.retrieval.stages.stitching import Stitching
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Document, last
from tests.fakes import FakeEmbedder

SIZE, STEP = 100, 90
"""Length of a chunk, and from one chunk's beginning to the next one's: they share 10 characters."""
WORDS = ["gato", "perro", "luna", "sol", "mar", "rio", "pan", "vino"]


def section(doc: str, name: str, count: int, first: int = 0, at: int = 0) -> list[Chunk]:
    """Chunks ``<doc>:<n>`` of one section; the n-th has the n-th word."""
    return [
        Chunk(f"{doc}:{n}", doc, name, f"{WORDS[n]} ".ljust(SIZE, "x"), at + STEP * n, at + STEP * n + SIZE)
        for n in range(first, first + count)
    ]


CHUNKS = [*section("d", "A", 5), *section("d", "B", 2, first=5), *section("e", "A", 3, first=1)]
BY_ID = {chunk.chunk_id: chunk for chunk in CHUNKS}
HEADING = {"heading_bonus": 0.2}


@pytest.fixture
def index() -> CorpusIndex:
    return CorpusIndex(CHUNKS, LexicalIndex.build(CHUNKS, Analyzer("es")), None)


def stitch(
    index: CorpusIndex,
    settings: Settings,
    final: Mapping[str, Mapping[str, float]],
    budget: int = 10_000,
    query: str = "nada",
    found: tuple[Hit, ...] = (),
) -> RetrievalTrace:
    """Stitch a selection of chunk id -> signals."""
    chosen = tuple(Hit(BY_ID[name], 1.0, signals) for name, signals in final.items())
    used = Selection(index, settings).run(RetrievalTrace(query, hits=chosen)).context_chars_used
    trace = RetrievalTrace(
        query, hits=(*chosen, *found), chunks_final=chosen, context_chars_used=used, context_chars_budget=budget
    )
    return Stitching(index, settings).run(trace)


def ids(trace: RetrievalTrace) -> list[str]:
    return [hit.chunk.chunk_id for hit in trace.chunks_final]


@pytest.mark.parametrize(
    ("signals", "query", "reason"),
    [
        ({"heading_bonus": 0.1}, "nada", "heading"),
        ({"exact_bonus": 0.34}, "nada", "exact"),
        ({"exact_bonus": 0.33}, "nada", None),
        ({}, "gatos", "strong_match"),
        ({"heading_bonus": 0.0, "exact_bonus": 0.0}, "nada", None),
        ({"bm25": 9.0}, "gato submarino", None),
        ({}, "", None),
        ({}, "el de la", None),
    ],
)
def test_only_a_strong_signal_brings_the_section(
    index: CorpusIndex, settings: Settings, signals: dict[str, float], query: str, reason: str | None
) -> None:
    trace = stitch(index, settings, {"d:0": signals}, query=query)
    assert ids(trace) == (["d:0", "d:1", "d:2", "d:3", "d:4"] if reason else ["d:0"])
    assert trace.records[-1].notes == {"strong": {"d:0": reason} if reason else {}, "added": 4 if reason else 0}


def test_a_section_ends_at_its_heading_and_at_its_document(index: CorpusIndex, settings: Settings) -> None:
    """Section A of document e bears the name of the one of document d."""
    assert ids(stitch(index, settings, {"d:5": HEADING})) == ["d:5", "d:6"]
    assert ids(stitch(index, settings, {"e:2": HEADING})) == ["e:2", "e:1", "e:3"]


def test_found_hits_keep_their_places_and_neighbours_follow_hit_by_hit_in_reading_order(
    index: CorpusIndex, settings: Settings
) -> None:
    trace = stitch(index, settings, {"e:2": HEADING, "d:6": {}, "d:2": HEADING})
    assert ids(trace) == ["e:2", "d:6", "d:2", "e:1", "e:3", "d:0", "d:1", "d:3", "d:4"]
    assert trace.chunks_added_by_stitching == ("e:1", "e:3", "d:0", "d:1", "d:3", "d:4")
    assert trace.stitching_added_count == 6


@pytest.mark.parametrize(
    ("budget", "added"),
    [
        # The hit has 100 characters, each neighbour adds 90: the following one first, then the preceding one.
        (100, []),
        (189, []),
        (190, ["d:3"]),
        (280, ["d:1", "d:3"]),
        (370, ["d:1", "d:3", "d:4"]),
        (459, ["d:1", "d:3", "d:4"]),
        (460, ["d:0", "d:1", "d:3", "d:4"]),
    ],
)
def test_the_nearest_neighbours_join_within_the_budget_and_shared_text_counts_once(
    index: CorpusIndex, settings: Settings, budget: int, added: list[str]
) -> None:
    trace = stitch(index, settings, {"d:2": HEADING}, budget=budget)
    assert ids(trace) == ["d:2", *added]
    assert trace.context_chars_used == SIZE + STEP * len(added) <= budget


def test_a_neighbour_that_was_found_already_is_not_added_again_and_does_not_end_the_way(
    index: CorpusIndex, settings: Settings
) -> None:
    trace = stitch(index, settings, {"d:2": HEADING, "d:3": HEADING})
    assert ids(trace) == ["d:2", "d:3", "d:0", "d:1", "d:4"]
    assert trace.context_chars_used == SIZE + 4 * STEP


def test_behind_a_chunk_that_does_not_fit_nothing_is_added_in_that_direction(
    settings: Settings,
) -> None:
    """After the hit stand 500 and then 10 characters: the 10 alone would tear a hole."""
    sizes = [50, 100, 500, 10]
    starts = [0, 50, 150, 650]
    chunks = [
        Chunk(f"c{n}", "d", "A", "x" * size, start, start + size)
        for n, (size, start) in enumerate(zip(sizes, starts, strict=True))
    ]
    hit = Hit(chunks[1], 1.0, HEADING)
    trace = RetrievalTrace("x", hits=(hit,), chunks_final=(hit,), context_chars_used=100, context_chars_budget=200)
    assert ids(
        Stitching(CorpusIndex(chunks, LexicalIndex.build(chunks, Analyzer("es")), None), settings).run(trace)
    ) == [
        "c1",
        "c0",
    ]


def test_only_the_first_three_hits_bring_neighbours(index: CorpusIndex, settings: Settings) -> None:
    assert ids(stitch(index, settings, {"d:0": {}, "d:2": {}, "d:4": {}, "d:5": HEADING})) == [
        "d:0",
        "d:2",
        "d:4",
        "d:5",
    ]


def test_an_added_chunk_is_marked_and_keeps_the_score_that_it_was_found_with(
    index: CorpusIndex, settings: Settings
) -> None:
    trace = stitch(index, settings, {"d:5": HEADING}, found=(Hit(BY_ID["d:6"], 0.3, {"bm25": 2.0}),))
    assert trace.chunks_final[1] == Hit(BY_ID["d:6"], 0.3, {"bm25": 2.0, "stitched": 1.0})
    alone = stitch(index, settings, {"d:5": HEADING})
    assert alone.chunks_final[1] == Hit(BY_ID["d:6"], 0.0, {"stitched": 1.0})


def test_nothing_is_stitched_to_nothing(index: CorpusIndex, settings: Settings) -> None:
    trace = stitch(index, settings, {})
    assert (trace.chunks_final, trace.chunks_added_by_stitching, trace.context_chars_used) == ((), (), 0)


def test_chunks_are_counted_once_where_selection_takes_overlapping_ones(index: CorpusIndex, settings: Settings) -> None:
    hits = tuple(Hit(BY_ID[f"d:{n}"], 1.0) for n in range(4))
    trace = Selection(index, settings.model_copy(update={"kb_max_context_chars": 370})).run(
        RetrievalTrace("x", hits=hits)
    )
    assert (len(trace.chunks_final), trace.context_chars_used) == (4, 370)


PARAGRAPH = "El hospedero apunta cada llegada en el libro de la casa y entrega la llave al viajero que la pide. "


def manual(sections: int) -> str:
    """About 2,600 characters a section; the third one is about the beacon, word by word named only in its beginning."""
    parts = ["# Manual\n"]
    for n in range(sections):
        name = "Faro" if n == 2 else f"Cuaderno {n}"
        first = "El farero enciende la linterna al anochecer.\n\n" if n == 2 else ""
        parts.append(f"## {name}\n\n{first}" + "\n\n".join(PARAGRAPH * 4 for _ in range(6)) + "\n")
    return "\n".join(parts)


@pytest.mark.parametrize(
    ("sections", "changes", "budget"),
    [(3, {}, 4_000), (20, {}, 6_000), (20, {"kb_max_context_chars": 4_000}, 4_000)],
    ids=["small", "large", "large, but set by the user"],
)
def test_the_pipeline_stitches_a_knowledge_base_within_the_budget_of_its_size(
    settings: Settings, sections: int, changes: dict[str, Any], budget: int
) -> None:
    document = Document("kb", "Manual", manual(sections))
    changed = settings.with_changes(retrieval_strategy="LEXICAL", **{"kb_top_k": 1, **changes})
    pipeline = last(growing_pipeline(chunk_document(document), "es", changed, FakeEmbedder))
    trace = pipeline.retrieve(["¿Cuándo enciende el farero la linterna?"])[0]
    assert trace.chunks_final[0].chunk.section == "Faro"
    assert trace.context_chars_budget == budget
    assert 0 < trace.context_chars_used <= budget
    assert trace.chunks_added_by_stitching
    assert {hit.chunk.section for hit in trace.chunks_final if "stitched" in hit.signals} == {"Faro"}
    covered = {at for hit in trace.chunks_final for at in range(hit.chunk.start, hit.chunk.end)}
    assert trace.context_chars_used == len(covered)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (4_000, 6_000)),
        ({"KB_MAX_CONTEXT_CHARS": "4000"}, (4_000, 4_000)),
        ({"KB_MAX_CONTEXT_CHARS": "9000"}, (9_000, 9_000)),
        ({"KB_MAX_CONTEXT_CHARS": "3000", "KB_LARGE_CONTEXT_CHARS": "7000"}, (3_000, 7_000)),
        ({"KB_LARGE_CONTEXT_CHARS": "7000"}, (4_000, 7_000)),
    ],
)
@pytest.mark.parametrize("where", ["environment", ".env"])
def test_a_budget_that_the_user_set_holds_for_large_knowledge_bases_too(
    clean_env: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    expected: tuple[int, int],
    where: str,
) -> None:
    if where == ".env":
        (clean_env / ".env").write_text("".join(f"{name}={value}\n" for name, value in environment.items()), "utf-8")
    else:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
    settings = load_settings()
    assert (settings.kb_max_context_chars, settings.kb_large_context_chars) == expected
    recorded = load_settings().with_changes(kb_max_context_chars=5_000, kb_large_context_chars=8_000)
    again = settings.with_recorded(recorded.model_dump(mode="json"))
    assert (again.kb_max_context_chars, again.kb_large_context_chars) == (5_000, 8_000)
