"""Selection by an absolute score, and stitching of a strong section before the context is filled up."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.kb_chat.context import KbChatSelection, KbChatStitching, cut, is_strong
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import Chunk, Document
from tests.retrieval.stages.kb_chat.handbook import kb_chunks, pipeline_over

SIZE = 100
WORDS = ["gato", "perro", "luna", "sol", "mar", "rio", "pan"]
PIECES = [*(("A", f"{word} ".ljust(SIZE, "x")) for word in WORDS[:5]), ("B", "vino ".ljust(SIZE, "y"))]
STRONG = {"strong_match": 1.0}


@pytest.fixture
def pipeline(settings: Settings) -> Pipeline:
    return pipeline_over(kb_chunks(PIECES), settings)


def selected(pipeline: Pipeline, hits: list[Hit], **changes: float) -> list[str]:
    config = pipeline.config.model_copy(update=changes)
    trace = KbChatSelection(pipeline.index, config).run(RetrievalTrace("gato", hits=tuple(hits)))
    return [hit.chunk.chunk_id for hit in trace.chunks_final]


def stitched(pipeline: Pipeline, final: dict[int, tuple[float, dict[str, float]]], budget: int) -> RetrievalTrace:
    """Fill the context with the chunks of some rows, each with its score and signals."""
    config = pipeline.config.model_copy(update={"kb_max_context_chars": budget})
    hits = tuple(Hit(pipeline.index.chunks[row], score, signals) for row, (score, signals) in final.items())
    return KbChatStitching(pipeline.index, config).run(RetrievalTrace("gato", hits=hits, chunks_final=hits))


def rows(trace: RetrievalTrace) -> list[int]:
    return [int(hit.chunk.chunk_id.partition(":")[2]) for hit in trace.chunks_final]


def test_the_minimum_score_is_absolute_and_the_best_hit_needs_it_too(pipeline: Pipeline) -> None:
    chunks = pipeline.index.chunks
    hits = [Hit(chunk, score) for chunk, score in zip(chunks, (0.3, 0.12, 0.119, 0.05), strict=False)]
    assert selected(pipeline, hits, kb_min_score=0.12) == ["d:00", "d:01"]
    assert selected(pipeline, hits, kb_min_score=0.31) == []
    assert selected(pipeline, hits, kb_min_score=0.0, kb_top_k=3) == ["d:00", "d:01", "d:02"]


def test_after_a_reranker_the_minimum_is_compared_with_the_score_before(pipeline: Pipeline) -> None:
    one, other = pipeline.index.chunks[:2]
    hits = [Hit(one, -4.0, {"before_rerank": 0.2}), Hit(other, -7.0, {"before_rerank": 0.1})]
    assert selected(pipeline, hits, kb_min_score=0.12) == ["d:00"]


def test_a_chunk_is_selected_once(pipeline: Pipeline) -> None:
    one, other = pipeline.index.chunks[:2]
    hits = [Hit(one, 0.9), Hit(one, 0.1), Hit(other, 0.7)]
    assert selected(pipeline, hits, kb_top_k=2) == ["d:00", "d:01"]
    stage = KbChatSelection(pipeline.index, pipeline.config.with_changes(kb_top_k=2, kb_min_score=0.0))
    trace, _ = stage.apply(RetrievalTrace("q", hits=tuple(hits)))
    assert [hit.score for hit in trace.chunks_final] == [0.9, 0.7], "the first hit of a chunk counts"


@pytest.mark.parametrize(
    ("score", "signals", "strong"),
    [
        (0.0, {"strong_match": 1.0}, True),
        (0.16, {"heading_bonus": 0.01}, True),
        (0.16, {"exact_bonus": 0.06}, True),
        (0.159, {"heading_bonus": 0.2, "exact_bonus": 0.1}, False),
        (1.4, {"bm25_norm": 1.0, "overlap_norm": 1.0, "fuzzy_bonus": 0.1}, False),
    ],
)
def test_a_strong_match_or_a_heading_or_exact_bonus_brings_the_neighbours(
    score: float, signals: dict[str, float], strong: bool
) -> None:
    assert is_strong(Hit(Chunk("d:0", "d", "A", "gato", 0, 4), score, signals)) == strong


def test_the_neighbours_of_a_strong_hit_come_before_the_next_hits_take_the_budget(pipeline: Pipeline) -> None:
    found = stitched(pipeline, {1: (0.9, STRONG), 5: (0.8, {})}, budget=4 * SIZE)
    # Nearest first: 2, 0 and 3 fill the budget, so the hit of the other section is left out.
    assert rows(found) == [1, 0, 2, 3]
    assert found.chunks_added_by_stitching == ("d:00", "d:02", "d:03")
    found = stitched(pipeline, {1: (0.9, {}), 5: (0.8, {})}, budget=4 * SIZE)
    assert (rows(found), found.stitching_added_count) == ([1, 5], 0)


def test_added_chunks_are_marked_and_the_trace_tells_count_and_characters(pipeline: Pipeline) -> None:
    found = stitched(pipeline, {4: (0.9, STRONG), 5: (0.8, {})}, budget=10 * SIZE)
    assert rows(found) == [4, 5, 0, 1, 2, 3]
    assert found.stitching_added_count == 4
    assert found.chunks_added_by_stitching == ("d:00", "d:01", "d:02", "d:03")
    assert [hit.signals.get("stitched") for hit in found.chunks_final] == [None, None, 1.0, 1.0, 1.0, 1.0]
    assert (found.context_chars_used, found.context_chars_budget) == (6 * SIZE, 10 * SIZE)


def test_a_selected_hit_beside_a_strong_one_stays_a_hit(pipeline: Pipeline) -> None:
    found = stitched(pipeline, {0: (0.9, STRONG), 5: (0.8, {}), 1: (0.7, {})}, budget=10 * SIZE)
    assert rows(found) == [0, 5, 1, 2, 3, 4]
    assert found.chunks_added_by_stitching == ("d:02", "d:03", "d:04")


def test_the_switch_of_the_stitching_only_fills_the_budget(settings: Settings) -> None:
    plain = pipeline_over(kb_chunks(PIECES), settings, retrieval_stitching=False)
    found = stitched(plain, {1: (0.9, STRONG), 5: (0.8, {})}, budget=10 * SIZE)
    assert (rows(found), found.stitching_added_count) == ([1, 5], 0)


@given(
    order=st.permutations(range(6)),
    count=st.integers(0, 6),
    strong=st.lists(st.booleans(), min_size=6, max_size=6),
    budget=st.integers(50, 900),
)
def test_a_context_never_exceeds_its_budget_and_what_is_added_is_contiguous(
    shared: Pipeline, order: list[int], count: int, strong: list[bool], budget: int
) -> None:
    final = {row: (1.0 - 0.1 * at, STRONG if strong[row] else {}) for at, row in enumerate(order[:count])}
    found = stitched(shared, final, budget)
    own = sum(hit.chunk.end - hit.chunk.start for hit in found.chunks_final)
    assert found.context_chars_used == own <= found.context_chars_budget == budget
    assert bool(found.chunks_final) == bool(final)
    assert len(set(rows(found))) == len(found.chunks_final)
    kept = rows(found)[: len(found.chunks_final) - found.stitching_added_count]
    assert kept == [row for row in final if row in kept]
    in_section = sorted(row for row in rows(found) if row < 5)
    if found.stitching_added_count:  # no hole between an added chunk and a strong hit
        added = {int(chunk_id.partition(":")[2]) for chunk_id in found.chunks_added_by_stitching}
        anchors = {row for row in kept if strong[row]}
        assert all(any(set(range(min(a, b), max(a, b) + 1)) <= set(in_section) for a in anchors) for b in added)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return pipeline_over(kb_chunks(PIECES), load_settings(data_dir=tmp_path_factory.mktemp("data")))


def test_a_first_chunk_longer_than_the_budget_ends_behind_a_sentence() -> None:
    text = f"{'a' * 130}. {'b' * 60}. {'c' * 60}."
    whole = Chunk("d:0", "d", "A", text, 7, 7 + len(text))
    short = cut(whole, 200)
    assert (short.text, short.end) == (f"{'a' * 130}. {'b' * 60}.", 7 + 193)
    assert cut(whole, len(text)) is whole
    assert (
        cut(replace(whole, text="palabra " * 40, end=327), 150).text == ("palabra " * 19)[:-1][:150].rpartition(" ")[0]
    )
    assert len(cut(replace(whole, text="x" * 300, end=307), 150).text) == 150


def test_a_long_section_fills_the_context_of_a_question_that_names_it(settings: Settings) -> None:
    """Five chunks of one section; a question with words of the last one gets the ones before as well."""
    paragraphs = [f"{word.capitalize()} {'texto y más texto ' * 40}.".replace(" .", ".") for word in WORDS]
    source = "# Manual\n\n## Reserva de salas\n\n" + "\n\n".join(paragraphs) + "\n\n## Otro\n\nNada que ver con pan.\n"
    chunks = chunk_document(Document("d", "manual", source))
    [trace] = pipeline_over(chunks, settings).retrieve(["¿Qué dice la reserva de salas sobre el pan?"])
    assert trace.stitching_added_count > 0
    assert trace.context_chars_used <= trace.context_chars_budget == 3_200
    section = sorted(hit.chunk.start for hit in trace.chunks_final if hit.chunk.section == "Reserva de salas")
    starts = sorted(chunk.start for chunk in chunks if chunk.section == "Reserva de salas")
    at = starts.index(section[0])
    assert section == starts[at : at + len(section)]
    assert all(one < other for one, other in pairwise(section))
